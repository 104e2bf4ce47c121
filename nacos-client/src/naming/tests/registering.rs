use std::collections::HashSet;

use super::*;
use crate::config::ClientConfig;
use crate::error::{ConfirmError, RegisterError};
use crate::naming::mock::Fate;

#[tokio::test(start_paused = true)]
async fn cg14_a_registration_made_while_disconnected_is_acknowledged_soon_after_the_connection() {
    let mock = mock();
    let nacos = mock.client();
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    tokio::time::sleep(100 * SECOND).await;
    assert_eq!(registration.status(), RegistrationStatus::Pending);
    mock.connect();
    let (_, waited) = tokio::join!(async { registration.confirmed().await.unwrap() }, async {
        until("confirmed", || is_confirmed(&registration.status())).await
    });
    assert!(waited <= 500 * MS, "{waited:?}");
    assert_eq!(mock.held(&key("s")), [1]);
}

#[tokio::test(start_paused = true)]
async fn cg19_instances_registered_from_64_tasks_are_all_there_in_few_calls() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let mut tasks = tokio::task::JoinSet::new();
    for port in 1..=1000u16 {
        let service = nacos.service("s").unwrap();
        // Tasks of the test, awaited below.
        tasks.spawn(async move {
            let registration = service.register(instance(port)).unwrap();
            registration.confirmed().await.unwrap();
            registration
        });
    }
    let mut registrations = tasks.join_all().await;
    assert_eq!(mock.held(&key("s")).len(), 1000);
    let calls = count(&mock.take_log(), is_register);
    assert!(calls <= 20, "{calls}");
    let one = registrations.swap_remove(400);
    let port = one.instance().unwrap().port;
    one.withdraw().await.unwrap();
    let held = mock.held(&key("s"));
    assert!(held.len() == 999 && !held.contains(&port));
    assert!(!mock.overlapped());
}

#[tokio::test(start_paused = true)]
async fn g07_cluster_is_part_of_the_identity() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let a = service.register(instance(1)).unwrap();
    let b = service.register(instance(1).cluster("c1")).unwrap();
    b.confirmed().await.unwrap();
    a.confirmed().await.unwrap();
    a.withdraw().await.unwrap();
    let held = mock.held_instances(&key("s"));
    assert_eq!(held.iter().map(|i| i.cluster.as_str()).collect::<Vec<_>>(), ["c1"]);
    assert!(is_confirmed(&b.status()));
}

#[tokio::test(start_paused = true)]
async fn g08_an_update_is_what_the_next_connection_gets() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    registration.confirmed().await.unwrap();
    registration.update(|i| i.weight(5.0).metadata("version", "2")).unwrap();
    registration.confirmed().await.unwrap();
    mock.disconnect();
    until("pending again", || registration.status() == RegistrationStatus::Pending).await;
    mock.connect();
    registration.confirmed().await.unwrap();
    let held = mock.held_instances(&key("s"));
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].weight, held[0].metadata["version"].as_str()), (5.0, "2"));
}

#[tokio::test(start_paused = true)]
async fn an_update_may_move_the_instance() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    registration.confirmed().await.unwrap();
    registration
        .update(|mut i| {
            i.port = 2;
            i
        })
        .unwrap();
    registration.confirmed().await.unwrap();
    assert_eq!(mock.held(&key("s")), [2]);
    assert!(matches!(registration.update(|i| i.weight(-1.0)), Err(RegisterError::Invalid(_))));
    assert!(
        matches!(registration.update(Instance::persistent), Err(RegisterError::Invalid(e)) if e.field == "ephemeral")
    );
    assert_eq!(registration.instance().unwrap().weight, 1.0, "an invalid update leaves no wish");
    registration.withdraw().await.unwrap();
    assert!(mock.held(&key("s")).is_empty());
}

#[tokio::test(start_paused = true)]
async fn g09_a_deregistration_during_an_outage_is_never_followed_by_a_registration() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    registration.confirmed().await.unwrap();
    mock.disconnect();
    registration.withdraw().await.unwrap();
    mock.take_log();
    mock.connect();
    tokio::time::sleep(300 * SECOND).await;
    assert_eq!(count(&mock.take_log(), is_register), 0);
    assert!(mock.held(&key("s")).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_withdrawal_while_the_registration_is_under_way_is_final() {
    let mock = Mock::new(1, 50 * MS, Dialect::Replacing);
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    tokio::time::sleep(MS).await;
    registration.withdraw().await.unwrap();
    assert!(mock.held(&key("s")).is_empty());
    assert!(!mock.overlapped());
}

#[tokio::test(start_paused = true)]
async fn cg21_dropping_a_registration_withdraws_it_and_keeping_it_does_not() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let dropped = service.register(instance(1)).unwrap();
    let kept = service.register(instance(2)).unwrap();
    kept.confirmed().await.unwrap();
    kept.keep();
    drop(dropped);
    let took = until("gone", || mock.held(&key("s")) == [2]).await;
    assert!(took <= SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_later_registration_of_the_same_instance_is_not_ended_by_the_earlier_one() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let first = service.register(instance(1)).unwrap();
    let second = service.register(instance(1).weight(2.0)).unwrap();
    assert_eq!(first.status(), RegistrationStatus::Withdrawn);
    assert!(matches!(first.update(|i| i), Err(RegisterError::Withdrawn)));
    drop(first);
    second.confirmed().await.unwrap();
    assert_eq!(mock.held_instances(&key("s"))[0].weight, 2.0);
}

#[tokio::test(start_paused = true)]
async fn cg18_a_refused_entry_delays_no_other_and_succeeds_within_31_s_after_its_cause_is_gone() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|call| match call {
        Call::Register { instance, .. } if instance.port == 13 => Fate::Refuse(400),
        Call::RegisterBatch { instances, .. } if instances.iter().any(|i| i.port == 13) => Fate::Refuse(400),
        _ => Fate::Obey,
    });
    let service = nacos.service("s").unwrap();
    let registrations: Vec<_> = (11..=15).map(|port| service.register(instance(port)).unwrap()).collect();
    for registration in &registrations {
        let port = registration.instance().unwrap().port;
        match registration.confirmed().await {
            Err(ConfirmError::Refused(said)) => assert_eq!((port, said.code), (13, 400)),
            other => assert!(other.is_ok() && port != 13, "{port}: {other:?}"),
        }
    }
    assert_eq!(mock.held(&key("s")), [11, 12, 14, 15]);
    assert!(matches!(registrations[2].status(), RegistrationStatus::Refused(said) if said.code == 400));
    mock.take_log();
    tokio::time::sleep(25 * SECOND).await;
    assert_eq!(count(&mock.take_log(), is_register), 0, "not asked again too soon");
    mock.script(|_| Fate::Obey);
    let took = until("accepted", || mock.held(&key("s")).len() == 5).await;
    assert!(took <= 31 * SECOND, "{took:?}");
    until("confirmed", || is_confirmed(&registrations[2].status())).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_change_leaves_what_was_acknowledged_and_a_new_change_is_tried_at_once() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let refuse = |call: &Call| match call {
        Call::Register { instance, .. } if instance.weight == 9.0 => Fate::Refuse(400),
        _ => Fate::Obey,
    };
    mock.script(refuse);
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    registration.confirmed().await.unwrap();
    registration.update(|i| i.weight(9.0)).unwrap();
    assert!(matches!(registration.confirmed().await, Err(ConfirmError::Refused(_))));
    assert_eq!(mock.held_instances(&key("s"))[0].weight, 1.0);
    registration.update(|i| i.weight(8.0)).unwrap();
    registration.confirmed().await.unwrap();
    assert_eq!(mock.held_instances(&key("s"))[0].weight, 8.0);
}

#[tokio::test(start_paused = true)]
async fn g23_a_failing_server_shows_in_the_status_until_it_heals() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|_| Fate::Refuse(500));
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    let error = registration.confirmed().await.unwrap_err();
    assert!(matches!(&error, ConfirmError::Deadline { last_error: Some(_), .. }) && error.is_retryable(), "{error:?}");
    tokio::time::sleep(60 * SECOND).await;
    let RegistrationStatus::Failing { attempts, last_error, .. } = registration.status() else {
        panic!("{:?}", registration.status());
    };
    assert!((12..60).contains(&attempts), "{attempts} attempts in 63 s");
    assert!(last_error.contains("500"));
    assert_eq!(nacos.stats().redo_backlog, 1);
    mock.script(|_| Fate::Obey);
    let took = until("confirmed", || is_confirmed(&registration.status())).await;
    assert!(took <= 6 * SECOND, "{took:?}");
    assert_eq!(nacos.stats().redo_backlog, 0);
}

#[tokio::test(start_paused = true)]
async fn g02_all_are_back_although_the_server_fails_some_of_the_redo() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = |n: usize| format!("s{n}");
    let registrations: Vec<_> =
        (0..1000).map(|n| nacos.service(service(n)).unwrap().register(instance(1)).unwrap()).collect();
    until("all", || registrations.iter().all(|r| is_confirmed(&r.status()))).await;
    mock.disconnect();
    tokio::time::sleep(SECOND).await;
    let mut calls = 0;
    mock.script(move |_| {
        calls += 1;
        if calls % 20 == 0 { Fate::Refuse(500) } else { Fate::Obey }
    });
    mock.connect();
    let took = until("all again", || registrations.iter().all(|r| is_confirmed(&r.status()))).await;
    assert!(took <= 15 * SECOND, "{took:?}");
    assert!((0..1000).all(|n| mock.held(&key(&service(n))) == [1]));
    assert!(mock.writes_most() <= 64 && !mock.overlapped(), "{}", mock.writes_most());
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_call_may_have_left_is_removed_when_it_is_not_wanted_any_more() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|_| Fate::DoneButSays(500));
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    until("failing", || matches!(registration.status(), RegistrationStatus::Failing { .. })).await;
    assert_eq!(mock.held(&key("s")), [1]);
    mock.script(|_| Fate::Obey);
    registration.withdraw().await.unwrap();
    assert!(mock.held(&key("s")).is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_batches_the_first_instance_stays_and_the_second_is_unsupported() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|call| if matches!(call, Call::RegisterBatch { .. }) { Fate::Refuse(302) } else { Fate::Obey });
    let service = nacos.service("s").unwrap();
    let first = service.register(instance(2)).unwrap();
    first.confirmed().await.unwrap();
    let second = service.register(instance(1)).unwrap();
    let error = second.confirmed().await.unwrap_err();
    assert_eq!(error, ConfirmError::Unsupported { needs: "2.1.1" });
    assert_eq!(mock.held(&key("s")), [2]);
    assert!(is_confirmed(&first.status()));
    first.withdraw().await.unwrap();
    until("the second is the first now", || is_confirmed(&second.status())).await;
    assert_eq!(mock.held(&key("s")), [1]);
}

#[tokio::test(start_paused = true)]
async fn cg20_a_persistent_instance_that_an_operator_removed_is_never_registered_again() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1).persistent()).unwrap();
    registration.confirmed().await.unwrap();
    assert_eq!(mock.persistent(&key("s")), [1]);
    mock.drop_persistent();
    mock.disconnect();
    mock.connect();
    tokio::time::sleep(300 * SECOND).await;
    assert!(mock.persistent(&key("s")).is_empty());
    assert!(is_confirmed(&registration.status()));
}

#[tokio::test(start_paused = true)]
async fn a_persistent_instance_is_tried_until_the_first_acknowledgement_and_goes_when_withdrawn() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.script(|_| Fate::Ignore);
    let service = nacos.service("s").unwrap();
    let registration = service.register(instance(1).persistent()).unwrap();
    tokio::time::sleep(SECOND).await;
    mock.script(|_| Fate::Obey);
    mock.disconnect();
    mock.connect();
    registration.confirmed().await.unwrap();
    let dropped = service.register(instance(2).persistent()).unwrap();
    dropped.confirmed().await.unwrap();
    drop(dropped);
    registration.withdraw().await.unwrap();
    assert_eq!(mock.persistent(&key("s")), [2], "only the one withdrawn explicitly is gone");
    assert!(nacos.deregister_instance("s", &instance(2).persistent()).await.unwrap());
    assert!(mock.persistent(&key("s")).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_adds_is_told_to_remove_by_address() {
    let mock = Mock::new(3, 2 * MS, Dialect::Adding);
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let mut registrations: Vec<_> = (1..=4).map(|port| service.register(instance(port)).unwrap()).collect();
    for registration in &registrations {
        registration.confirmed().await.unwrap();
    }
    registrations.remove(1).withdraw().await.unwrap();
    assert_eq!(mock.held(&key("s")), [1, 3, 4]);
    drop(registrations);
    until("all gone", || mock.held(&key("s")).is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn invalid_input_leaves_no_wish() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    assert!(matches!(service.register(instance(0)), Err(RegisterError::Invalid(e)) if e.field == "port"));
    assert!(matches!(nacos.register_instance("a@@b", instance(1)).await, Err(ConfirmError::Invalid(_))));
    let mixed = [instance(1), instance(2).weight(f64::NAN)];
    assert!(matches!(nacos.batch_register_instance("s", mixed).await, Err(ConfirmError::Invalid(_))));
    tokio::time::sleep(SECOND).await;
    assert!(mock.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn with_validation_by_the_server_its_refusal_is_reported() {
    let mock = mock();
    let config = ClientConfig::builder().servers(["mock"]).validation(crate::Validation::Server).build().unwrap();
    let nacos = mock.client_with(config);
    start(&nacos).await;
    mock.connect();
    mock.script(|_| Fate::Refuse(400));
    let error = nacos.register_instance("s", instance(0).weight(-1.0)).await.unwrap_err();
    assert!(matches!(error, ConfirmError::Refused(said) if said.code == 400));
}

#[tokio::test(start_paused = true)]
async fn the_java_names_register_and_deregister() {
    let mock = mock();
    let nacos = connected(&mock).await;
    nacos.register_instance("s", instance(1)).await.unwrap();
    nacos.batch_register_instance(("DEFAULT_GROUP", "s"), [instance(2), instance(3)]).await.unwrap();
    assert_eq!(mock.held(&key("s")), [1, 2, 3]);
    mock.take_log();
    assert!(!nacos.deregister_instance("s", &instance(9)).await.unwrap());
    assert!(!nacos.deregister_instance("other", &instance(1)).await.unwrap());
    assert!(mock.take_log().is_empty(), "nothing of ours, nothing to send");
    assert!(nacos.deregister_instance("s", &instance(1)).await.unwrap());
    assert_eq!(nacos.batch_deregister_instance("s", [instance(2), instance(7)]).await.unwrap(), 1);
    assert_eq!(mock.held(&key("s")), [3]);
}

#[tokio::test(start_paused = true)]
async fn cg7_a_dropped_call_leaves_the_wish_whole_or_not_at_all() {
    for polls in 0..4 {
        let mock = Mock::new(polls, 20 * MS, Dialect::Replacing);
        let nacos = connected(&mock).await;
        let mut call = Box::pin(nacos.batch_register_instance("s", [instance(1), instance(2)]));
        for _ in 0..polls {
            assert!(futures_util::poll!(&mut call).is_pending());
            tokio::time::sleep(3 * MS).await;
        }
        drop(call);
        tokio::time::sleep(SECOND).await;
        let held: HashSet<u16> = mock.held(&key("s")).into_iter().collect();
        assert!(held == HashSet::from([1, 2]) || (polls == 0 && held.is_empty()), "{polls}: {held:?}");
    }
}
