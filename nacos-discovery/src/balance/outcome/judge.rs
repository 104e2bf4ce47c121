use std::error::Error;
use std::iter;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};

use super::error::failure;
use super::grpc;
use super::retry_after::retry_after;
use super::{Classify, Reply};
use crate::{Outcome, TransportFailure};

/// Judges answers and errors: first those who know more, then by what is common.
#[derive(Debug, Clone, Default)]
pub(in crate::balance) struct Judge {
    experts: Vec<Arc<dyn Classify>>,
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
        self.experts.push(expert);
    }

    /// What an error of the client below means.
    pub(in crate::balance) fn error(&self, error: &(dyn Error + 'static)) -> TransportFailure {
        let ask = |error: &(dyn Error + 'static)| {
            self.experts.iter().find_map(|expert| expert.error(error)).or_else(|| failure(error))
        };
        iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source())
            .find_map(ask)
            .unwrap_or(TransportFailure::Broken)
    }

    /// What the head of an answer means.
    pub(in crate::balance) fn head(&self, status: StatusCode, headers: &HeaderMap) -> Expected {
        let known = self.experts.iter().find_map(|expert| expert.reply(status, headers));
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
