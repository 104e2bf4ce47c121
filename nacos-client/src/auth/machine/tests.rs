use super::*;

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn machine(rotates: bool) -> Machine {
    Machine::new(rotates, fastrand::Rng::with_seed(7))
}

/// A machine that holds token number 1 since `now`.
fn holding(now: Instant, life: Option<Duration>) -> Machine {
    let mut machine = machine(false);
    assert_eq!(machine.step(now, Input::Start), Some(LogIn { anyway: true }));
    machine.step(now, Input::Granted(life));
    machine
}

/// Logs in when the machine wants it next, and says how long that took.
fn next_login(machine: &mut Machine, now: &mut Instant) -> Duration {
    let at = machine.wake_at().expect("something is planned");
    assert_eq!(machine.step(at - MS, Input::Elapsed), None, "not before its time");
    assert!(machine.step(at, Input::Elapsed).is_some());
    let wait = at - *now;
    *now = at;
    wait
}

#[test]
fn a01_a_token_is_replaced_before_four_fifths_of_whatever_life_it_has() {
    for seconds in [1, 10, 18_000] {
        let life = seconds * S;
        for seed in 0..100 {
            let mut machine = Machine::new(false, fastrand::Rng::with_seed(seed));
            let mut now = Instant::now();
            machine.step(now, Input::Start);
            machine.step(now, Input::Granted(Some(life)));
            let wait = next_login(&mut machine, &mut now);
            assert!(wait <= life * 4 / 5 && wait >= life * 7 / 10 - MS, "{wait:?} of {life:?}");
        }
    }
    for useless in [None, Some(Duration::ZERO)] {
        let mut now = Instant::now();
        let wait = next_login(&mut holding(now, useless), &mut now);
        assert!(wait <= UNKNOWN_LIFE * 4 / 5 && wait > S, "{wait:?}");
    }
    let mut now = Instant::now();
    let wait = next_login(&mut holding(now, Some(Duration::from_secs(u64::MAX))), &mut now);
    assert!(wait <= LONGEST_LIFE, "no sum of times overflows");
}

#[test]
fn a_failed_refresh_is_repeated_after_1_2_4_to_30_seconds() {
    let mut now = Instant::now();
    let mut machine = holding(now, Some(100 * S));
    next_login(&mut machine, &mut now);
    let mut waits = Vec::new();
    for _ in 0..7 {
        machine.step(now, Input::Failed);
        waits.push(next_login(&mut machine, &mut now).as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
    assert_eq!(machine.version(), 1, "the old token stays");
    machine.step(now, Input::Granted(None));
    assert_eq!((machine.version(), machine.failures()), (2, 0));
}

#[test]
fn cg5_without_any_token_servers_that_are_away_are_asked_again_within_a_second() {
    let mut now = Instant::now();
    let mut machine = machine(false);
    machine.step(now, Input::Start);
    let mut waits = Vec::new();
    for _ in 0..5 {
        machine.step(now, Input::Failed);
        waits.push(next_login(&mut machine, &mut now).as_millis());
    }
    assert_eq!(waits, [200, 400, 800, 1000, 1000]);
}

#[test]
fn refused_credentials_are_tried_again_after_1_2_4_to_30_seconds() {
    let mut now = Instant::now();
    let mut machine = machine(false);
    machine.step(now, Input::Start);
    let mut waits = Vec::new();
    for _ in 0..7 {
        machine.step(now, Input::Refused);
        waits.push(next_login(&mut machine, &mut now).as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
}

#[test]
fn cg46_other_credentials_are_asked_for_every_second_and_refused_ones_seldom_repeated() {
    let begin = Instant::now();
    let mut now = begin;
    let mut machine = machine(true);
    let mut login = machine.step(now, Input::Start);
    let mut tried = Vec::new();
    while now < begin + 40 * S {
        let input = if login.expect("a login").anyway {
            tried.push((now - begin).as_secs());
            Input::Refused
        } else {
            Input::Unchanged
        };
        machine.step(now, input);
        let at = machine.wake_at().expect("another one is planned");
        assert!(at - now <= S);
        now = at;
        login = machine.step(now, Input::Elapsed);
    }
    assert_eq!(tried, [0, 1, 3, 7, 15, 31]);
}

#[test]
fn cg45_however_many_are_denied_there_is_one_login() {
    let begin = Instant::now();
    let mut machine = holding(begin, Some(1000 * S));
    let now = begin + 10 * S;
    for _ in 0..1000 {
        assert_eq!(machine.rejected(now, 1), Outlook::Soon);
    }
    assert_eq!(machine.wake_at(), Some(now), "at once");
    assert!(machine.step(now, Input::Elapsed).is_some());
    assert_eq!(machine.rejected(now, 1), Outlook::Soon);
    assert_eq!(machine.step(now, Input::Elapsed), None, "one is under way");
    machine.step(now, Input::Granted(Some(1000 * S)));
    assert_eq!(machine.rejected(now, 1), Outlook::Soon, "there is a newer one already");
    assert!(machine.wake_at().expect("the refresh") > now + 100 * S);
}

#[test]
fn two_logins_for_denied_calls_are_a_second_apart() {
    let begin = Instant::now();
    let mut machine = holding(begin, Some(1000 * S));
    assert_eq!(machine.rejected(begin + 300 * MS, 1), Outlook::Soon);
    assert_eq!(machine.wake_at(), Some(begin + S));
}

#[test]
fn logins_that_help_nobody_get_rarer_until_one_helps() {
    let mut now = Instant::now();
    let mut machine = holding(now, Some(100_000 * S));
    let begin = now;
    let mut logins = 0;
    // A call that is never allowed, every 100 ms for five minutes.
    while now < begin + 300 * S {
        now += 100 * MS;
        let version = machine.version();
        if machine.rejected(now, version) == Outlook::Soon {
            now = now.max(machine.wake_at().expect("a login is due"));
            assert!(machine.step(now, Input::Elapsed).is_some());
            machine.step(now, Input::Granted(Some(100_000 * S)));
            machine.made_again(machine.version(), true);
            logins += 1;
        }
    }
    assert!((36..=44).contains(&logins), "{logins}");
    machine.made_again(machine.version(), false);
    assert_eq!(machine.rejected(now + S, machine.version()), Outlook::Soon, "the next one is due after a second again");
}

#[test]
fn a_token_that_is_rejected_while_its_refresh_fails_brings_the_next_try_forward() {
    let mut now = Instant::now();
    let mut machine = holding(now, Some(100 * S));
    next_login(&mut machine, &mut now);
    for _ in 0..4 {
        machine.step(now, Input::Failed);
        next_login(&mut machine, &mut now);
    }
    machine.step(now, Input::Failed);
    assert_eq!(machine.wake_at(), Some(now + 16 * S));
    assert_eq!(machine.rejected(now + 5 * S, 1), Outlook::Soon);
    assert_eq!(machine.wake_at(), Some(now + 5 * S));
}
