use super::*;
use crate::naming::mock::{adding_session, session};
use crate::naming::wishes::RegistrationStatus;
use crate::transport::{LinkFault, Refusal, RefusalShape};

fn key() -> ServiceKey {
    ServiceKey::new("g", "s")
}

fn instance(port: u16, weight: f64) -> Arc<Instance> {
    Arc::new(Instance::new(("h", port)).weight(weight))
}

fn link(epoch: u64) -> Link {
    let mut link = Link::none();
    link.connected(session(epoch), None, Instant::now());
    link
}

fn refused(code: i32) -> Result<Reply, CallError> {
    Err(CallError::Refused(Refusal { code, message: String::new(), shape: RefusalShape::Typed }))
}

fn lost() -> Result<Reply, CallError> {
    Err(CallError::Link(LinkFault::Closed.at(&Arc::from("mock:1"))))
}

/// What a call says, in short.
fn text(next: &Option<(Flight, Call)>) -> String {
    let of = |i: &Arc<Instance>| format!("{}x{}", i.port, i.weight);
    match next.as_ref().map(|(_, call)| call) {
        None => "nothing".to_owned(),
        Some(Call::Register { instance, .. }) => format!("register {}", of(instance)),
        Some(Call::RegisterBatch { instances, .. }) => {
            format!("batch {}", instances.iter().map(of).collect::<Vec<_>>().join(" "))
        }
        Some(Call::Deregister { .. }) => "deregister".to_owned(),
        Some(other) => format!("{other:?}"),
    }
}

struct Bench {
    redo: Redo,
    link: Link,
    now: Instant,
    flight: Option<Flight>,
}

impl Bench {
    fn new() -> Self {
        Self { redo: Redo::default(), link: link(1), now: Instant::now(), flight: None }
    }

    fn want(&mut self, port: u16, weight: f64) {
        self.redo.wishes.set(instance(port, weight), 1);
    }

    fn unwant(&mut self, port: u16) {
        assert!(self.redo.wishes.remove(&instance(port, 1.0).key(), None).is_some());
    }

    fn next(&mut self) -> String {
        let next = self.redo.next(&key(), &self.link, self.now);
        let text = text(&next);
        if let Some((flight, _)) = next {
            self.flight = Some(flight);
        }
        text
    }

    fn done(&mut self, answer: Result<Reply, CallError>) {
        let flight = self.flight.take().expect("a call is under way");
        assert!(self.redo.done(&flight, answer, self.now));
    }
}

#[test]
fn one_call_at_a_time_each_with_the_full_set_of_that_moment() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    assert_eq!(b.next(), "register 1x1");
    b.want(2, 1.0);
    b.want(3, 1.0);
    assert_eq!(b.next(), "nothing", "one is under way");
    b.done(Ok(Reply::Done));
    assert_eq!(b.next(), "batch 1x1 2x1 3x1");
    b.unwant(1);
    b.unwant(3);
    b.done(Ok(Reply::Done));
    assert_eq!(b.next(), "register 2x1");
    b.unwant(2);
    b.done(Ok(Reply::Done));
    assert_eq!(b.next(), "deregister");
    b.done(Ok(Reply::Done));
    assert_eq!(b.next(), "nothing");
    assert!(b.redo.is_empty());
}

#[test]
fn a_new_epoch_knows_nothing_so_nothing_unwanted_is_deregistered() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    b.next();
    b.done(Ok(Reply::Done));
    b.unwant(1);
    b.link = link(2);
    assert_eq!(b.next(), "nothing");
    assert!(b.redo.is_empty());
}

#[test]
fn an_answer_of_an_earlier_epoch_counts_for_nothing() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    b.next();
    let old = b.flight.take().expect("under way");
    b.link = link(2);
    assert_eq!(b.next(), "register 1x1");
    assert!(!b.redo.done(&old, Ok(Reply::Done), b.now));
    assert_eq!(b.redo.backlog(), 1);
    b.done(Ok(Reply::Done));
    assert_eq!(b.redo.backlog(), 0);
}

#[test]
fn g08_a_change_under_way_is_not_confirmed_by_the_answer_to_the_old_form() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    b.next();
    b.want(1, 5.0);
    b.done(Ok(Reply::Done));
    assert_eq!(b.redo.backlog(), 1);
    assert_eq!(b.next(), "register 1x5");
    b.done(Ok(Reply::Done));
    assert_eq!(b.redo.backlog(), 0);
}

#[test]
fn changing_back_before_it_was_sent_needs_no_call() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    b.next();
    b.done(Ok(Reply::Done));
    b.want(1, 2.0);
    b.want(1, 1.0);
    assert_eq!(b.next(), "nothing");
    assert_eq!(b.redo.backlog(), 0, "what is wanted is acknowledged");
}

#[test]
fn after_a_failed_deregistration_the_record_is_not_trusted() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    b.next();
    b.done(Ok(Reply::Done));
    b.unwant(1);
    assert_eq!(b.next(), "deregister");
    b.want(1, 1.0);
    b.done(refused(500));
    b.now = b.redo.wake_at().expect("a retry is planned");
    assert_eq!(b.next(), "register 1x1", "it may be gone or not");
}

#[test]
fn cg18_of_several_new_ones_the_refused_one_is_found() {
    let mut b = Bench::new();
    for port in 1..=3 {
        b.want(port, 1.0);
    }
    assert_eq!(b.next(), "batch 1x1 2x1 3x1");
    b.done(refused(400));
    assert_eq!(b.next(), "register 1x1");
    b.done(Ok(Reply::Done));
    assert_eq!(b.next(), "batch 1x1 2x1");
    b.done(refused(400));
    assert_eq!(b.next(), "batch 1x1 3x1");
    b.done(Ok(Reply::Done));
    assert_eq!((b.next().as_str(), b.redo.backlog()), ("nothing", 1));
    b.now += REFUSED_RETRY;
    assert_eq!(b.redo.wake_at(), Some(b.now));
    assert_eq!(b.next(), "batch 1x1 2x1 3x1");
}

#[test]
fn a_lost_connection_is_not_tried_again_before_the_next_one() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    b.next();
    b.done(lost());
    assert_eq!(b.next(), "nothing");
    b.link = link(2);
    assert_eq!(b.next(), "register 1x1");
}

#[test]
fn a_registration_of_one_instance_stays_small() {
    // Beside the instance and the key; a million of these must fit into a process.
    assert!(size_of::<Redo>() <= 328, "{}", size_of::<Redo>());
    assert!(size_of::<Wish>() <= 112, "{}", size_of::<Wish>());
}

fn adding(epoch: u64) -> Link {
    let mut link = Link::none();
    link.connected(adding_session(epoch), None, Instant::now());
    link
}

#[test]
fn a_server_that_adds_is_told_of_everything_that_failed_calls_may_have_left() {
    let mut b = Bench { link: adding(1), ..Bench::new() };
    b.want(1, 1.0);
    b.want(2, 1.0);
    assert_eq!(b.next(), "batch 1x1 2x1");
    b.done(refused(500));
    b.unwant(1);
    b.unwant(2);
    b.now += std::time::Duration::from_secs(1);
    for _ in 0..2 {
        assert_eq!(b.next(), "deregister");
        b.done(Ok(Reply::Done));
    }
    assert_eq!(b.next(), "nothing");
    assert!(b.redo.is_empty());
}

#[test]
fn a_batch_that_is_taken_in_part_is_judged_one_by_one() {
    let mut b = Bench { link: adding(1), ..Bench::new() };
    for port in 1..=3 {
        b.want(port, 1.0);
    }
    assert_eq!(b.next(), "batch 1x1 2x1 3x1");
    let failures = [(2, refused(400)), (3, refused(500))];
    let failed = failures.into_iter().filter_map(|(port, error)| Some((instance(port, 1.0), error.err()?)));
    b.done(Ok(Reply::Partly(failed.collect())));
    let status = |b: &Bench, port| b.redo.wishes.of(&instance(port, 1.0)).unwrap().status();
    assert_eq!(status(&b, 1), RegistrationStatus::Confirmed);
    assert!(matches!(status(&b, 2), RegistrationStatus::Refused(_)));
    assert!(matches!(status(&b, 3), RegistrationStatus::Failing { attempts: 1, .. }));
    b.now += std::time::Duration::from_secs(1);
    assert_eq!(b.next(), "register 3x1", "the refused one waits");
    b.done(Ok(Reply::Done));
    b.unwant(2);
    assert_eq!(b.next(), "nothing", "it was never there");
    b.now += REFUSED_RETRY;
    assert_eq!(b.next(), "nothing");
}

#[test]
fn cg46_what_was_denied_is_tried_again_at_once_after_a_login_and_what_was_refused_is_not() {
    let mut b = Bench::new();
    b.want(1, 1.0);
    assert_eq!(b.next(), "register 1x1");
    b.done(refused(403));
    assert_eq!(b.next(), "nothing");
    b.redo.logged_in();
    assert_eq!(b.next(), "register 1x1");
    b.done(Ok(Reply::Done));
    b.unwant(1);
    assert_eq!(b.next(), "deregister");
    b.done(refused(403));
    assert_eq!(b.next(), "nothing");
    b.redo.logged_in();
    assert_eq!(b.next(), "deregister");
    b.done(Ok(Reply::Done));
    b.want(2, 1.0);
    assert_eq!(b.next(), "register 2x1");
    b.done(refused(400));
    b.redo.logged_in();
    assert_eq!(b.next(), "nothing", "no login makes it right");

    let persistent = instance(3, 1.0);
    b.redo.persistent.register(persistent, 1);
    assert!(b.next().contains("RegisterPersistent"));
    b.done(refused(403));
    assert_eq!(b.next(), "nothing");
    b.redo.logged_in();
    assert!(b.next().contains("RegisterPersistent"));
}
