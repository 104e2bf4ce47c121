//! An application that registers, serves, watches others and leaves, against our server, through public paths only.

mod adapting;
mod balancing;
mod balancing_calls;
mod balancing_contract;
mod balancing_faults;
mod balancing_membership;
mod balancing_spans;
mod balancing_support;
mod below;
mod calling;
mod channels;
mod discovering;
#[rustfmt::skip]
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::missing_errors_doc,
    clippy::or_fun_call,
    clippy::use_self,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]
mod echo;
mod echo_server;
mod ejecting;
mod explaining;
mod fault_server;
mod leaving;
mod measuring;
mod middlewares;
mod propagating;
mod registering;
mod reporting;
mod resolving;
mod retrying;
mod retrying_limits;
mod routing;
mod serving;
mod stubs;
mod stubs_failing;
mod support;
mod world;
