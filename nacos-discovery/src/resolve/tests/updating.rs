//! The task that keeps the endpoints of one service up to date, on a clock that the test moves.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::*;
use crate::{BalanceSettings, Directory, DiscoveryError, Filter, Lists, OnEmpty, ServiceInstance, SlowStart, Source};

/// A source that says what the test lets it say.
#[derive(Debug, Clone, Default)]
struct Scripted {
    starts: Arc<Mutex<VecDeque<Start>>>,
}

type Start = Result<mpsc::UnboundedReceiver<Result<ServiceList, DiscoveryError>>, DiscoveryError>;
type Tell = mpsc::UnboundedSender<Result<ServiceList, DiscoveryError>>;

impl Scripted {
    fn refuses(self, error: DiscoveryError) -> Self {
        self.starts.lock().unwrap().push_back(Err(error));
        self
    }

    fn begins(self) -> (Self, Tell) {
        let (tell, lists) = mpsc::unbounded_channel();
        self.starts.lock().unwrap().push_back(Ok(lists));
        (self, tell)
    }
}

impl Source for Scripted {
    fn lists(&self, _: &ServiceKey) -> Result<Lists, DiscoveryError> {
        let lists = self.starts.lock().unwrap().pop_front().expect("the test expects no further start")?;
        let next = |mut lists: mpsc::UnboundedReceiver<_>| async move { Some((lists.recv().await?, lists)) };
        Ok(futures_util::stream::unfold(lists, next).boxed())
    }
}

fn watched(source: Scripted, settings: ServiceSettings) -> (Directory, Arc<Endpoints>) {
    let directory = Directory::new(Arc::new(source), BalanceSettings::new(settings));
    let endpoints = directory.endpoints(&service()).unwrap();
    (directory, endpoints)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The ports that are there.
fn there(endpoints: &Endpoints) -> Vec<u16> {
    ports(&endpoints.all())
}

#[tokio::test(start_paused = true)]
async fn lists_that_come_quickly_become_one_but_a_removal_never_waits() {
    let (source, tell) = Scripted::default().begins();
    let (_directory, endpoints) = watched(source, settings());
    let mut published = endpoints.published();
    let say = |revision, ports: &[u16]| tell.send(Ok(list(revision, ports.iter().copied().map(instance)))).unwrap();
    say(1, &[1]);
    sleep(millis(1)).await;
    assert_eq!(there(&endpoints), [1], "the first one at once");
    for port in 2..=10u16 {
        say(u64::from(port), &(1..=port).collect::<Vec<_>>());
        sleep(millis(1)).await;
    }
    assert_eq!(there(&endpoints), [1], "9 ms have passed");
    sleep(millis(15)).await;
    assert_eq!(there(&endpoints).len(), 10);
    assert_eq!(*published.borrow_and_update(), 2, "nine lists became one");

    say(11, &[1, 2, 3]);
    sleep(millis(1)).await;
    assert_eq!(there(&endpoints), [1, 2, 3], "somebody left");
    say(12, &[1, 2, 3, 4]);
    say(13, &[1, 2, 4]);
    sleep(millis(1)).await;
    assert_eq!(there(&endpoints), [1, 2, 4], "the list that waited is not applied after the newer one");
    tell.send(Ok(list(14, [instance(1), instance(2).healthy(false), instance(4)]))).unwrap();
    sleep(millis(1)).await;
    assert_eq!(there(&endpoints), [1, 4], "it is listed, but takes no requests");
    sleep(millis(100)).await;
    assert_eq!((there(&endpoints), *published.borrow()), (vec![1, 4], 5));
}

#[tokio::test(start_paused = true)]
async fn sc08_before_the_first_list_a_request_waits_as_long_as_the_settings_say_and_learns_why() {
    let (source, tell) = Scripted::default().begins();
    let (_directory, endpoints) = watched(source, settings().with_first_list_wait(Duration::from_secs(3)));
    tell.send(Err(DiscoveryError::unavailable("the registry is on fire"))).unwrap();
    let begin = Instant::now();
    let error = endpoints.ready().await.unwrap_err();
    assert_eq!(begin.elapsed(), Duration::from_secs(3));
    assert_eq!(error.reason, NoInstanceReason::Unknown { waited: Duration::from_secs(3) });
    let source = error.source().unwrap();
    assert!(source.downcast_ref::<DiscoveryError>().is_some(), "{source:?}");
    assert_eq!(source.source().unwrap().to_string(), "the registry is on fire");

    let begin = Instant::now();
    let (waited, ()) = tokio::join!(endpoints.ready(), async {
        sleep(millis(700)).await;
        tell.send(Ok(list(1, []))).unwrap();
    });
    waited.unwrap();
    assert_eq!(begin.elapsed(), millis(700));
    endpoints.ready().await.unwrap();
    assert_eq!(
        (begin.elapsed(), reason(&endpoints)),
        (millis(700), NoInstanceReason::NoneRegistered),
        "it fails at once"
    );
    assert!(refusal(&endpoints).source().is_none() && endpoints.trouble().is_none(), "the trouble is over");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_nobody_keeps_up_to_date_is_used_as_long_as_the_settings_say() {
    let (source, tell) = Scripted::default().begins();
    let (_directory, endpoints) = watched(source, settings().with_max_stale(Some(Duration::from_secs(30))));
    let current = || list(1, [instance(1)]);
    tell.send(Ok(current())).unwrap();
    endpoints.ready().await.unwrap();
    let lost = Instant::now();
    let stale = ServiceList::new(2, current().instances().iter().cloned()).stale_since(lost);
    tell.send(Ok(stale)).unwrap();
    sleep(Duration::from_secs(29)).await;
    assert_eq!(picked_ports(&endpoints), [1]);
    assert_eq!(endpoints.list_status().unwrap().stale_since(), Some(lost));
    sleep(millis(1_001)).await;
    assert_eq!(reason(&endpoints), NoInstanceReason::Stale { age: lost.elapsed() });
    assert!(endpoints.all().is_empty() && endpoints.verdicts()[0].1.is_eligible());
    sleep(Duration::from_secs(1000)).await;
    assert_eq!(reason(&endpoints), NoInstanceReason::Stale { age: lost.elapsed() });
    tell.send(Ok(ServiceList::new(3, current().instances().iter().cloned()))).unwrap();
    sleep(millis(1)).await;
    assert_eq!(picked_ports(&endpoints), [1], "it is kept up to date again");
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_the_last_list_is_used_for_ever() {
    let (source, tell) = Scripted::default().begins();
    let (_directory, endpoints) = watched(source, settings());
    tell.send(Ok(list(1, [instance(1)]).stale_since(Instant::now()))).unwrap();
    endpoints.ready().await.unwrap();
    sleep(Duration::from_secs(1_000_000)).await;
    assert_eq!(picked_ports(&endpoints), [1]);
}

#[tokio::test(start_paused = true)]
async fn when_the_source_has_ended_requests_learn_it() {
    let (source, tell) = Scripted::default().begins();
    let (_directory, endpoints) = watched(source, settings());
    tell.send(Ok(list(1, [instance(1)]))).unwrap();
    endpoints.ready().await.unwrap();
    drop(tell);
    sleep(millis(1)).await;
    assert_eq!(reason(&endpoints), NoInstanceReason::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_cannot_begin_is_tried_again_and_one_that_never_will_is_not() {
    let busy = || DiscoveryError::unavailable("not now");
    let (source, tell) = Scripted::default().refuses(busy()).refuses(busy()).begins();
    let (_directory, endpoints) = watched(source, settings());
    assert!(refusal(&endpoints).source().is_some());
    tell.send(Ok(list(1, [instance(1)]))).unwrap();
    endpoints.ready().await.unwrap();
    assert_eq!(picked_ports(&endpoints), [1]);

    let closed = || DiscoveryError::from(nacos_client::StartError::Closed);
    let directory = Directory::new(Arc::new(Scripted::default().refuses(closed())), BalanceSettings::default());
    assert!(directory.endpoints(&service()).is_err() && directory.services().is_empty());

    let (_directory, endpoints) = watched(Scripted::default().refuses(busy()).refuses(closed()), settings());
    endpoints.ready().await.unwrap();
    assert_eq!(reason(&endpoints), NoInstanceReason::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_panics_leaves_the_list_before_and_the_updates_go_on() {
    #[derive(Debug)]
    struct Afraid;
    impl Filter for Afraid {
        fn name(&self) -> &str {
            "afraid"
        }
        fn keep(&self, instance: &ServiceInstance) -> bool {
            assert_ne!(instance.port(), 13, "this is what the test wants");
            true
        }
        fn on_empty(&self) -> OnEmpty {
            OnEmpty::Skip
        }
    }
    let (source, tell) = Scripted::default().begins();
    let (_directory, endpoints) = watched(source, settings().with_filter(Afraid));
    for (revision, ports, expected) in [(1, vec![1], vec![1]), (2, vec![2, 13], vec![1]), (3, vec![2, 3], vec![2, 3])] {
        tell.send(Ok(list(revision, ports.into_iter().map(instance)))).unwrap();
        sleep(millis(30)).await;
        assert_eq!(there(&endpoints), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_panics_while_weights_are_made_anew_does_not_end_the_updates() {
    /// Panics for as long as it is told to.
    #[derive(Debug, Clone, Default)]
    struct Moody {
        afraid: Arc<AtomicBool>,
    }
    impl Filter for Moody {
        fn name(&self) -> &str {
            "moody"
        }

        fn keep(&self, _: &ServiceInstance) -> bool {
            assert!(!self.afraid.load(Ordering::SeqCst), "in a mood");
            true
        }

        fn on_empty(&self) -> OnEmpty {
            OnEmpty::Skip
        }
    }
    let (source, tell) = Scripted::default().begins();
    let moody = Moody::default();
    let slow = settings().with_slow_start(Some(SlowStart::new())).with_filter(moody.clone());
    let (_directory, endpoints) = watched(source, slow);
    let say = |revision, ports: &[u16]| tell.send(Ok(list(revision, ports.iter().copied().map(instance)))).unwrap();
    say(1, &[1]);
    sleep(millis(30)).await;
    say(2, &[1, 2]);
    sleep(millis(30)).await;
    moody.afraid.store(true, Ordering::SeqCst);
    sleep(millis(10_000)).await;
    moody.afraid.store(false, Ordering::SeqCst);
    say(3, &[1, 2, 3]);
    sleep(millis(30)).await;
    assert_eq!(there(&endpoints), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_ends_the_service_instead_of_leaving_an_old_list_in_force_for_ever() {
    #[derive(Debug)]
    struct Fragile;
    impl Source for Fragile {
        fn lists(&self, _: &ServiceKey) -> Result<Lists, DiscoveryError> {
            let first = futures_util::stream::iter([Ok(list(1, [instance(1)]))]);
            let broken = futures_util::stream::once(async {
                sleep(millis(100)).await;
                panic!("the source broke")
            });
            Ok(first.chain(broken).boxed())
        }
    }
    let directory = Directory::new(Arc::new(Fragile), BalanceSettings::new(settings()));
    let endpoints = directory.endpoints(&service()).unwrap();
    endpoints.ready().await.unwrap();
    assert_eq!(there(&endpoints), [1]);
    sleep(millis(200)).await;
    assert_eq!(reason(&endpoints), NoInstanceReason::Closed);
}
