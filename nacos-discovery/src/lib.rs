//! Spring-Cloud-style service discovery on top of [`nacos_client`].
//!
//! Begin with [`Discovery`]: it takes the `spring.cloud.nacos.discovery.*` settings ([`DiscoveryConfig`]), registers the
//! application once it listens ([`Registrar`]), takes it out of the registry before it stops ([`Registered`]), and tells who
//! provides a service ([`DiscoveryClient`]).
//!
//! Requests find instances by themselves through [`BalanceLayer`], a tower layer over any HTTP client, with
//! [`RetryNextLayer`] above it; [`Directory`] has the instances and [`ServiceSettings`] say how requests are spread.
//!
//! # Features
//!
//! None is on by default.
//!
//! * `axum`: `serve`, which serves an axum application from binding to leaving, and handlers for its operators.
//! * `hyper`: `Discovery::http`, an HTTP client on hyper-util that may be asked for `lb://order-service/v1`.
//! * `metrics`: numbers of calls and instances, for any recorder of the `metrics` crate.
//! * `reqwest`: `Discovery::reqwest`, a reqwest client that may be asked for `lb://order-service/v1`, and reqwest as a tower service.

// Public API.
#[cfg(any(feature = "hyper", feature = "reqwest"))]
pub mod adapters;
mod balance;
mod config;
mod discovery;
mod eject;
mod explain;
mod facade;
#[cfg(feature = "metrics")]
pub mod metrics;
mod pick;
mod register;
mod resolve;
mod retry;
#[cfg(feature = "axum")]
pub mod serve;
mod settings;
mod status;

// Needed by the implementation.
mod address;
mod causes;
mod node;
mod own_instance;

pub use address::AddressChoiceError;
pub use balance::{
    BadTarget, Balance, BalanceError, BalanceFuture, BalanceLayer, CallInfo, Classify, Completed, HashKey, Hooks,
    Reply, ServedBy, ServiceRef, Tracked,
};
pub use config::{
    AddressRules, ClientSettings, DiscoveryConfig, DiscoveryConfigBuilder, DiscoveryConfigError, HeartBeat, IpType,
    Listen, Management, Pattern, Place, ShutdownMode, ShutdownSettings,
};
pub use discovery::{
    Answer, CompositeDiscovery, DiscoveryClient, DiscoveryError, InMemoryDiscovery, InstanceChanges, InstanceList,
    InstancesChange, MetadataView, NacosDiscovery, ServiceChanges, ServiceInstance, ServicesChange,
};
pub use eject::{EjectionCause, EjectionEvent, EjectionKind, EjectionListener, EjectionState, Ejections};
pub use explain::{
    EjectionReport, ExplainedInstance, Explanation, ListState, NearMiss, NearMisses, Standing, Viewpoint,
};
pub use facade::Discovery;
pub use node::{Endpoint, Outcome, Target, TransportFailure};
pub use pick::{
    ConsistentHash, Filter, LeastRequest, Member, NoAddress, NoInstance, NoInstanceReason, OnEmpty, PeakEwma,
    PickContext, Picked, Policy, Random, RoundRobin, SmoothRoundRobin, Table, Tried, Verdict, WeightedRandom, hash_key,
};
pub use register::{
    InFlight, Off, Readiness, ReadinessState, RegisterError, Registered, Registrar, Registration, RegistrationState,
    RegistrationWatch, ShutdownLimits, ShutdownPlan, ShutdownReport, Status, Step, StepOutcome, StepReport, Traffic,
};
pub use resolve::{Applied, Change, Directory, Endpoints, ListStatus, Lists, ServiceList, Source};
pub use retry::{Attempt, Idempotent, ReplayBody, RetryNext, RetryNextFuture, RetryNextLayer, RetrySettings};
pub use settings::{
    AddressFamily, BalanceSettings, Completion, Downgrade, EjectSettings, FailureRate, ForwardedHeaders, HashOn,
    HostHeader, Ports, ServiceSettings, SlowStart, Subset,
};
pub use status::{
    ConnectionReport, Health, InstanceReport, RegistrationReport, StatusReport, SubscriptionReport, TrafficReport,
};
