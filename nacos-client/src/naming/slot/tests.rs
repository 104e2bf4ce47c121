//! The subscription of one service, step by step.

use super::*;
use crate::error::ServerRefusal;

const E1: Option<(Epoch, Freshness)> = Some((Epoch(1), Freshness::Pushed));
const E2: Option<(Epoch, Freshness)> = Some((Epoch(2), Freshness::Pushed));
const POLLED: Option<(Epoch, Freshness)> = Some((Epoch(3), Freshness::Polled));

fn slot() -> SubSlot {
    let mut slot = SubSlot::new(None);
    slot.set_wanted(true);
    slot
}

fn call(flight: Option<SubFlight>) -> Option<SubCall> {
    flight.map(|f| f.call)
}

#[test]
fn one_call_is_under_way_at_a_time_and_wishes_change_meanwhile() {
    let (mut slot, now) = (slot(), Instant::now());
    let subscribe = slot.next(E1, None, now).unwrap();
    slot.set_wanted(false);
    assert_eq!(slot.next(E1, None, now), None);
    assert!(slot.done(subscribe, SubOutcome::Answered, now));
    let unsubscribe = slot.next(E1, None, now).unwrap();
    assert_eq!(unsubscribe.call, SubCall::Unsubscribe);
    slot.set_wanted(true);
    assert_eq!(slot.next(E1, None, now), None, "the new subscription waits for the old unsubscription");
    assert!(slot.done(unsubscribe, SubOutcome::Answered, now));
    assert_eq!(call(slot.next(E1, None, now)), Some(SubCall::Subscribe));
}

#[test]
fn a_new_epoch_knows_nothing_and_late_answers_are_ignored() {
    let (mut slot, now) = (slot(), Instant::now());
    let old = slot.next(E1, None, now).unwrap();
    let new = slot.next(E2, None, now).unwrap();
    assert!(!slot.done(old, SubOutcome::Answered, now));
    assert!(slot.done(new, SubOutcome::Answered, now));
    slot.set_wanted(false);
    assert_eq!(slot.next(None, None, now), None);
    assert_eq!(slot.next(E1, None, now), None, "nothing to unsubscribe on a new connection");
    assert!(slot.is_idle());
}

#[test]
fn checks_merge_and_decisions_query() {
    let (mut slot, now) = (slot(), Instant::now());
    let first = slot.next(E1, None, now).unwrap();
    slot.done(first, SubOutcome::Answered, now);
    slot.check(now);
    slot.check(now + CHECK_DELAY / 2);
    assert_eq!(slot.wake_at(None), Some(now + CHECK_DELAY));
    assert_eq!(slot.next(E1, None, now), None);
    let query = slot.next(E1, None, now + CHECK_DELAY).unwrap();
    assert_eq!(query.call, SubCall::Query);
    slot.done(query, SubOutcome::Answered, now + CHECK_DELAY);
    assert_eq!((slot.wake_at(None), slot.next(E1, None, now + CHECK_DELAY)), (None, None));
    assert_eq!(call(slot.next(E1, Some(now), now + CHECK_DELAY)), Some(SubCall::Query));
}

#[test]
fn cg8_a_refused_subscription_is_asked_again_after_thirty_seconds() {
    let (mut slot, now) = (slot(), Instant::now());
    let first = slot.next(E1, None, now).unwrap();
    slot.done(first, SubOutcome::Final(Trouble::for_test(400)), now);
    assert_eq!(slot.next(E1, None, now + REFUSED_RETRY / 2), None);
    assert_eq!(slot.wake_at(None), Some(now + REFUSED_RETRY));
    assert_eq!(call(slot.next(E1, None, now + REFUSED_RETRY)), Some(SubCall::Subscribe));
}

/// A slot whose first list has come on a connection that is polled.
fn polled(keep: Option<i64>, now: Instant) -> SubSlot {
    let mut slot = slot();
    let subscribe = slot.next(POLLED, None, now).unwrap();
    slot.keep(keep);
    slot.done(subscribe, SubOutcome::Answered, now);
    slot
}

#[test]
fn a_polled_list_is_asked_for_before_its_time_is_over_whether_it_is_empty_or_not() {
    let ms = Duration::from_millis;
    for (said, keep) in [
        (Some(10_000), ms(10_000)),
        (None, DEFAULT_KEEP),
        (Some(0), DEFAULT_KEEP),
        (Some(-5), DEFAULT_KEEP),
        (Some(1), SHORTEST_KEEP),
        (Some(i64::MAX), LONGEST_KEEP),
    ] {
        let mut now = Instant::now();
        let mut slot = polled(said, now);
        for _ in 0..20 {
            let at = slot.wake_at(None).unwrap();
            assert!(at <= now + keep && at >= now + keep.mul_f64(1.0 - POLL_SPREAD), "{said:?}: {:?}", at - now);
            assert_eq!(slot.next(POLLED, None, at - ms(1)), None);
            let poll = slot.next(POLLED, None, at).unwrap();
            assert_eq!(poll.call, SubCall::Query);
            now = at + ms(50);
            slot.done(poll, SubOutcome::Answered, now);
        }
    }
}

#[test]
fn polls_that_fail_back_off_to_a_minute_and_one_success_ends_it() {
    let mut now = Instant::now();
    let mut slot = polled(Some(10_000), now);
    let mut waits = Vec::new();
    for _ in 0..12 {
        let at = slot.wake_at(None).unwrap();
        waits.push(at - now);
        now = at;
        let poll = slot.next(POLLED, None, now).unwrap();
        slot.done(poll, SubOutcome::Transient(Trouble::for_test(500)), now);
    }
    let cap = Duration::from_secs(60);
    assert!(waits[1] <= Duration::from_secs(1), "{waits:?}");
    assert!(waits[9..].iter().all(|wait| *wait >= cap / 2 && *wait <= cap), "{waits:?}");
    now = slot.wake_at(None).unwrap();
    let poll = slot.next(POLLED, None, now).unwrap();
    slot.done(poll, SubOutcome::Answered, now);
    assert!(slot.wake_at(None).unwrap() <= now + Duration::from_secs(10));
}

#[test]
fn answers_without_a_list_back_off_to_a_minute_and_a_list_ends_it() {
    let mut now = Instant::now();
    let mut slot = polled(Some(10_000), now);
    let mut waits = Vec::new();
    for _ in 0..12 {
        let at = slot.wake_at(None).unwrap();
        waits.push(at - now);
        now = at;
        let poll = slot.next(POLLED, None, now).unwrap();
        slot.done(poll, SubOutcome::Answered, now);
        slot.said_nothing(now);
    }
    let cap = Duration::from_secs(60);
    assert_eq!(waits[1], CHECK_DELAY);
    assert!(waits[9..].iter().all(|wait| *wait >= cap / 2 && *wait <= cap), "{waits:?}");
    now = slot.wake_at(None).unwrap();
    let poll = slot.next(POLLED, None, now).unwrap();
    slot.done(poll, SubOutcome::Answered, now);
    slot.said_list();
    assert!(slot.wake_at(None).unwrap() <= now + Duration::from_secs(10));
    slot.said_nothing(now);
    assert_eq!(slot.wake_at(None), Some(now + CHECK_DELAY));
}

#[test]
fn doubtful_datagrams_ask_at_once_but_never_without_pause() {
    let begin = Instant::now();
    let mut slot = polled(Some(10_000), begin);
    let mut queries = 0;
    for at in 0..1_000 {
        let now = begin + Duration::from_millis(at);
        slot.check_at_once(now);
        if let Some(query) = slot.next(POLLED, None, now) {
            queries += 1;
            slot.done(query, SubOutcome::Answered, now);
        }
    }
    assert_eq!(queries, 9, "one each 100 ms, the first that long after the subscription");
}

#[test]
fn a_connection_that_pushes_is_reconciled_and_one_that_does_not_is_polled() {
    let now = Instant::now();
    let mut slot = SubSlot::new(Some(Duration::from_secs(60)));
    slot.set_wanted(true);
    let subscribe = slot.next(POLLED, None, now).unwrap();
    slot.done(subscribe, SubOutcome::Answered, now);
    assert!(slot.wake_at(None).unwrap() <= now + DEFAULT_KEEP);
    let subscribe = slot.next(E1, None, now).unwrap();
    slot.done(subscribe, SubOutcome::Answered, now);
    assert!(slot.wake_at(None).unwrap() >= now + Duration::from_secs(48));
}

#[test]
fn a_refresh_is_served_by_a_call_sent_after_it() {
    let (mut slot, now) = (slot(), Instant::now());
    let first = slot.next(E1, None, now).unwrap();
    let ticket = slot.refresh();
    slot.done(first, SubOutcome::Answered, now);
    assert!(slot.refreshed(ticket).is_none());
    let query = slot.next(E1, None, now).unwrap();
    slot.done(query, SubOutcome::Answered, now);
    assert!(slot.refreshed(ticket).is_some_and(|r| r.is_ok()));
}

#[test]
fn cg46_what_was_denied_is_asked_again_at_once_after_a_login_and_what_was_refused_is_not() {
    let said = || ServerRefusal { code: 403, message: String::new() };
    for (trouble, again) in [(Trouble::Denied(said()), true), (Trouble::Refused(said()), false)] {
        let (mut slot, now) = (slot(), Instant::now());
        let subscribe = slot.next(E1, None, now).unwrap();
        assert!(slot.done(subscribe, SubOutcome::Final(trouble), now));
        assert_eq!(slot.next(E1, None, now), None);
        slot.logged_in(now);
        assert_eq!(call(slot.next(E1, None, now)), again.then_some(SubCall::Subscribe));
    }
}
