use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use nacos_client::StartError;
use tokio::time::{Instant, sleep_until};

use super::{Answer, DiscoveryError, ServiceChanges, ServicesChange};

/// Asks for the names of a group's services.
pub(super) trait AskServices: Send + Sync + 'static {
    /// All of them, in any order.
    fn ask(&self) -> Answer<'_, Vec<String>>;
}

struct Poll<A> {
    services: A,
    every: Duration,
    next: Instant,
    known: Option<Arc<[String]>>,
    failing: bool,
}

/// Asks every so often, while the stream is read, because no registry pushes names. An outage is told once.
pub(super) fn poll_services(services: impl AskServices, every: Duration) -> ServiceChanges {
    let poll = Poll { services, every, next: Instant::now(), known: None, failing: false };
    Box::pin(stream::unfold(Some(poll), |poll| async move {
        let mut poll = poll?;
        loop {
            sleep_until(poll.next).await;
            let answer = poll.services.ask().await;
            poll.next = Instant::now() + poll.every;
            match answer {
                Ok(names) => {
                    poll.failing = false;
                    if let Some(change) = ServicesChange::between(poll.known.as_deref(), names) {
                        poll.known = Some(Arc::clone(&change.names));
                        return Some((Ok(change), Some(poll)));
                    }
                }
                Err(DiscoveryError::Start(StartError::Closed)) => return None,
                Err(error) if !poll.failing => {
                    poll.failing = true;
                    return Some((Err(error), Some(poll)));
                }
                Err(_) => {}
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use std::sync::Mutex;

    /// Answers once each, then is closed.
    struct Script(Mutex<Vec<Result<Vec<&'static str>, DiscoveryError>>>);

    impl AskServices for Script {
        fn ask(&self) -> Answer<'_, Vec<String>> {
            let mut answers = self.0.lock().unwrap();
            let next = if answers.is_empty() { Err(StartError::Closed.into()) } else { answers.remove(0) };
            Box::pin(async move { next.map(|names| names.into_iter().map(str::to_owned).collect()) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_told_once_and_takes_nothing_away() {
        let down = || Err(DiscoveryError::unavailable("down"));
        let script = vec![Ok(vec!["a"]), down(), down(), Ok(vec!["a"]), down(), Ok(vec!["a", "b"])];
        let every = Duration::from_secs(30);
        let begin = Instant::now();
        let told: Vec<_> = poll_services(Script(Mutex::new(script)), every)
            .map(|item| (begin.elapsed().as_secs(), item.map(|change| change.added.join(",")).ok()))
            .collect()
            .await;
        let expected = [(0, Some("a")), (30, None), (120, None), (150, Some("b"))];
        assert_eq!(told, expected.map(|(at, names)| (at, names.map(str::to_owned))));
    }
}
