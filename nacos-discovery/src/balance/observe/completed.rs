use std::error::Error;

use http::StatusCode;

use crate::{BalanceError, Outcome};

/// How a call ended, in the terms of Spring Cloud's `CompletionContext.Status`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Completed<'a> {
    /// The instance answered, whatever it said.
    #[non_exhaustive]
    Success {
        /// The status of the answer.
        status: StatusCode,
        /// What it means for the instance.
        outcome: Outcome,
    },
    /// There was no whole answer.
    #[non_exhaustive]
    Failed {
        /// What it means for the instance.
        outcome: Outcome,
        /// The status, if the answer broke off after its head.
        status: Option<StatusCode>,
        /// The error of the client below; `None` if the answer broke off in its body.
        error: Option<&'a (dyn Error + 'static)>,
    },
    /// No instance was chosen.
    #[non_exhaustive]
    Discard {
        /// Why.
        error: &'a BalanceError,
    },
    /// The caller gave up: it dropped the future, or the body before its end.
    #[non_exhaustive]
    Cancelled {
        /// The status, if the head of the answer was there.
        status: Option<StatusCode>,
    },
}
