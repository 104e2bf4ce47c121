//! Which protocol serves, input by input.

use proptest::prelude::*;

use super::*;
use Side::{Grpc, Http};

fn machine(servers: usize) -> Machine {
    Machine::new(servers, fastrand::Rng::with_seed(1))
}

fn started(servers: usize, now: Instant) -> Machine {
    let mut machine = machine(servers);
    assert_eq!(machine.step(now, Input::Start), [Action::Open(Grpc)]);
    machine
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_server_with_grpc_is_never_asked_over_http() {
    let now = Instant::now();
    let mut m = started(1, now);
    assert_eq!(m.step(now + 100 * MS, Input::Up(Grpc)), [Action::Serve(Grpc)]);
    assert_eq!((m.wake_at(), m.serving()), (None, Some(Grpc)));
}

#[test]
fn where_nobody_listens_for_grpc_http_serves_as_soon_as_it_answers() {
    let now = Instant::now();
    let mut m = started(3, now);
    assert_eq!(m.step(now, Input::GrpcFailed(1)), [Action::Open(Http)]);
    assert_eq!(m.step(now, Input::Up(Http)), []);
    assert_eq!(m.step(now, Input::GrpcFailed(2)), [], "the third server may have it");
    assert_eq!(m.step(now, Input::GrpcFailed(3)), [Action::Serve(Http), Action::Close(Grpc)]);
    assert_eq!(m.serving(), Some(Http));
}

#[test]
fn a_silent_grpc_port_costs_the_limit() {
    let now = Instant::now();
    let mut m = started(1, now);
    assert_eq!(m.step(now + HEAD_START, Input::Elapsed), [Action::Open(Http)]);
    assert_eq!(m.step(now + HEAD_START, Input::Up(Http)), []);
    assert_eq!(m.wake_at(), Some(now + LIMIT));
    assert_eq!(m.step(now + LIMIT, Input::Elapsed), [Action::Serve(Http), Action::Close(Grpc)]);
    assert!(LIMIT < Duration::from_secs(3));
}

#[test]
fn while_nothing_answers_both_are_tried_and_grpc_is_preferred_once_something_does() {
    let now = Instant::now();
    let late = now + 100 * LIMIT;
    let mut m = started(1, now);
    assert_eq!(m.step(now, Input::GrpcFailed(1)), [Action::Open(Http)]);
    assert_eq!(m.step(late, Input::Elapsed), []);
    assert_eq!(m.step(late, Input::GrpcFailed(90)), []);
    assert_eq!(m.wake_at(), None, "nothing to do before one answers");
    let mut other = m.clone();
    assert_eq!(other.step(late, Input::Up(Grpc)), [Action::Serve(Grpc), Action::Close(Http)]);
    assert_eq!(m.step(late, Input::Up(Http)), [], "gRPC was refused by a server that was down");
    assert_eq!(m.step(late, Input::GrpcFailed(90)), []);
    let mut silent = m.clone();
    assert_eq!(silent.step(late + LIMIT, Input::Elapsed), [Action::Serve(Http), Action::Close(Grpc)]);
    assert_eq!(m.step(late + MS, Input::GrpcFailed(91)), [Action::Serve(Http), Action::Close(Grpc)]);
}

#[test]
fn a_restarting_server_that_had_grpc_gets_the_whole_limit() {
    let now = Instant::now();
    let mut m = started(1, now);
    m.step(now, Input::Up(Grpc));
    assert_eq!(m.step(now, Input::Down(Grpc)), []);
    assert_eq!(m.step(now, Input::GrpcFailed(5)), []);
    assert_eq!(m.step(now + HEAD_START, Input::Elapsed), [Action::Open(Http)]);
    assert_eq!(m.step(now + 500 * MS, Input::Up(Http)), []);
    let mut other = m.clone();
    assert_eq!(m.step(now + 600 * MS, Input::Up(Grpc)), [Action::Serve(Grpc), Action::Close(Http)]);
    assert_eq!(other.step(now + LIMIT, Input::Elapsed), [Action::Serve(Http), Action::Close(Grpc)]);
}

fn over_http(now: Instant) -> Machine {
    let mut m = started(1, now);
    m.step(now, Input::GrpcFailed(1));
    m.step(now, Input::Up(Http));
    assert_eq!(m.serving(), Some(Http));
    m
}

/// Whether `time` is `wanted`, ± 20 %.
fn is_about(time: Duration, wanted: Duration) -> bool {
    time >= wanted.mul_f64(0.8) && time <= wanted.mul_f64(1.2)
}

#[test]
fn over_http_grpc_is_looked_for_soon_and_then_once_a_minute() {
    let chosen = Instant::now();
    let mut now = chosen;
    let mut m = over_http(now);
    for look in 0..50 {
        let at = m.wake_at().unwrap();
        match FIRST_LOOKS.get(look) {
            Some(after) => assert!(is_about(at - chosen, *after), "look {look}: {:?}", at - chosen),
            None => assert!(is_about(at - now, LOOK), "look {look}: {:?}", at - now),
        }
        now = at;
        assert_eq!(m.step(now, Input::Elapsed), [Action::Open(Grpc)]);
        assert_eq!(m.serving(), Some(Http));
        assert_eq!(m.step(now, Input::GrpcFailed(1)), [Action::Close(Grpc)]);
    }
    now = m.wake_at().unwrap();
    m.step(now, Input::Elapsed);
    assert_eq!(m.step(now + LIMIT, Input::Elapsed), [Action::Close(Grpc)], "silence is no gRPC either");
}

#[test]
fn looks_that_take_long_and_a_new_choice_of_http_keep_the_times() {
    let chosen = Instant::now();
    let mut m = over_http(chosen);
    for after in FIRST_LOOKS {
        let at = m.wake_at().unwrap();
        assert!(is_about(at - chosen, after), "{:?}", at - chosen);
        m.step(at, Input::Elapsed);
        assert_eq!(m.step(at + LIMIT, Input::Elapsed), [Action::Close(Grpc)]);
        assert!(m.wake_at().unwrap() >= at + LIMIT);
    }
    // The server is replaced by one that answers over HTTP first.
    let again = m.wake_at().unwrap();
    m.step(again, Input::Down(Http));
    m.step(again, Input::GrpcFailed(1));
    assert_eq!(m.step(again, Input::Up(Http)), [Action::Serve(Http), Action::Close(Grpc)]);
    assert!(is_about(m.wake_at().unwrap() - again, FIRST_LOOKS[0]));
}

#[test]
fn a_client_moves_to_grpc_before_it_leaves_http() {
    let now = Instant::now();
    for end in [Input::Released, Input::Elapsed, Input::Down(Http)] {
        let mut m = over_http(now);
        let at = m.wake_at().unwrap();
        m.step(at, Input::Elapsed);
        assert_eq!(m.step(at, Input::Up(Grpc)), [Action::Move]);
        assert_eq!(m.step(at, Input::Elapsed), []);
        assert_eq!(m.step(at + HANDOVER, end), [Action::Close(Http)]);
        assert_eq!((m.serving(), m.wake_at()), (Some(Grpc), None));
    }
}

#[test]
fn if_grpc_breaks_while_everything_moves_http_serves_again_at_once() {
    let now = Instant::now();
    let mut m = over_http(now);
    let at = m.wake_at().unwrap();
    m.step(at, Input::Elapsed);
    m.step(at, Input::Up(Grpc));
    assert_eq!(m.step(at, Input::Down(Grpc)), [Action::Abandon(Http), Action::Open(Http)]);
    assert_eq!(m.step(at, Input::Up(Http)), [Action::Serve(Http), Action::Close(Grpc)]);
}

#[test]
fn after_the_loss_of_http_both_are_tried() {
    let now = Instant::now();
    let mut m = over_http(now);
    assert_eq!(m.step(now, Input::Down(Http)), [Action::Open(Grpc)]);
    assert_eq!(m.step(now, Input::Up(Http)), [], "gRPC has not had its turn");
    assert_eq!(m.step(now, Input::Up(Grpc)), [Action::Serve(Grpc), Action::Close(Http)]);
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        Just(Input::Up(Grpc)),
        Just(Input::Up(Http)),
        Just(Input::Down(Grpc)),
        Just(Input::Down(Http)),
        (0..4u32).prop_map(Input::GrpcFailed),
        Just(Input::Released),
        Just(Input::Elapsed),
        Just(Input::Elapsed),
    ]
}

proptest! {
    /// Whatever happens: only what is open is closed or serves, and if nothing serves both are being tried, or HTTP is
    /// about to be. Inputs that cannot happen (of a side that is not open, up or down) are left out.
    #[test]
    fn nobody_is_left_without_a_way(inputs in proptest::collection::vec((input(), 0..40_000u64), 0..200)) {
        let mut now = Instant::now();
        let mut m = machine(2);
        let (mut open, mut up) = ([false; 2], [false; 2]);
        let at = |side: Side| usize::from(side == Http);
        let mut actions = m.step(now, Input::Start);
        let mut inputs = inputs.into_iter();
        loop {
            for action in actions {
                match action {
                    Action::Open(side) => {
                        prop_assert!(!open[at(side)], "{side:?} opened twice");
                        (open[at(side)], up[at(side)]) = (true, false);
                    }
                    Action::Close(side) | Action::Abandon(side) => {
                        prop_assert!(open[at(side)], "{side:?} is not open");
                        (open[at(side)], up[at(side)]) = (false, false);
                    }
                    Action::Serve(side) => prop_assert!(up[at(side)]),
                    Action::Move => prop_assert!(up == [true, true]),
                }
            }
            match m.serving() {
                Some(side) => prop_assert!(up[at(side)], "{:?}", m.state),
                None => prop_assert!(open[0] && (open[1] || m.wake_at().is_some()), "{:?}", m.state),
            }
            let Some((input, later)) = inputs.next() else { break };
            now += later as u32 * MS;
            let possible = match input {
                Input::Up(side) => open[at(side)] && !up[at(side)],
                Input::Down(side) => up[at(side)],
                Input::GrpcFailed(_) => open[0] && !up[0],
                _ => true,
            };
            if !possible {
                actions = Vec::new();
                continue;
            }
            if let Input::Up(side) | Input::Down(side) = input {
                up[at(side)] = matches!(input, Input::Up(_));
            }
            actions = m.step(now, input);
        }
    }
}
