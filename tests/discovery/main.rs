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
mod discovering;
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
mod serving;
mod support;
mod world;
