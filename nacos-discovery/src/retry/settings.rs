use std::time::Duration;

use http::header::HeaderName;
use http::{Method, StatusCode};

use super::backoff::Backoff;
use super::budget::Allowance;

const ATTEMPTS: u32 = 2;
const DEADLINE: Duration = Duration::from_secs(10);
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(25), cap: Duration::from_millis(250) };
const ALLOWANCE: Allowance = Allowance { percent: 20, per_second: 10 };
const BODY_LIMIT: usize = 64 * 1024;

/// When a failed call is repeated, and how often. By default a call has two attempts, the second one on another instance,
/// if its method is GET, HEAD, OPTIONS or TRACE, or if no connection came about; and repetitions are limited to 20 % of a
/// service's requests and 10 per second.
///
/// It mirrors `spring.cloud.loadbalancer.retry.*`, with other defaults where those repeat what may not be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySettings {
    attempts: u32,
    same_node_retries: u32,
    methods: Methods,
    idempotency_header: Option<HeaderName>,
    statuses: Vec<StatusCode>,
    grpc_unavailable: bool,
    deadline: Duration,
    backoff: Backoff,
    allowance: Allowance,
    body_limit: usize,
}

/// Which methods are repeated after bytes of the request may have reached an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Methods {
    /// Those that only read: GET, HEAD, OPTIONS, TRACE.
    Safe,
    /// Also PUT and DELETE.
    Idempotent,
    All,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: ATTEMPTS,
            same_node_retries: 0,
            methods: Methods::Safe,
            idempotency_header: None,
            statuses: Vec::new(),
            grpc_unavailable: false,
            deadline: DEADLINE,
            backoff: BACKOFF,
            allowance: ALLOWANCE,
            body_limit: BODY_LIMIT,
        }
    }
}

impl RetrySettings {
    /// Every call is sent once.
    #[must_use]
    pub fn off() -> Self {
        Self::default().with_attempts(1)
    }

    /// How often a call is sent at most, the first time included, default 2. 0 counts as 1.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// How often a call may begin anew with instances that it was sent to already, once it was sent to all, default 0. It
    /// does not raise the number of attempts.
    #[must_use]
    pub const fn with_same_node_retries(mut self, retries: u32) -> Self {
        self.same_node_retries = retries;
        self
    }

    /// Repeats PUT and DELETE too, which a well-behaved server does not mind.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.methods = Methods::Idempotent;
        self
    }

    /// Repeats every method, POST included: for services that recognise what they did already.
    #[must_use]
    pub const fn all_methods(mut self) -> Self {
        self.methods = Methods::All;
        self
    }

    /// Repeats requests that have this header, `Idempotency-Key` for example, whatever their method is. None by default:
    /// only the service knows whether it keeps what the header promises.
    #[must_use]
    pub fn with_idempotency_header(mut self, header: HeaderName) -> Self {
        self.idempotency_header = Some(header);
        self
    }

    /// Repeats requests that were answered with this status too. 502, 503 and 504 need not be named, and 429 is repeated
    /// if the answer has a `Retry-After` that ends before the deadline.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.statuses.push(status);
        self
    }

    /// Repeats gRPC calls that were answered `UNAVAILABLE` before any message. Servers also say so of calls that they
    /// began, so it is for services whose calls may all be repeated.
    #[must_use]
    pub const fn with_grpc_unavailable(mut self) -> Self {
        self.grpc_unavailable = true;
        self
    }

    /// How long after the beginning of the first attempt the last one may begin, default 10 s. It also limits how long a
    /// repetition waits until the client below is ready. It cuts no attempt off: that is what a timeout below or above is
    /// for.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The pause before a repetition: a random time below a ceiling that begins at `first` and doubles up to `cap`, default
    /// 25 ms and 250 ms; a `first` above `cap` stands for `cap`. After an attempt that did not come to a connection there is none.
    #[must_use]
    pub const fn with_backoff(mut self, first: Duration, cap: Duration) -> Self {
        self.backoff = Backoff { first, cap };
        self
    }

    /// How many repetitions a service is given by all callers of this process together, within any 10 s: `percent` of its
    /// requests, and `per_second` times 10 whatever it is sent. Default 20 % and 10.
    #[must_use]
    pub const fn with_budget(mut self, percent: u32, per_second: u32) -> Self {
        self.allowance = Allowance { percent, per_second };
        self
    }

    /// How much of a request's body is kept for a repetition while it is sent, in bytes, default 64 KiB. A request whose
    /// body is larger is sent once, unless the body is one piece that is in memory anyway.
    #[must_use]
    pub const fn with_body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    pub(super) const fn attempts(&self) -> u32 {
        self.attempts
    }

    pub(super) const fn same_node_retries(&self) -> u32 {
        self.same_node_retries
    }

    pub(super) fn repeats_method(&self, method: &Method) -> bool {
        match self.methods {
            Methods::Safe => method.is_safe(),
            Methods::Idempotent => method.is_idempotent(),
            Methods::All => true,
        }
    }

    pub(super) const fn idempotency_header(&self) -> Option<&HeaderName> {
        self.idempotency_header.as_ref()
    }

    pub(super) fn repeats_status(&self, status: StatusCode) -> bool {
        matches!(status, StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT)
            || self.statuses.contains(&status)
    }

    pub(super) const fn repeats_grpc_unavailable(&self) -> bool {
        self.grpc_unavailable
    }

    pub(super) const fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(super) const fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    pub(super) const fn allowance(&self) -> Allowance {
        self.allowance
    }

    pub(super) const fn body_limit(&self) -> usize {
        self.body_limit
    }
}
