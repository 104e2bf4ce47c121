use std::sync::Mutex;

use futures_util::{FutureExt, StreamExt};
use nacos_client::StartError;

use super::*;
use crate::eject::{EjectionListener, EjectionSender};
use crate::settings::BalanceSettings;
use crate::{Directory, EjectionCause, EjectionEvent, EjectionKind, InMemoryDiscovery};

fn told() -> (Service, EjectionSender) {
    let events = EjectionSender::new();
    let mut service = Service::ejecting([]);
    service.endpoints = Arc::new(Endpoints::telling(
        ServiceKey::new("", "orders"),
        Arc::new(ServiceSettings::default()),
        events.clone(),
    ));
    service.list([1, 2]);
    (service, events)
}

fn kind(event: &EjectionEvent) -> (u16, &'static str) {
    let kind = match event.kind {
        EjectionKind::Ejected { cause: EjectionCause::ConsecutiveFailures { failures: 5 }, relapses: 0, .. } => {
            "ejected"
        }
        EjectionKind::Ejected { cause: EjectionCause::ProbeFailed, relapses: 1, .. } => "still",
        EjectionKind::Restored => "restored",
        EjectionKind::Readmitted => "readmitted",
        _ => "other",
    };
    (event.instance.port(), kind)
}

#[tokio::test(start_paused = true)]
async fn ejections_are_told_in_order_to_everyone_who_listens() {
    let (mut service, events) = told();
    service.fail(1);
    let mut early = events.subscribe();
    pass(2.0).await;
    service.call(1, BAD);
    let mut late = events.subscribe();
    pass(3.0).await;
    service.call(1, GOOD);
    service.fail(2);
    service.list([2]);
    let expected = [(1, "still"), (1, "restored"), (2, "ejected"), (2, "readmitted")];
    for expected in expected {
        let event = early.next().now_or_never().unwrap().unwrap();
        assert_eq!((kind(&event), event.missed), (expected, 0));
        assert_eq!(event.instance.service().name(), "orders");
    }
    assert!(early.next().now_or_never().is_none());
    assert_eq!(kind(&late.next().now_or_never().unwrap().unwrap()), (1, "restored"));
    drop((service, events));
    assert!(early.next().await.is_none(), "it ends with the directory");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_misses_the_oldest_and_learns_how_many() {
    let (mut service, events) = told();
    let mut slow = events.subscribe();
    for _ in 0..100 {
        service.fail(1);
        pass(61.0).await;
        service.call(1, GOOD);
    }
    drop((service, events));
    let first = slow.next().await.unwrap();
    assert_eq!(first.missed, 200 - 128);
    let mut last = first;
    let mut rest = 1;
    while let Some(event) = slow.next().await {
        assert_eq!(event.missed, 0);
        last = event;
        rest += 1;
    }
    assert_eq!((rest, last.kind), (128, EjectionKind::Restored));
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_called_in_order_survives_its_panics_and_ends_when_it_is_told() {
    let (mut service, events) = told();
    let seen = Arc::new(Mutex::new(vec![]));
    let calls = Arc::clone(&seen);
    let listener = EjectionListener::spawn(events.subscribe(), move |event| {
        let calls = Arc::clone(&calls);
        async move {
            tokio::task::yield_now().await;
            calls.lock().unwrap().push(kind(&event).1);
            assert!(calls.lock().unwrap().len() != 1, "the first call panics");
        }
    });
    let listener = listener.unwrap();
    service.fail(1);
    pass(2.0).await;
    service.call(1, GOOD);
    while seen.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    listener.unsubscribe().await;
    service.fail(2);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*seen.lock().unwrap(), ["ejected", "restored"]);
}

#[test]
fn without_a_runtime_a_handler_is_refused() {
    let listener = EjectionListener::spawn(EjectionSender::new().subscribe(), |_| std::future::ready(()));
    assert!(matches!(listener, Err(StartError::NoRuntime)));
}

#[tokio::test(start_paused = true)]
async fn a_directory_tells_the_ejections_of_all_its_services() {
    let known = InMemoryDiscovery::new();
    let directory = Directory::new(Arc::new(known.clone()), BalanceSettings::default());
    let mut events = directory.ejections();
    let (sender, mut handled) = tokio::sync::mpsc::unbounded_channel();
    let listener = directory.on_ejection(move |event| {
        sender.send(kind(&event)).unwrap();
        std::future::ready(())
    });
    for name in ["orders", "stock"] {
        known.set(name, [1, 2].map(|port| Instance::new(("127.0.0.1", port))));
        let endpoints = directory.endpoints(&ServiceKey::new("", name)).unwrap();
        endpoints.ready().await.unwrap();
        let mut service = Service { endpoints, rng: fastrand::Rng::with_seed(1), revision: 0 };
        service.fail(2);
        let event = events.next().await.unwrap();
        assert_eq!((kind(&event), event.instance.service().name()), ((2, "ejected"), name));
        assert_eq!(handled.recv().await, Some((2, "ejected")));
    }
    drop(listener);
    assert_eq!(handled.recv().await, None, "the handler is gone");
}
