use std::time::Duration;

use nacos_proto::code;

/// A fault in the answers to unary gRPC requests: which ones, how many of them, and what happens instead.
///
/// ```
/// use std::time::Duration;
/// use nacos_server_min::fault::AnswerFault;
///
/// // One registration in twenty is refused with a typed failure.
/// let refuse = AnswerFault::typed(500, "out of order").request("InstanceRequest").share(0.05);
/// // The next three requests about a service take two seconds.
/// let slow = AnswerFault::delay(Duration::from_secs(2)).service("orders").times(3);
/// # let _ = (refuse, slow);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerFault {
    pub(super) effect: Effect,
    pub(super) request: Option<String>,
    pub(super) service: Option<String>,
    pub(super) share: f64,
    pub(super) left: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    Answer(Injected),
    Delay(Duration),
}

/// What is answered instead of the truth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Injected {
    /// The type `ErrorResponse`.
    Error { result_code: i32, error_code: i32, message: String },
    /// The type that belongs to the request.
    Typed { error_code: i32, message: String },
    /// Nothing, for ever.
    Silence,
    /// The handler panics.
    Crash,
}

impl AnswerFault {
    fn new(effect: Effect) -> Self {
        Self { effect, request: None, service: None, share: 1.0, left: None }
    }

    /// Answers `ErrorResponse` with `resultCode` 500, as the server itself does before a handler is asked.
    pub fn error(error_code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(Effect::Answer(Injected::Error { result_code: code::FAIL, error_code, message }))
    }

    /// Answers `ErrorResponse` with the code in `resultCode` too, as for an error that a handler raised.
    pub fn raised(error_code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(Effect::Answer(Injected::Error { result_code: error_code, error_code, message }))
    }

    /// Answers with the response type of the request, `resultCode` 500 and nothing of its content.
    pub fn typed(error_code: i32, message: impl Into<String>) -> Self {
        Self::new(Effect::Answer(Injected::Typed { error_code, message: message.into() }))
    }

    /// Never answers; the request is not handled.
    pub fn silence() -> Self {
        Self::new(Effect::Answer(Injected::Silence))
    }

    /// The server panics while it handles the request: it is no longer ready then, and [`Server::failed`] returns.
    ///
    /// [`Server::failed`]: crate::Server::failed
    pub fn crash() -> Self {
        Self::new(Effect::Answer(Injected::Crash))
    }

    /// Handles the request at once, and answers it so much later.
    pub fn delay(delay: Duration) -> Self {
        Self::new(Effect::Delay(delay))
    }

    /// Only requests of this type, such as `InstanceRequest`. Default: all.
    #[must_use]
    pub fn request(mut self, kind: impl Into<String>) -> Self {
        self.request = Some(kind.into());
        self
    }

    /// Only requests about the service of this bare name. Default: all.
    #[must_use]
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Only this share of the requests, 0 to 1, by chance. Default: 1.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share.clamp(0.0, 1.0);
        self
    }

    /// Only so many requests; then the fault is over. Default: until it is cleared.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.left = Some(times);
        self
    }

    pub(super) fn matches(&self, kind: &str, service: Option<&str>) -> bool {
        self.left != Some(0)
            && self.request.as_deref().is_none_or(|wanted| wanted == kind)
            && self.service.as_deref().is_none_or(|wanted| Some(wanted) == service)
    }
}
