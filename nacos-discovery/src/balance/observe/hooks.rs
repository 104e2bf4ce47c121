use std::fmt;
use std::time::Duration;

use super::{CallInfo, Completed};
use crate::ServiceInstance;

/// Is told of every call of a service, like Spring Cloud's `LoadBalancerLifecycle`. Given to
/// [`crate::BalanceLayer::hooks`]; every method does nothing unless it is written.
///
/// With a retry layer above, every attempt is a call. The methods run on the task of the caller, without a lock; they must
/// not block. A panic in one is logged, and loses neither the call nor the count of calls in flight.
pub trait Hooks: fmt::Debug + Send + Sync + 'static {
    /// Before an instance is chosen.
    fn start(&self, call: &CallInfo) {
        let _ = call;
    }

    /// An instance was chosen, and the request is about to be sent there.
    fn selected(&self, call: &CallInfo, instance: &ServiceInstance) {
        let _ = (call, instance);
    }

    /// The call has ended, `took` after its start: exactly once for each start, also if the caller gave up.
    fn complete(&self, call: &CallInfo, completed: &Completed<'_>, took: Duration) {
        let _ = (call, completed, took);
    }
}
