//! Spring-Cloud-style service discovery on top of [`nacos_client`].
//!
//! Begin with [`Discovery`]: it takes the `spring.cloud.nacos.discovery.*` settings ([`DiscoveryConfig`]), registers the
//! application once it listens ([`Registrar`]), takes it out of the registry before it stops ([`Registered`]), and tells who
//! provides a service ([`DiscoveryClient`]).
//!
//! Requests find instances by themselves through [`BalanceLayer`], a tower layer over any HTTP client, with
//! [`RetryNextLayer`] above it; [`Directory`] has the instances and [`ServiceSettings`] say how requests are spread.
//!
//! ```text
//! request for lb://order-service/v1
//!   │
//! RetryNextLayer                        repeats on another instance what may be repeated
//!   │
//! BalanceLayer ──── pick ─────▶ Directory: the Endpoints of each service ◀── lists ── registry
//!   │          ◀─ instance ───
//!   │          ─── outcome ──▶ what is known of an instance: calls in flight, latency, ejection
//!   │
//! HTTP client                           hyper-util, reqwest, any tower service of `http` requests
//!   │
//! instance
//! ```
//!
//! | what for | where to begin |
//! |---|---|
//! | settings | [`DiscoveryConfig`], of the application and its registration; [`BalanceSettings`], of requests |
//! | being found | [`Discovery::registrar`], `Discovery::serve` for axum |
//! | finding others | [`Discovery::client`] for lists; [`Discovery::directory`] for who takes requests |
//! | calling others | `Discovery::reqwest`, `Discovery::http`, `Discovery::tonic`; [`BalanceLayer`] and [`RetryNextLayer`] over any other client |
//! | choosing in another way | [`ServiceSettings`], [`Policy`], [`Filter`] |
//! | passing labels on | [`propagate`]: headers of a request go on with the calls made for it |
//! | knowing what happens | [`Hooks`], `metrics`, [`Directory::on_ejection`], [`Discovery::status`] |
//! | knowing why | [`Discovery::explain`], [`NoInstance`] |
//!
//! # From Spring Cloud
//!
//! | there | here |
//! |---|---|
//! | `@LoadBalanced` | [`BalanceLayer`]; only `lb://` names a service, unless [`BalanceLayer::hosts`] lists a host |
//! | `spring.cloud.loadbalancer.*`, also below `clients.<id>` | [`DiscoveryConfig::balance_settings`] says what is read; [`BalanceSettings::with_service`] is the same in code |
//! | `spring.cloud.loadbalancer.retry.*` | [`RetrySettings`], on by default for methods that only read |
//! | `spring.cloud.loadbalancer.zone` | [`ServiceSettings::with_zone`] |
//! | own cluster of `NacosLoadBalancer` | on by default, by `cluster-name`; [`ServiceSettings::with_own_cluster`] |
//! | `ReactorServiceInstanceLoadBalancer` | [`Policy`] |
//! | `ServiceInstanceListSupplier` | [`Filter`]; [`Source`] where lists come from elsewhere |
//! | `LoadBalancerLifecycle` | [`Hooks`] |
//! | `/actuator/nacosdiscovery` | [`Discovery::status`], `serve::operations` |
//!
//! # Features
//!
//! None is on by default.
//!
//! * `axum`: `serve`, which serves an axum application from binding to leaving, and handlers for its operators.
//! * `hyper`: `Discovery::http`, an HTTP client on hyper-util that may be asked for `lb://order-service/v1`.
//! * `metrics`: numbers of calls and instances, for any recorder of the `metrics` crate.
//! * `reqwest`: `Discovery::reqwest`, a reqwest client that may be asked for `lb://order-service/v1`, and reqwest as a tower service.
//! * `reqwest-middleware`: `Discovery::reqwest_middleware`, the same as one of the middlewares of a client that has others, too. It
//!   includes `reqwest`.
//! * `tonic`: `Discovery::tonic`, which stubs of tonic go over, and `Discovery::balance_channel`, a channel of tonic that is told who is
//!   there. It includes `hyper`.

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
pub mod propagate;
mod register;
mod resolve;
mod retry;
pub mod route;
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
    EjectionReport, ExplainedInstance, ExplainedRoute, ExplainedShare, Explanation, ListState, NearMiss, NearMisses,
    Standing, Viewpoint,
};
pub use facade::Discovery;
pub use node::{Endpoint, Outcome, Target, TransportFailure};
pub use pick::{
    ConsistentHash, Filter, LeastRequest, Member, NoAddress, NoInstance, NoInstanceReason, OnEmpty, PeakEwma,
    PickContext, Picked, Policy, Random, RoundRobin, RouteTaken, SmoothRoundRobin, Table, Tried, Verdict,
    WeightedRandom, hash_key,
};
pub use register::{
    InFlight, Off, Readiness, ReadinessState, RegisterError, Registered, Registrar, Registration, RegistrationState,
    RegistrationWatch, ShutdownLimits, ShutdownPlan, ShutdownReport, Status, Step, StepOutcome, StepReport, Traffic,
};
pub use resolve::{Applied, Change, Directory, Endpoints, ListStatus, Lists, RoutesFollower, ServiceList, Source};
pub use retry::{Attempt, Idempotent, ReplayBody, RetryNext, RetryNextFuture, RetryNextLayer, RetrySettings};
pub use settings::{
    AddressFamily, BalanceSettings, Completion, Downgrade, EjectSettings, FailureRate, ForwardedHeaders, HashOn,
    HostHeader, Ports, ServiceSettings, SlowStart, Subset,
};
pub use status::{
    ConnectionReport, Health, InstanceReport, LoginReport, RegistrationReport, RoutedServiceReport, RoutesReport,
    StatusReport, SubscriptionReport, TrafficReport,
};
