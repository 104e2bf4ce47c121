use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::packet::Packet;
use super::subscribers::{Key, Limits, Polled, Step, Subscribers, UdpSubscriber, UdpTiming};

const TIMING: UdpTiming = UdpTiming {
    ack_timeout: Duration::from_secs(10),
    keep: Duration::from_secs(20),
    spacing: Duration::from_millis(50),
};
const LIMITS: Limits = Limits { subscriptions: 6, filters: 2 };
const SERVICE: usize = 1;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn who(port: u16, clusters: &str) -> UdpSubscriber {
    let target = SocketAddr::from(([10, 0, 0, 1], port));
    UdpSubscriber { target, clusters: clusters.into(), agent: "Nacos-Java-Client:v1.4.8".into(), app: "shop".into() }
}

fn packet(stamp: i64) -> Packet {
    Packet::new(b"{}", stamp)
}

/// One subscriber, subscribed at 0, whose first list left at 0 as number 1.
fn with_one() -> (Subscribers, Key) {
    let mut all = Subscribers::new(TIMING, LIMITS);
    assert_eq!(all.poll(SERVICE, &who(1, ""), ms(0), Some(ms(0))), Polled::New);
    let key = newest(&mut all, ms(0));
    all.sent(&key, Some(packet(1)), ms(0));
    (all, key)
}

fn newest(all: &mut Subscribers, now: Duration) -> Key {
    match all.step(now, false) {
        Step::Newest(key, _) => key,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_list_is_sent_once_more_and_its_silent_receiver_forgotten() {
    let (mut all, key) = with_one();
    assert_eq!(all.step(ms(9_999), false), Step::Wait(Some(ms(10_000))));
    assert_eq!(all.step(ms(10_000), false), Step::Again(key.target, packet(1)), "the same bytes");
    assert!(all.refresh(SERVICE, &who(1, ""), ms(10_000)), "asking does not count as an acknowledgement");
    assert_eq!(all.step(ms(20_000), false), Step::GaveUp(key.target));
    assert_eq!((all.len(), all.left(), all.sizes()), (0, Some(SERVICE), (0, 0)));
    assert_eq!(all.left(), None);
}

#[test]
fn an_acknowledgement_counts_from_the_address_it_was_sent_to_and_for_the_newest_list_alone() {
    let (mut all, key) = with_one();
    let elsewhere = SocketAddr::from(([10, 0, 0, 1], 2));
    assert!(!all.acked(elsewhere, 1, ms(1)) && !all.acked(key.target, 2, ms(1)));
    all.changed(SERVICE, ms(60));
    assert_eq!(newest(&mut all, ms(60)), key);
    all.sent(&key, Some(packet(2)), ms(60));
    assert!(!all.acked(key.target, 1, ms(61)), "the older one is not waited for any more");
    assert!(all.acked(key.target, 2, ms(62)) && !all.acked(key.target, 2, ms(63)));
    assert_eq!(all.sizes(), (1, 0));
    assert_eq!(all.step(ms(10_062), false), Step::Wait(Some(ms(20_000))), "nothing is repeated");
}

#[test]
fn changes_meanwhile_are_merged_and_the_newest_list_wins() {
    let (mut all, key) = with_one();
    for at in [1, 2, 3] {
        all.changed(SERVICE, ms(at));
    }
    assert_eq!(all.step(ms(3), false), Step::Wait(Some(ms(50))), "not one datagram a change");
    assert_eq!(newest(&mut all, ms(50)), key);
    all.sent(&key, Some(packet(2)), ms(50));
    all.changed(SERVICE, ms(51));
    assert!(all.acked(key.target, 2, ms(52)));
    assert_eq!(newest(&mut all, ms(52)), key, "once acknowledged, the next one goes at once");
}

#[test]
fn who_does_not_ask_again_is_forgotten_and_who_does_is_not() {
    let (mut all, key) = with_one();
    assert!(all.acked(key.target, 1, ms(1)));
    assert!(all.refresh(SERVICE, &who(1, ""), ms(15_000)));
    assert_eq!(all.step(ms(34_999), false), Step::Wait(Some(ms(35_000))));
    assert_eq!(all.step(ms(35_000), false), Step::Wait(None));
    assert_eq!((all.len(), all.left()), (0, Some(SERVICE)));
    assert!(!all.refresh(SERVICE, &who(1, ""), ms(36_000)));
}

#[test]
fn what_is_too_large_is_not_waited_for() {
    let mut all = Subscribers::new(TIMING, LIMITS);
    all.poll(SERVICE, &who(1, ""), ms(0), Some(ms(100)));
    assert_eq!(all.step(ms(99), false), Step::Wait(Some(ms(100))));
    let key = newest(&mut all, ms(100));
    all.sent(&key, None, ms(100));
    assert_eq!(all.step(ms(15_000), false), Step::Wait(Some(ms(20_000))));
    assert_eq!(all.len(), 1, "it asks, and so it stays");
}

#[test]
fn held_pushes_wait_and_silent_subscribers_leave_all_the_same() {
    let (mut all, key) = with_one();
    all.changed(SERVICE, ms(60));
    assert_eq!(all.poll(SERVICE, &who(2, ""), ms(60), Some(ms(60))), Polled::New);
    all.refresh(SERVICE, &who(1, ""), ms(5_000));
    assert_eq!(all.step(ms(15_000), true), Step::Wait(Some(ms(20_060))));
    assert_eq!(all.step(ms(20_060), true), Step::Wait(Some(ms(25_000))));
    assert_eq!(all.len(), 1);
    all.release();
    assert_eq!(newest(&mut all, ms(21_000)), key);
}

#[test]
fn the_number_of_subscriptions_and_of_filters_is_bounded() {
    let mut all = Subscribers::new(TIMING, LIMITS);
    let polled = ["a", "b", "c"].map(|clusters| all.poll(SERVICE, &who(1, clusters), ms(0), None));
    assert_eq!(polled, [Polled::New, Polled::New, Polled::Refused], "two filters");
    let polled: Vec<Polled> = (2..7).map(|port| all.poll(SERVICE, &who(port, "a"), ms(0), None)).collect();
    assert_eq!(polled, [Polled::New, Polled::New, Polled::New, Polled::New, Polled::Refused], "six subscriptions");
    assert_eq!(all.poll(2, &who(9, "a"), ms(0), None), Polled::Refused);
    assert_eq!(all.left(), Some(2), "and nothing is left of what was refused");
    assert_eq!(all.step(ms(20_000), false), Step::Wait(None));
    assert_eq!((all.len(), all.sizes()), (0, (0, 0)));
    assert_eq!(all.poll(SERVICE, &who(1, "c"), ms(20_000), None), Polled::New);
}

#[test]
fn subscribers_are_told_apart_by_address_and_filter() {
    let (mut all, _) = with_one();
    assert_eq!(all.poll(SERVICE, &who(1, "c1"), ms(0), None), Polled::New);
    assert_eq!(all.poll(2, &who(1, ""), ms(0), None), Polled::New);
    let mut newer = who(1, "");
    newer.agent = "Nacos-Go-Client:v1.0.0".into();
    assert_eq!(all.poll(SERVICE, &newer, ms(1), None), Polled::Known);
    let agents: Vec<(Arc<str>, Arc<str>)> = all.of(SERVICE).map(|one| (one.clusters, one.agent)).collect();
    assert_eq!(agents.len(), 2);
    assert!(agents.contains(&("".into(), newer.agent)), "the agent is the one that asked last");
    assert_eq!((all.len(), all.of(2).count()), (3, 1));
}

#[derive(Debug, Clone)]
enum Op {
    Poll { service: usize, port: u16, filter: usize },
    Change { service: usize },
    Ack { port: u16, back: i64 },
    Pass { ms: u64 },
    Hold(bool),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0usize..3, 1u16..4, 0usize..3).prop_map(|(service, port, filter)| Op::Poll { service, port, filter }),
        (0usize..3).prop_map(|service| Op::Change { service }),
        (1u16..4, 0i64..4).prop_map(|(port, back)| Op::Ack { port, back }),
        prop_oneof![0u64..80, 5_000u64..12_000].prop_map(|ms| Op::Pass { ms }),
        any::<bool>().prop_map(Op::Hold),
    ]
}

proptest! {
    /// Whatever happens: nothing is sent while pushes are held, a step never asks to be woken in the past, and when all have left
    /// nothing remains of them.
    #[test]
    fn any_sequence_ends_in_nothing(ops in proptest::collection::vec(op(), 0..200)) {
        let mut all = Subscribers::new(TIMING, LIMITS);
        let (mut now, mut stamp, mut held) = (ms(0), 0, false);
        for op in ops {
            match op {
                Op::Poll { service, port, filter } => {
                    let filter = ["", "a", "b"][filter];
                    all.poll(service, &who(port, filter), now, Some(now));
                }
                Op::Change { service } => all.changed(service, now),
                Op::Ack { port, back } => { all.acked(who(port, "").target, stamp - back, now); }
                Op::Pass { ms: passed } => now += ms(passed),
                Op::Hold(hold) => {
                    held = hold;
                    all.release();
                }
            }
            loop {
                match all.step(now, held) {
                    Step::Newest(key, _) => {
                        prop_assert!(!held);
                        stamp += 1;
                        all.sent(&key, (stamp % 5 != 0).then(|| packet(stamp)), now);
                    }
                    Step::Again(..) | Step::GaveUp(_) => prop_assert!(!held),
                    Step::Wait(next) => {
                        prop_assert!(next.is_none_or(|next| next > now));
                        break;
                    }
                }
            }
            prop_assert!(all.len() <= LIMITS.subscriptions);
            let (timers, flights) = all.sizes();
            prop_assert_eq!(timers, all.len());
            prop_assert!(flights <= all.len());
        }
        now += ms(60_000);
        prop_assert_eq!(all.step(now, false), Step::Wait(None));
        prop_assert_eq!((all.len(), all.sizes()), (0, (0, 0)));
        prop_assert!((0..3).all(|service| all.of(service).count() == 0));
    }
}
