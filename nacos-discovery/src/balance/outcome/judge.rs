use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};

use super::error::{failure, is_of_caller};
use super::grpc;
use super::retry_after::retry_after;
use super::{Classify, Reply};
use crate::causes::causes;
use crate::{Outcome, TransportFailure};

/// Judges answers and errors: first those who know more, then by what is common.
#[derive(Debug, Clone, Default)]
pub(in crate::balance) struct Judge {
    /// `None` instead of no experts, so that a call without them clones nothing that is counted.
    experts: Option<Arc<[Arc<dyn Classify>]>>,
}

/// What is known of an answer's outcome when its head is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::balance) enum Expected {
    /// This, unless the body breaks off.
    Known(Reply),
    /// The trailers tell: gRPC.
    InTrailers,
}

impl Judge {
    pub(in crate::balance) fn add(&mut self, expert: Arc<dyn Classify>) {
        self.experts = Some(self.experts().cloned().chain([expert]).collect());
    }

    fn experts(&self) -> impl Iterator<Item = &Arc<dyn Classify>> {
        self.experts.iter().flat_map(|experts| experts.iter())
    }

    /// What an error of the client below means.
    pub(in crate::balance) fn error(&self, error: &(dyn Error + 'static)) -> TransportFailure {
        let ask = |error: &(dyn Error + 'static)| {
            self.experts().find_map(|expert| expert.error(error)).or_else(|| failure(error))
        };
        causes(error).find_map(ask).unwrap_or(TransportFailure::Broken)
    }

    /// Whether the caller made the error, not the instance: the body of the request broke off, or the request cannot be sent.
    pub(in crate::balance) fn is_of_caller(&self, error: &(dyn Error + 'static)) -> bool {
        for error in causes(error) {
            if self.experts().any(|expert| expert.error(error).is_some()) {
                return false;
            }
            if is_of_caller(error) {
                return true;
            }
        }
        false
    }

    /// What the head of an answer means.
    #[inline]
    pub(in crate::balance) fn head(&self, status: StatusCode, headers: &HeaderMap) -> Expected {
        let known = self.experts().find_map(|expert| expert.reply(status, headers));
        if let Some(reply) = known {
            return Expected::Known(reply);
        }
        if status == StatusCode::OK && grpc::is_grpc(headers) {
            return grpc::reply(headers).map_or(Expected::InTrailers, Expected::Known);
        }
        Expected::Known(of_status(status, headers))
    }
}

fn of_status(status: StatusCode, headers: &HeaderMap) -> Reply {
    let pause = || retry_after(headers, SystemTime::now());
    match status {
        StatusCode::TOO_MANY_REQUESTS => Reply::Overloaded { retry_after: pause() },
        StatusCode::SERVICE_UNAVAILABLE => {
            pause().map_or(Reply::Failed, |pause| Reply::Overloaded { retry_after: Some(pause) })
        }
        _ if status.is_server_error() => Reply::Failed,
        _ => Reply::Fine,
    }
}

impl Expected {
    /// Whether the head alone says something bad of the instance.
    pub(in crate::balance) const fn is_bad(&self) -> bool {
        matches!(self, Self::Known(Reply::Failed | Reply::Overloaded { .. }))
    }

    /// With the trailers of the answer.
    pub(in crate::balance) fn with_trailers(self, trailers: &HeaderMap) -> Self {
        match self {
            Self::InTrailers => grpc::reply(trailers).map_or(self, Self::Known),
            Self::Known(_) => self,
        }
    }

    /// When the body has ended well. Trailers that never came are an answer that broke off.
    pub(in crate::balance) const fn outcome(self, latency: Duration) -> Outcome {
        match self {
            Self::Known(reply) => reply.outcome(latency),
            Self::InTrailers => Outcome::Transport(TransportFailure::Broken),
        }
    }

    /// When the head alone counts. What trailers would tell is not waited for.
    pub(in crate::balance) const fn outcome_of_head(self, latency: Duration) -> Outcome {
        match self {
            Self::Known(reply) => reply.outcome(latency),
            Self::InTrailers => Reply::Fine.outcome(latency),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt, io};

    use http::HeaderValue;
    use http::header::{CONTENT_TYPE, RETRY_AFTER};

    use super::*;

    /// An error with a cause, as clients nest them.
    #[derive(Debug)]
    struct Nested(Box<dyn Error + Send + Sync>);

    impl fmt::Display for Nested {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("it failed")
        }
    }

    impl Error for Nested {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    #[derive(Debug)]
    struct Expert;

    impl Classify for Expert {
        fn error(&self, error: &(dyn Error + 'static)) -> Option<TransportFailure> {
            error.is::<Nested>().then_some(TransportFailure::Connect)
        }

        fn reply(&self, status: StatusCode, _: &HeaderMap) -> Option<Reply> {
            (status == StatusCode::NOT_FOUND).then_some(Reply::Failed)
        }
    }

    fn of_kind(kind: io::ErrorKind) -> Nested {
        Nested(Box::new(Nested(Box::new(io::Error::from(kind)))))
    }

    #[test]
    fn an_error_is_judged_by_what_lies_at_its_bottom() {
        let judge = Judge::default();
        for (kind, failure) in [
            (io::ErrorKind::ConnectionRefused, TransportFailure::Connect),
            (io::ErrorKind::AddrNotAvailable, TransportFailure::Connect),
            (io::ErrorKind::TimedOut, TransportFailure::Timeout),
            (io::ErrorKind::ConnectionReset, TransportFailure::Broken),
            (io::ErrorKind::UnexpectedEof, TransportFailure::Broken),
            // Bytes may have been sent before the host went out of reach.
            (io::ErrorKind::HostUnreachable, TransportFailure::Broken),
        ] {
            assert_eq!(judge.error(&of_kind(kind)), failure, "{kind:?}");
            assert_eq!(judge.error(&io::Error::other(of_kind(kind))), failure, "{kind:?} inside of another one");
        }
        assert_eq!(judge.error(&fmt::Error), TransportFailure::Broken, "nobody knows it");
    }

    #[tokio::test(start_paused = true)]
    async fn the_elapsed_time_of_tokio_is_a_timeout() {
        let elapsed = tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(Judge::default().error(&Nested(Box::new(elapsed))), TransportFailure::Timeout);
    }

    #[test]
    fn who_knows_more_is_asked_first_from_the_outside_in() {
        let mut judge = Judge::default();
        judge.add(Arc::new(Expert));
        assert_eq!(judge.error(&of_kind(io::ErrorKind::TimedOut)), TransportFailure::Connect);
        assert_eq!(judge.error(&io::Error::from(io::ErrorKind::TimedOut)), TransportFailure::Timeout);
        assert_eq!(judge.head(StatusCode::NOT_FOUND, &HeaderMap::new()), Expected::Known(Reply::Failed));
        assert_eq!(judge.head(StatusCode::BAD_GATEWAY, &HeaderMap::new()), Expected::Known(Reply::Failed));
    }

    #[test]
    fn a_status_says_how_the_instance_is_doing() {
        let judge = Judge::default();
        let paused = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("7"))]);
        let pause = Some(Duration::from_secs(7));
        for (status, headers, reply) in [
            (200, &HeaderMap::new(), Reply::Fine),
            (404, &paused, Reply::Fine),
            (429, &HeaderMap::new(), Reply::Overloaded { retry_after: None }),
            (429, &paused, Reply::Overloaded { retry_after: pause }),
            (500, &paused, Reply::Failed),
            (503, &HeaderMap::new(), Reply::Failed),
            (503, &paused, Reply::Overloaded { retry_after: pause }),
            (504, &HeaderMap::new(), Reply::Failed),
            (599, &HeaderMap::new(), Reply::Failed),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(judge.head(status, headers), Expected::Known(reply), "{status}");
        }
    }

    #[test]
    fn grpc_tells_in_its_headers_or_at_the_end() {
        let judge = Judge::default();
        let grpc = |status: Option<&'static str>| {
            let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/grpc"))]);
            headers.extend(
                status.map(|status| (http::HeaderName::from_static("grpc-status"), HeaderValue::from_static(status))),
            );
            headers
        };
        assert_eq!(judge.head(StatusCode::OK, &grpc(Some("14"))), Expected::Known(Reply::Failed));
        assert_eq!(judge.head(StatusCode::BAD_GATEWAY, &grpc(None)), Expected::Known(Reply::Failed));
        let later = judge.head(StatusCode::OK, &grpc(None));
        assert_eq!(later, Expected::InTrailers);
        let latency = Duration::from_millis(3);
        assert_eq!(later.with_trailers(&grpc(Some("0"))).outcome(latency), Outcome::Success { latency });
        assert_eq!(later.with_trailers(&grpc(Some("13"))).outcome(latency), Outcome::ServerFailure { latency });
        assert_eq!(later.with_trailers(&grpc(None)).outcome(latency), Outcome::Transport(TransportFailure::Broken));
        assert_eq!(later.outcome_of_head(latency), Outcome::Success { latency });
    }
}
