use ::metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(super) const ACTIVE: &str = "loadbalancer.requests.active";
pub(super) const SUCCESS: &str = "loadbalancer.requests.success";
pub(super) const FAILED: &str = "loadbalancer.requests.failed";
pub(super) const DISCARD: &str = "loadbalancer.requests.discard";
pub(super) const CANCELLED: &str = "loadbalancer.requests.cancelled";
pub(super) const ROUTED: &str = "loadbalancer.requests.routed";
pub(super) const IN_FLIGHT: &str = "loadbalancer.instance.in_flight";
pub(super) const WEIGHT: &str = "loadbalancer.instance.weight";
pub(super) const EJECTED: &str = "loadbalancer.instance.ejected";
pub(super) const LATENCY: &str = "loadbalancer.instance.latency";

/// Tells the recorder that is installed what the numbers mean, once it is installed.
pub fn describe() {
    describe_gauge!(ACTIVE, Unit::Count, "calls that have been sent to an instance and have not ended");
    describe_histogram!(SUCCESS, Unit::Seconds, "calls that were answered, with whatever status");
    describe_histogram!(FAILED, Unit::Seconds, "calls without a whole answer");
    describe_counter!(DISCARD, Unit::Count, "calls for which no instance could be chosen");
    describe_counter!(CANCELLED, Unit::Count, "calls that the caller gave up");
    describe_counter!(ROUTED, Unit::Count, "calls that were routed by a rule, and whether its destination took them");
    describe_gauge!(IN_FLIGHT, Unit::Count, "calls of this process to an instance that have not ended");
    describe_gauge!(WEIGHT, "the weight that an instance is registered with");
    describe_gauge!(EJECTED, "1 if an instance gets no requests because of failures, else 0");
    describe_gauge!(LATENCY, Unit::Seconds, "how long an instance is estimated to take");
}
