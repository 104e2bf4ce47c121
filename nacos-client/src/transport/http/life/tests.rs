use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    life: Life,
    now: Instant,
}

impl Bench {
    /// Serving since now.
    fn serving() -> Self {
        let mut bench = Self { life: Life::new(5 * SECOND, fastrand::Rng::with_seed(1)), now: Instant::now() };
        assert_eq!(bench.step(Input::Start), Some(Action::Seek));
        assert_eq!(bench.step(Input::Found), Some(Action::Begin(Epoch(1))));
        bench
    }

    fn step(&mut self, input: Input) -> Option<Action> {
        self.life.step(self.now, input)
    }

    /// Lets time pass until the machine wants to go on.
    fn wake(&mut self) -> Option<Action> {
        self.now = self.life.wake_at().expect("it waits for something");
        self.step(Input::Elapsed)
    }
}

#[test]
fn a_silent_epoch_asks_whether_a_server_serves() {
    let mut b = Bench::serving();
    assert_eq!(b.life.wake_at(), Some(b.now + 5 * SECOND));
    let heard = b.now + 3 * SECOND;
    b.step(Input::Told(Heard { last: Some(heard), failing: None }));
    assert_eq!(b.life.wake_at(), Some(heard + 5 * SECOND));
    assert_eq!(b.wake(), Some(Action::Seek));
    assert_eq!((b.life.wake_at(), b.step(Input::Elapsed)), (None, None), "one question at a time");
    assert_eq!(b.step(Input::Found), None);
    assert_eq!(b.life.wake_at(), Some(b.now + 5 * SECOND));
}

#[test]
fn an_epoch_survives_a_hiccup_and_ends_when_nobody_answers_for_two_seconds() {
    let mut b = Bench::serving();
    b.now += SECOND;
    b.step(Input::Told(Heard { last: None, failing: Some(b.now) }));
    assert_eq!(b.wake(), Some(Action::Seek), "at once");
    assert_eq!(b.step(Input::NotFound { refused: false }), None);
    assert_eq!(b.wake(), Some(Action::Seek));
    assert_eq!(b.step(Input::Found), None, "it was a hiccup");
    assert_eq!(b.life.activity(), Activity::Serving);

    let failing = b.now;
    b.step(Input::Told(Heard { last: None, failing: Some(failing) }));
    let mut looks = 0;
    let end = loop {
        assert_eq!(b.wake(), Some(Action::Seek));
        looks += 1;
        if let Some(end) = b.step(Input::NotFound { refused: false }) {
            break end;
        }
    };
    assert_eq!((end, looks, b.now - failing), (Action::End(Epoch(1)), 5, 2 * SECOND));
    assert_eq!(b.life.activity(), Activity::Waiting);
    assert_eq!(b.wake(), Some(Action::Seek));
    assert_eq!(b.step(Input::Found), Some(Action::Begin(Epoch(2))));
}

#[test]
fn where_nobody_listens_any_longer_the_epoch_ends_at_once() {
    let mut b = Bench::serving();
    b.now += SECOND;
    let failing = b.now;
    b.step(Input::Told(Heard { last: None, failing: Some(failing) }));
    assert_eq!(b.wake(), Some(Action::Seek));
    assert_eq!(b.step(Input::NotFound { refused: true }), Some(Action::End(Epoch(1))));
    assert_eq!((b.now, b.life.activity()), (failing, Activity::Waiting));
    assert_eq!(b.wake(), Some(Action::Seek));
    assert_eq!(b.step(Input::Found), Some(Action::Begin(Epoch(2))), "it may know nobody any longer");
}

#[test]
fn failures_before_the_epoch_do_not_count_against_it() {
    let mut b = Bench::serving();
    b.step(Input::Told(Heard { last: None, failing: Some(b.now - SECOND) }));
    assert_eq!(b.life.wake_at(), Some(b.now + 5 * SECOND));
}

#[test]
fn seeking_goes_on_for_ever_with_pauses() {
    let mut life = Life::new(5 * SECOND, fastrand::Rng::with_seed(1));
    let mut now = Instant::now();
    assert_eq!(life.step(now, Input::Start), Some(Action::Seek));
    for failures in 1..=100 {
        assert_eq!(life.step(now, Input::NotFound { refused: failures % 2 == 0 }), None);
        assert_eq!((life.failures(), life.activity()), (failures, Activity::Waiting));
        let wake = life.wake_at().unwrap();
        assert!(wake >= now && wake <= now + 5 * SECOND);
        assert_eq!(life.step(wake - Duration::from_nanos(1), Input::Elapsed).is_some(), wake <= now);
        now = wake;
        if life.activity() == Activity::Waiting {
            assert_eq!(life.step(now, Input::Elapsed), Some(Action::Seek));
        }
    }
    assert_eq!(life.step(now, Input::Close), None);
    assert_eq!((life.activity(), life.step(now, Input::Found)), (Activity::Closed, None));
}
