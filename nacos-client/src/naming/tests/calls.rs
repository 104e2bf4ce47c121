use futures_util::StreamExt;

use super::*;
use crate::error::{ConfirmError, PickError, QueryError, StartError};
use crate::naming::mock::Fate;

#[tokio::test(start_paused = true)]
async fn cg3_without_a_registry_a_query_ends_with_not_connected_at_its_deadline() {
    let nacos = mock().client();
    let service = nacos.service("s").unwrap();
    let begin = Instant::now();
    assert!(matches!(service.snapshot().await, Err(QueryError::NotConnected { .. })));
    let took = begin.elapsed();
    assert!(took >= 3 * SECOND && took <= 3 * SECOND + 100 * MS, "{took:?}");
    assert!(matches!(service.query().await, Err(QueryError::NotConnected { .. })));
    assert!(matches!(nacos.services_page("g", 1, 10).await, Err(QueryError::NotConnected { .. })));
    assert!(matches!(nacos.connected(SECOND).await, Err(QueryError::NotConnected { .. })));
    assert!(matches!(service.pick(), Err(PickError::NotReady(_))));
}

#[tokio::test(start_paused = true)]
async fn cg6_against_a_server_that_never_answers_every_call_ends_at_its_deadline() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|_| Fate::Ignore);
    let service = nacos.service("s").unwrap();
    let registration = service.register(instance(1)).unwrap();
    let begin = Instant::now();
    let results = tokio::join!(
        service.ready(),
        service.refresh(),
        service.query(),
        nacos.services_page("g", 1, 10),
        registration.confirmed(),
        nacos.register_instance("t", instance(2)),
    );
    let took = begin.elapsed();
    assert!(took >= 3 * SECOND && took <= 3 * SECOND + 100 * MS, "{took:?}");
    assert!(matches!(results.0, Err(QueryError::Deadline { .. })), "{:?}", results.0);
    assert!(matches!(results.1, Err(QueryError::Deadline { .. })), "{:?}", results.1);
    assert!(matches!(results.2, Err(QueryError::Deadline { .. })), "{:?}", results.2);
    assert!(matches!(results.3, Err(QueryError::Deadline { .. })), "{:?}", results.3);
    assert!(matches!(results.4, Err(ConfirmError::Deadline { .. })), "{:?}", results.4);
    assert!(matches!(results.5, Err(ConfirmError::Deadline { .. })), "{:?}", results.5);
    let begin = Instant::now();
    assert!(matches!(registration.withdraw().await, Err(ConfirmError::Deadline { .. })));
    assert!(begin.elapsed() <= 3 * SECOND + 100 * MS);
}

#[tokio::test(start_paused = true)]
async fn g04_a_withdrawal_that_fails_says_what_the_server_said() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let [refused, failing] = [instance(1), instance(2)].map(|i| service.register(i).unwrap());
    refused.confirmed().await.unwrap();
    failing.confirmed().await.unwrap();
    mock.script(|_| Fate::Refuse(400));
    assert!(matches!(refused.withdraw().await, Err(ConfirmError::Refused(said)) if said.code == 400));
    mock.script(|_| Fate::Refuse(500));
    tokio::time::sleep(31 * SECOND).await;
    let error = failing.withdraw().await.unwrap_err();
    assert!(
        matches!(&error, ConfirmError::Deadline { last_error: Some(said), .. } if said.contains("500")),
        "{error:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn cg8_a_refused_question_is_asked_once() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|_| Fate::Refuse(400));
    let service = nacos.service("s").unwrap();
    assert!(matches!(service.query().await, Err(QueryError::Refused(said)) if said.code == 400));
    assert!(matches!(service.ready().await, Err(QueryError::Refused(_))));
    mock.script(|_| Fate::Refuse(403));
    assert!(matches!(nacos.services_page("g", 1, 10).await, Err(QueryError::Denied(_))));
    assert_eq!(mock.take_log().len(), 3);
    assert!(nacos.get_server_status().is_connected());
}

#[tokio::test(start_paused = true)]
async fn a_failing_server_is_asked_again_until_the_deadline() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    mock.script(|_| Fate::Refuse(503));
    assert!(matches!(service.query().await, Err(QueryError::Server(said)) if said.code == 503));
    let asked = mock.take_log().len();
    assert!((3..30).contains(&asked), "{asked}");
    let mut refusals = 3;
    mock.script(move |_| {
        refusals -= 1;
        if refusals > 0 { Fate::Refuse(500) } else { Fate::Obey }
    });
    assert!(service.query().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_moves_on_to_the_next_connection() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.set_foreign(&key("s"), &[1], true);
    mock.script(|_| Fate::Ignore);
    let service = nacos.service("s").unwrap();
    let asking = service.query();
    let moving = async {
        tokio::time::sleep(SECOND).await;
        mock.disconnect();
        mock.script(|_| Fate::Obey);
        tokio::time::sleep(SECOND).await;
        mock.connect();
    };
    let (answer, ()) = tokio::join!(asking, moving);
    assert_eq!(answer.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn services_of_the_server_are_listed_page_by_page() {
    let mock = mock();
    let nacos = connected(&mock).await;
    for n in 0..1203 {
        mock.set_foreign(&key(&format!("s{n:04}")), &[1], true);
    }
    let page = nacos.get_services_of_server(2, 10, "").await.unwrap();
    assert_eq!((page.count, page.names.len(), page.names[0].as_str()), (1203, 10, "s0010"));
    let names: Vec<String> = nacos.services("").map(|name| name.unwrap()).collect().await;
    assert_eq!((names.len(), names[1202].as_str()), (1203, "s1202"));
}

#[tokio::test(start_paused = true)]
async fn cg24_each_reading_equals_that_of_a_fresh_client() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let up = |port| Instance::new(("f", port));
    let all = vec![up(1), up(2).cluster("b"), up(3).healthy(false), up(4).weight(0.0), up(5).cluster("b")];
    mock.set_foreign_instances(&key("s"), all);
    let ports = |list: Vec<Arc<Instance>>| list.iter().map(|i| i.port).collect::<Vec<_>>();
    for _ in 0..3 {
        assert_eq!(ports(nacos.get_all_instances("s", &["b"]).await.unwrap()), [2, 5]);
        assert_eq!(ports(nacos.get_all_instances("s", &[]).await.unwrap()), [1, 2, 3, 4, 5]);
        assert_eq!(ports(nacos.select_instances("s", crate::Select::pickable()).await.unwrap()), [1, 2, 5]);
        assert_eq!(ports(nacos.select_instances("s", crate::Select::unhealthy()).await.unwrap()), [3]);
        let one = nacos.select_one_healthy_instance("s", &["b"]).await.unwrap();
        assert!([2, 5].contains(&one.port));
    }
    let none = nacos.select_one_healthy_instance("s", &["c"]).await.unwrap_err();
    assert!(matches!(none, PickError::NoInstance { total: 0, .. }));
    assert_eq!(count(&mock.take_log(), |c| matches!(c, Call::Query { .. })), 0, "one subscription serves all");
}

#[tokio::test(start_paused = true)]
async fn cg25_nothing_usable_is_an_error_with_counts() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let up = |port| Instance::new(("f", port));
    mock.set_foreign_instances(&key("s"), vec![up(1).healthy(false), up(2).weight(f64::NAN), up(3).enabled(false)]);
    let service = nacos.service("s").unwrap();
    service.ready().await.unwrap();
    let expected = PickError::NoInstance { service: key("s"), total: 3, healthy: 2, enabled: 2, positive_weight: 2 };
    assert_eq!(service.pick().unwrap_err(), expected);
    assert_eq!(nacos.pick("s").unwrap_err(), expected);
}

#[tokio::test(start_paused = true)]
async fn picking_by_name_asks_for_the_list_the_first_time() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.set_foreign(&key("s"), &[1], true);
    assert!(matches!(nacos.pick("s"), Err(PickError::NotReady(_))));
    until("there", || nacos.pick("s").is_ok()).await;
    assert_eq!(nacos.service("s").unwrap().pick_with(|i| i.port).unwrap(), 1);
    assert!(matches!(nacos.pick("a@@b"), Err(PickError::Invalid(_))));
    nacos.shutdown(SECOND).await;
    assert!(matches!(nacos.pick("s"), Err(PickError::Start(StartError::Closed))));
}
