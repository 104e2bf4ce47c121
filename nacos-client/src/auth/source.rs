//! Where credentials come from.

use std::{error::Error, fmt, pin::Pin, sync::Arc, time::Duration};

use tokio::task::JoinSet;

use super::{Credentials, LoginError};

/// What a callback may take. Longer is as good as no answer.
const LIMIT: Duration = Duration::from_secs(10);

type Asked = Pin<Box<dyn Future<Output = Result<Credentials, Box<dyn Error + Send + Sync>>> + Send>>;

/// Where credentials come from.
#[derive(Clone)]
pub(crate) enum CredentialsSource {
    /// Always the same.
    Fixed(Credentials),
    /// Asked for before each login.
    Callback(Arc<dyn Fn() -> Asked + Send + Sync>),
}

impl CredentialsSource {
    pub(crate) fn callback<F, R>(ask: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Credentials, Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        Self::Callback(Arc::new(move || Box::pin(ask())))
    }

    /// Whether other credentials may come without anybody changing the settings.
    pub(super) const fn rotates(&self) -> bool {
        matches!(self, Self::Callback(_))
    }

    /// The credentials now. A callback runs in a task of its own, which ends with this future at the latest.
    pub(super) async fn credentials(&self) -> Result<Credentials, LoginError> {
        let ask = match self {
            Self::Fixed(credentials) => return Ok(credentials.clone()),
            Self::Callback(ask) => Arc::clone(ask),
        };
        let mut task = JoinSet::new();
        // Aborted when the set is dropped.
        task.spawn(async move { ask().await.map_err(|error| crate::error::describe(&*error)) });
        let failed = |reason: String| LoginError::Credentials { reason };
        match tokio::time::timeout(LIMIT, task.join_next()).await {
            Ok(Some(Ok(Ok(credentials)))) if credentials.is_blank() => Err(failed("the user is blank".to_owned())),
            Ok(Some(Ok(Ok(credentials)))) => Ok(credentials),
            Ok(Some(Ok(Err(reason)))) => Err(failed(reason)),
            Ok(_) => Err(failed("the callback panicked".to_owned())),
            Err(_) => Err(failed(format!("the callback did not answer within {LIMIT:?}"))),
        }
    }
}

impl fmt::Debug for CredentialsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(credentials) => credentials.fmt(f),
            Self::Callback(_) => f.write_str("Callback"),
        }
    }
}
