use proptest::prelude::*;

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A machine with its clock.
struct Bench {
    machine: Machine,
    now: Duration,
}

impl Bench {
    fn new(servers: usize) -> Self {
        Self { machine: Machine::new(servers, fastrand::Rng::with_seed(7)), now: Duration::ZERO }
    }

    fn feed(&mut self, input: Input) -> Vec<Action> {
        self.machine.step(self.now, input)
    }

    /// Goes to the next wake-up; returns how long that was and what came of it.
    fn wake(&mut self) -> (Duration, Vec<Action>) {
        let at = self.machine.wake_at().expect("something to wait for");
        let waited = at.saturating_sub(self.now);
        self.now = self.now.max(at);
        (waited, self.feed(Input::Elapsed))
    }

    fn start(&mut self) -> (Epoch, usize) {
        dial(&self.feed(Input::Start), None)
    }

    /// Starts and brings the first connection up.
    fn live(&mut self) -> (Epoch, usize) {
        let (epoch, server) = self.start();
        assert_eq!(self.feed(Input::Up(epoch)), []);
        (epoch, server)
    }
}

fn dial(actions: &[Action], replaced: Option<Epoch>) -> (Epoch, usize) {
    match actions {
        [Action::Dial { epoch, server, replaces }] => {
            assert_eq!(*replaces, replaced);
            (*epoch, *server)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn starts_once_and_at_once() {
    let mut bench = Bench::new(3);
    bench.start();
    assert_eq!(bench.feed(Input::Start), []);
    assert_eq!(bench.machine.wake_at(), None);
}

#[test]
fn the_first_server_is_random_and_repeatable() {
    let first = |seed| match Machine::new(5, fastrand::Rng::with_seed(seed)).step(ms(0), Input::Start)[..] {
        [Action::Dial { server, .. }] => server,
        ref other => panic!("{other:?}"),
    };
    let seen: std::collections::BTreeSet<usize> = (0..50).map(first).collect();
    assert_eq!(seen.len(), 5);
    assert_eq!(first(9), first(9));
}

#[test]
fn failures_wait_longer_and_longer_and_go_round_the_servers() {
    let mut bench = Bench::new(3);
    let (mut epoch, mut server) = bench.start();
    let mut servers = vec![server];
    let mut waits = Vec::new();
    for _ in 0..9 {
        assert_eq!(bench.feed(Input::Down(epoch)), []);
        let (waited, actions) = bench.wake();
        (epoch, server) = dial(&actions, None);
        servers.push(server);
        waits.push(waited);
    }
    assert!(waits[0] <= ms(100));
    for (n, wait) in waits.iter().enumerate().skip(1) {
        let whole = ms(100 << (n - 1)).min(ms(5_000));
        assert!(*wait >= whole / 2 && *wait <= (whole * 3 / 2).min(ms(5_000)), "{n}: {wait:?}");
    }
    for round in servers.windows(3) {
        let distinct: std::collections::BTreeSet<_> = round.iter().collect();
        assert_eq!(distinct.len(), 3, "{servers:?}");
    }
}

#[test]
fn a_lost_connection_is_replaced_within_100_ms_by_another_server() {
    let mut bench = Bench::new(2);
    let (epoch, server) = bench.live();
    bench.now = ms(60_000);
    assert_eq!(bench.feed(Input::Down(epoch)), []);
    let (waited, actions) = bench.wake();
    let (next, other) = dial(&actions, None);
    assert!(waited <= ms(100));
    assert!(next > epoch);
    assert_ne!(other, server);
}

#[test]
fn a_server_that_drops_each_connection_at_once_is_not_hammered() {
    let mut bench = Bench::new(1);
    let (mut epoch, _) = bench.start();
    let mut waits = Vec::new();
    for _ in 0..8 {
        bench.feed(Input::Up(epoch));
        bench.feed(Input::Down(epoch));
        let (waited, actions) = bench.wake();
        (epoch, _) = dial(&actions, None);
        waits.push(waited);
    }
    assert!(waits[7] >= ms(2_500), "{waits:?}");
    // Once a connection holds, the count starts afresh.
    bench.feed(Input::Up(epoch));
    bench.now += ms(5_000);
    bench.feed(Input::Down(epoch));
    assert!(bench.wake().0 <= ms(100));
}

#[test]
fn cg5_where_nobody_listens_the_next_attempt_comes_within_a_second() {
    let mut bench = Bench::new(1);
    let (mut epoch, _) = bench.start();
    for _ in 0..20 {
        bench.feed(Input::Refused(epoch));
        let (waited, actions) = bench.wake();
        (epoch, _) = dial(&actions, None);
        assert!(waited <= ms(1_000), "{waited:?}");
    }
    // A server that listens and fails is still given time.
    bench.feed(Input::Down(epoch));
    assert!(bench.wake().0 >= ms(2_500));
}

#[test]
fn an_early_wake_up_does_nothing() {
    let mut bench = Bench::new(1);
    let (epoch, _) = bench.start();
    bench.feed(Input::Down(epoch));
    let at = bench.machine.wake_at().unwrap();
    bench.now = at.saturating_sub(ms(1));
    assert_eq!(bench.feed(Input::Elapsed), []);
    assert_eq!(bench.machine.wake_at(), Some(at));
}

#[test]
fn g11_a_reset_makes_the_new_connection_before_the_old_one_goes() {
    let mut bench = Bench::new(3);
    let (old, server) = bench.live();
    let target = (server + 2) % 3;
    assert_eq!(bench.feed(Input::ResetAsked(old, Some(target))), []);
    let (waited, actions) = bench.wake();
    assert!(waited <= ms(100));
    let (new, dialed) = dial(&actions, Some(old));
    assert_eq!(dialed, target);
    assert_eq!(bench.feed(Input::Up(new)), [], "the old one serves until the handover is dropped");
    let (waited, actions) = bench.wake();
    assert_eq!((waited, actions), (HANDOVER_LIMIT, vec![Action::Retire(old)]));
    assert_eq!(bench.feed(Input::Down(old)), []);
    assert_eq!(bench.machine.wake_at(), None, "the new one is live");
}

#[test]
fn a_dropped_handover_needs_no_limit() {
    let mut bench = Bench::new(2);
    let (old, _) = bench.live();
    bench.feed(Input::ResetAsked(old, None));
    let (new, _) = dial(&bench.wake().1, Some(old));
    bench.feed(Input::Up(new));
    bench.feed(Input::Down(old));
    assert_eq!(bench.machine.wake_at(), None);
    bench.feed(Input::Down(new));
    dial(&bench.wake().1, None);
}

#[test]
fn a_reset_without_target_goes_to_another_server_and_with_one_server_to_the_same() {
    let mut bench = Bench::new(2);
    let (old, server) = bench.live();
    bench.feed(Input::ResetAsked(old, None));
    assert_ne!(dial(&bench.wake().1, Some(old)).1, server);

    let mut bench = Bench::new(1);
    let (old, server) = bench.live();
    bench.feed(Input::ResetAsked(old, None));
    assert_eq!(dial(&bench.wake().1, Some(old)).1, server);
}

#[test]
fn an_advised_server_is_tried_once() {
    let mut bench = Bench::new(3);
    let (old, server) = bench.live();
    let target = (server + 1) % 3;
    bench.feed(Input::ResetAsked(old, Some(target)));
    let (attempt, dialed) = dial(&bench.wake().1, Some(old));
    assert_eq!(dialed, target);
    bench.feed(Input::Down(attempt));
    let (waited, actions) = bench.wake();
    assert!(waited > Duration::ZERO);
    let (_, next) = dial(&actions, Some(old));
    assert_eq!(next, (server + 2) % 3, "the third one: neither the failed nor the one to leave");
}

#[test]
fn resets_never_make_a_loop_without_pause() {
    let mut bench = Bench::new(2);
    let (mut epoch, _) = bench.live();
    let mut waits = Vec::new();
    for _ in 0..7 {
        bench.feed(Input::ResetAsked(epoch, None));
        assert_eq!(bench.feed(Input::ResetAsked(epoch, None)), [], "one request to move is enough");
        let (waited, actions) = bench.wake();
        waits.push(waited);
        let (next, _) = dial(&actions, Some(epoch));
        bench.feed(Input::Up(next));
        bench.feed(Input::Down(epoch));
        epoch = next;
    }
    assert!(waits[6] >= ms(1_600), "{waits:?}");
}

#[test]
fn a_second_move_ends_what_the_first_one_left_over() {
    let mut bench = Bench::new(2);
    let (first, _) = bench.live();
    bench.feed(Input::ResetAsked(first, None));
    let (second, _) = dial(&bench.wake().1, Some(first));
    bench.feed(Input::Up(second));
    bench.feed(Input::ResetAsked(second, None));
    let (third, _) = dial(&bench.wake().1, Some(second));
    assert_eq!(bench.feed(Input::Up(third)), [Action::Retire(first)]);
}

#[test]
fn losing_the_old_connection_while_moving_is_an_ordinary_outage() {
    // While the attempt runs it becomes the attempt of an outage.
    let mut bench = Bench::new(2);
    let (old, _) = bench.live();
    bench.feed(Input::ResetAsked(old, None));
    let (new, _) = dial(&bench.wake().1, Some(old));
    assert_eq!(bench.feed(Input::Down(old)), []);
    assert_eq!(bench.feed(Input::Up(new)), []);
    assert_eq!(bench.machine.wake_at(), None, "nothing retires");

    // Before it runs the wait goes on, not longer than begun.
    let mut bench = Bench::new(2);
    let (old, _) = bench.live();
    bench.feed(Input::ResetAsked(old, None));
    let begun = bench.machine.wake_at().unwrap();
    bench.feed(Input::Down(old));
    assert!(bench.machine.wake_at().unwrap() <= begun);
    dial(&bench.wake().1, None);
}

#[test]
fn news_of_past_connections_change_nothing() {
    let mut bench = Bench::new(2);
    let (first, _) = bench.live();
    bench.feed(Input::Down(first));
    let (second, _) = dial(&bench.wake().1, None);
    for late in [Input::Up(first), Input::Down(first), Input::ResetAsked(first, None), Input::Elapsed] {
        assert_eq!(bench.feed(late), []);
        assert_eq!(bench.machine.wake_at(), None, "{late:?}");
    }
    assert_eq!(bench.feed(Input::Up(second)), []);
    assert_eq!(bench.feed(Input::ResetAsked(first, None)), []);
    assert_eq!(bench.machine.wake_at(), None);
}

#[test]
fn a_closed_machine_stays_closed() {
    let mut bench = Bench::new(2);
    let (epoch, _) = bench.live();
    bench.feed(Input::ResetAsked(epoch, None));
    assert_eq!(bench.feed(Input::Close), [Action::CloseAll]);
    for input in [Input::Start, Input::Up(epoch), Input::Down(epoch), Input::Elapsed, Input::Close] {
        assert_eq!(bench.feed(input), []);
        assert_eq!(bench.machine.wake_at(), None);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Up,
    DownNewest,
    DownOldest,
    Reset(Option<usize>),
    Wake,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Up),
        2 => Just(Step::DownNewest),
        1 => Just(Step::DownOldest),
        2 => proptest::option::of(0usize..3).prop_map(Step::Reset),
        4 => Just(Step::Wake),
        1 => (0u64..20_000).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 0..80)
}

proptest! {
    /// Whatever happens: epochs grow, dials are spaced, at most two connections serve and one more is dialed, and without news it always either lives, dials or waits.
    #[test]
    fn invariants_hold_under_any_history(steps in steps(), seed: u64) {
        let mut machine = Machine::new(3, fastrand::Rng::with_seed(seed));
        let mut now = Duration::ZERO;
        let mut alive: Vec<Epoch> = Vec::new();
        let mut up: Vec<Epoch> = Vec::new();
        let mut newest = Epoch(0);
        let mut last_dial: Option<Duration> = None;
        let mut inputs = vec![Input::Start];
        let mut steps = steps.into_iter();
        loop {
            for input in inputs.drain(..) {
                if let Input::Down(epoch) = input {
                    alive.retain(|e| *e != epoch);
                    up.retain(|e| *e != epoch);
                }
                for action in machine.step(now, input) {
                    match action {
                        Action::Dial { epoch, server, replaces } => {
                            prop_assert!(epoch > newest && server < 3);
                            prop_assert!(replaces.is_none_or(|old| up.contains(&old)));
                            if let Some(last) = last_dial {
                                prop_assert!(now > last, "dials without a pause");
                            }
                            last_dial = Some(now);
                            newest = epoch;
                            alive.push(epoch);
                        }
                        Action::Retire(epoch) => {
                            alive.retain(|e| *e != epoch);
                            up.retain(|e| *e != epoch);
                        }
                        Action::CloseAll => prop_assert!(false),
                    }
                }
                prop_assert!(alive.len() <= 3, "{:?}", alive);
                prop_assert!(machine.wake_at().is_some() || !alive.is_empty(), "stuck");
            }
            let Some(step) = steps.next() else { break };
            match step {
                Step::Up => inputs.extend(alive.last().filter(|e| !up.contains(e)).copied().map(|e| { up.push(e); Input::Up(e) })),
                Step::DownNewest => inputs.extend(alive.last().copied().map(Input::Down)),
                Step::DownOldest => inputs.extend(alive.first().copied().map(Input::Down)),
                Step::Reset(target) => inputs.extend(up.last().copied().map(|e| Input::ResetAsked(e, target))),
                Step::Wake => inputs.extend(machine.wake_at().map(|at| { now = now.max(at); Input::Elapsed })),
                Step::Pass(millis) => now += ms(millis),
            }
        }
    }
}
