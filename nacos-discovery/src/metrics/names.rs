use ::metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(super) const ACTIVE: &str = "loadbalancer.requests.active";
pub(super) const SUCCESS: &str = "loadbalancer.requests.success";
pub(super) const FAILED: &str = "loadbalancer.requests.failed";
pub(super) const DISCARD: &str = "loadbalancer.requests.discard";
pub(super) const CANCELLED: &str = "loadbalancer.requests.cancelled";

/// Tells the recorder that is installed what the numbers mean, once it is installed.
pub fn describe() {
    describe_gauge!(ACTIVE, Unit::Count, "calls that have been sent to an instance and have not ended");
    describe_histogram!(SUCCESS, Unit::Seconds, "calls that were answered, with whatever status");
    describe_histogram!(FAILED, Unit::Seconds, "calls without a whole answer");
    describe_counter!(DISCARD, Unit::Count, "calls for which no instance could be chosen");
    describe_counter!(CANCELLED, Unit::Count, "calls that the caller gave up");
}
