use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::config::{EmptyPolicy, HoldTimes};
use crate::model::Instance;
use crate::naming::mock::session;

const HOLD: HoldTimes = HoldTimes { window: Duration::from_secs(5), majority: Duration::from_secs(30) };

fn ports(ports: &[u16]) -> HostList {
    HostList::new(ports.iter().map(|port| Arc::new(Instance::new(("h", *port)))).collect(), false)
}

struct Bench {
    key: ServiceKey,
    list: ServiceList,
    link: Link,
    now: Instant,
    seq: u64,
}

impl Bench {
    fn new(policy: EmptyPolicy) -> Self {
        let mut link = Link::none();
        let now = Instant::now();
        link.connected(session(1), None, now);
        Self { key: ServiceKey::new("g", "s"), list: ServiceList::new(Guard::new(policy, HOLD), 0), link, now, seq: 0 }
    }

    fn seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    fn push(&mut self, epoch: u64, ts: i64, hosts: &[u16]) -> Taken {
        self.push_by(Origin::Stream, epoch, ts, hosts)
    }

    fn datagram(&mut self, sender: u16, epoch: u64, ts: i64, hosts: &[u16]) -> Taken {
        let sender = SocketAddr::from(([127, 0, 0, 1], sender));
        self.push_by(Origin::Datagram(sender), epoch, ts, hosts)
    }

    fn push_by(&mut self, origin: Origin, epoch: u64, ts: i64, hosts: &[u16]) -> Taken {
        let push = Received { epoch: Epoch(epoch), seq: self.seq(), ts, list: ports(hosts) };
        self.list.push(&self.key, &self.link, origin, push, self.now)
    }

    fn answer(&mut self, epoch: u64, seq: u64, ts: i64, hosts: &[u16]) -> Taken {
        let answer = Received { epoch: Epoch(epoch), seq, ts, list: ports(hosts) };
        self.list.answer(&self.key, &self.link, answer, self.now)
    }

    fn shown(&self) -> Vec<u16> {
        self.list.current().map(|s| s.instances().iter().map(|i| i.port).collect()).unwrap_or_default()
    }
}

#[test]
fn f04_stamps_order_pushes_of_one_epoch_only() {
    let mut b = Bench::new(EmptyPolicy::Accept);
    assert_eq!(b.push(1, 1_000, &[1]), Taken::Changed);
    assert_eq!(b.push(1, 999, &[2]), Taken::Overtaken);
    assert_eq!(b.push(1, 1_000, &[3]), Taken::Changed, "equal stamps go by arrival");
    assert_eq!(b.push(1, -20_000, &[4]), Taken::Changed, "the server's clock was set back");
    b.link.connected(session(2), None, b.now);
    assert_eq!(b.push(2, -900_000, &[5]), Taken::Changed, "another server, another clock");
    assert_eq!(b.push(1, 2_000, &[6]), Taken::OldEpoch);
    assert_eq!(b.shown(), [5]);
}

#[test]
fn f08_an_answer_never_replaces_a_push_that_came_after_its_request() {
    let mut b = Bench::new(EmptyPolicy::Accept);
    let sent = b.seq();
    b.push(1, 10, &[1]);
    assert_eq!(b.answer(1, sent, 5_000, &[2]), Taken::Overtaken);
    let sent = b.seq();
    assert_eq!(b.answer(1, sent, 5, &[2]), Taken::Changed, "its stamp does not matter");
    assert_eq!(b.push(1, 9, &[3]), Taken::Overtaken, "and does not lower the last one");
}

#[test]
fn a_datagram_counts_only_after_another_one_of_the_same_server_and_when_nothing_is_younger() {
    let mut b = Bench::new(EmptyPolicy::Accept);
    let sent = b.seq();
    b.answer(1, sent, 1_000, &[1]);
    assert_eq!(b.datagram(7, 1, 2_000, &[2]), Taken::Doubtful, "the first of a server");
    assert_eq!(b.datagram(7, 1, 2_000, &[2]), Taken::Changed, "sent again, or a second one of that moment");
    assert_eq!(b.datagram(7, 1, 3_000, &[3]), Taken::Changed);
    assert_eq!(b.datagram(7, 1, 2_999, &[4]), Taken::Doubtful, "overtaken on the way");
    let sent = b.seq();
    b.answer(1, sent, 4_000, &[5]);
    assert_eq!(b.datagram(7, 1, 3_500, &[6]), Taken::Doubtful, "lost and sent again after a poll");
    assert_eq!(b.datagram(8, 1, 9_000, &[7]), Taken::Doubtful, "another server, another clock");
    assert_eq!(b.datagram(7, 1, 5_000, &[8]), Taken::Doubtful, "and back");
    assert_eq!(b.datagram(7, 1, 5_001, &[9]), Taken::Changed);
    assert_eq!(b.shown(), [9]);
    b.link.connected(session(2), None, b.now);
    assert_eq!(b.datagram(7, 1, 6_000, &[10]), Taken::OldEpoch);
    assert_eq!(b.datagram(7, 2, 6_000, &[10]), Taken::Doubtful, "nothing is known on a new connection");
}

#[test]
fn a_server_whose_clock_is_set_back_is_believed_after_the_poll_that_its_datagram_leads_to() {
    let mut b = Bench::new(EmptyPolicy::Accept);
    b.datagram(7, 1, 9_000_000, &[1]);
    b.datagram(7, 1, 9_000_001, &[1]);
    assert_eq!(b.datagram(7, 1, 1_000, &[2]), Taken::Doubtful);
    let sent = b.seq();
    b.answer(1, sent, 1_001, &[2]);
    assert_eq!(b.datagram(7, 1, 1_500, &[3]), Taken::Changed);
}

#[test]
fn cg36_equal_content_changes_nothing() {
    let mut b = Bench::new(EmptyPolicy::Default);
    b.push(1, 1, &[2, 1]);
    let before = b.list.current().cloned().unwrap();
    assert_eq!(b.push(1, 2, &[1, 2]), Taken::Unchanged);
    assert!(Arc::ptr_eq(&before, b.list.current().unwrap()));
}

#[test]
fn a_lost_connection_marks_the_list_and_the_next_one_confirms_it() {
    let mut b = Bench::new(EmptyPolicy::Default);
    b.push(1, 1, &[1]);
    b.link.disconnected(Epoch(1), b.now);
    assert_eq!(b.list.lost(&b.key, b.now), Taken::Changed);
    assert_eq!(b.list.lost(&b.key, b.now), Taken::Unchanged);
    assert!(b.list.current().unwrap().stale_since().is_some());
    assert_eq!(b.push(1, 2, &[2]), Taken::OldEpoch);
    b.link.connected(session(2), None, b.now);
    assert_eq!(b.push(2, 0, &[1]), Taken::Changed);
    let current = b.list.current().unwrap();
    assert_eq!((current.stale_since(), current.resyncs(), current.revision()), (None, 1, 3));
}

#[test]
fn during_a_handover_the_old_connection_counts_until_the_new_one_has_spoken() {
    let mut b = Bench::new(EmptyPolicy::Accept);
    b.push(1, 10, &[1]);
    b.link.connected(session(2), Some(Epoch(1)), b.now);
    assert_eq!(b.push(1, 11, &[2]), Taken::Changed);
    let sent = b.seq();
    assert_eq!(b.answer(2, sent, 3, &[3]), Taken::Changed);
    assert_eq!(b.push(1, 12, &[4]), Taken::OldEpoch);
    assert_eq!(b.shown(), [3]);
}

/// A server with a history of lists, its stamps from a clock that steps, and a network that delays answers, repeats and
/// reorders pushes, and loses them.
#[derive(Debug, Clone)]
enum Step {
    /// The service changes; the push goes out, or is lost.
    Change { ports: Vec<u16>, lost: bool },
    /// The clock of the server moves.
    Clock(i64),
    /// The push number `n` from the newest arrives, perhaps again.
    Deliver(usize),
    /// A request is sent; it is answered from the state of this moment.
    Ask,
    /// The answer number `n` of those under way arrives.
    Answer(usize),
    /// The connection is replaced.
    NewEpoch,
    /// A datagram with the list that push number `n` from the newest had arrives from one of two servers.
    Datagram(usize, u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (proptest::collection::vec(0..6u16, 0..4), any::<bool>()).prop_map(|(ports, lost)| Step::Change { ports, lost }),
        2 => prop_oneof![Just(0), -3_600_000..3_600_000i64, -9_000..9_000i64].prop_map(Step::Clock),
        4 => (0..4usize).prop_map(Step::Deliver),
        2 => Just(Step::Ask),
        2 => (0..3usize).prop_map(Step::Answer),
        1 => Just(Step::NewEpoch),
        4 => (0..4usize, 1..3u16).prop_map(|(back, sender)| Step::Datagram(back, sender)),
    ]
}

#[derive(Default)]
struct Server {
    clock: i64,
    ports: Vec<u16>,
    pushes: Vec<(u64, i64, Vec<u16>)>,
    answers: Vec<(u64, u64, i64, Vec<u16>)>,
    epoch: u64,
}

impl Server {
    fn play(&mut self, b: &mut Bench, step: Step) {
        self.clock += 1;
        match step {
            Step::Change { ports, lost } => {
                self.ports = ports;
                if !lost {
                    self.pushes.push((self.epoch, self.clock, self.ports.clone()));
                }
            }
            Step::Clock(step) => self.clock += step,
            Step::Deliver(back) => {
                if let Some((epoch, ts, ports)) = self.pushes.iter().rev().nth(back).cloned() {
                    b.push(epoch, ts, &ports);
                }
            }
            Step::Ask => {
                let seq = b.seq();
                self.answers.push((self.epoch, seq, self.clock, self.ports.clone()));
            }
            Step::Answer(at) => {
                if at < self.answers.len() {
                    let (epoch, seq, ts, ports) = self.answers.remove(at);
                    b.answer(epoch, seq, ts, &ports);
                }
            }
            Step::Datagram(back, sender) => {
                if let Some((epoch, ts, ports)) = self.pushes.iter().rev().nth(back).cloned() {
                    b.datagram(sender, epoch, ts, &ports);
                }
            }
            Step::NewEpoch => {
                self.epoch += 1;
                b.link.connected(session(self.epoch), None, b.now);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// After the last fault and one check the list equals the server's, and revisions only ever grow.
    #[test]
    fn cg38_after_the_last_fault_and_one_check_the_list_is_the_servers(steps in proptest::collection::vec(step(), 0..60)) {
        let mut b = Bench::new(EmptyPolicy::Accept);
        let mut server = Server { epoch: 1, clock: 1_700_000_000_000, ..Server::default() };
        let mut revision = 0;
        for step in steps {
            server.play(&mut b, step);
            let now = b.list.revision();
            prop_assert!(now >= revision);
            revision = now;
        }
        // The check: one query, sent now and answered now.
        let seq = b.seq();
        let ports = server.ports.clone();
        b.answer(server.epoch, seq, server.clock, &ports);
        let mut expected = server.ports;
        expected.sort_unstable();
        expected.dedup();
        prop_assert_eq!(b.shown(), expected);
    }

    /// Datagrams of one server, lost, repeated and in any order, between polls of it: the list is never taken back to an
    /// older state, and one that is not the newest is due to a loss or leads to a query.
    #[test]
    fn datagrams_never_take_a_list_back(steps in proptest::collection::vec((0..3u8, 0..5usize), 1..80)) {
        let mut b = Bench::new(EmptyPolicy::Accept);
        // State number `n` lists the port `n` alone, and lasts from stamp 10 × n on.
        let (mut state, mut shown, mut asked) = (0u16, 0u16, None);
        for (step, back) in steps {
            match step {
                0 => state += 1,
                1 => match asked.take() {
                    None => asked = Some((b.seq(), state)),
                    Some((seq, then)) => drop(b.answer(1, seq, i64::from(then) * 10 + 5, &[then])),
                },
                _ => {
                    let sent = state.saturating_sub(back as u16);
                    let before = b.shown();
                    if b.datagram(1, 1, i64::from(sent) * 10, &[sent]) == Taken::Doubtful {
                        prop_assert_eq!(b.shown(), before);
                    } else {
                        prop_assert_eq!(b.shown(), [sent]);
                    }
                }
            }
            let now = b.shown().first().copied().unwrap_or(shown);
            prop_assert!(now >= shown, "from {} back to {}", shown, now);
            shown = now;
        }
    }

    /// A list that is not applied is one that a check will repair: the caller is told so.
    #[test]
    fn a_dropped_push_is_always_reported(steps in proptest::collection::vec((any::<i64>(), 0..4u16), 1..40)) {
        let mut b = Bench::new(EmptyPolicy::Accept);
        for (ts, port) in steps {
            match b.push(1, ts, &[port]) {
                Taken::Changed | Taken::Unchanged => prop_assert_eq!(b.shown(), [port]),
                other => prop_assert_eq!(other, Taken::Overtaken),
            }
        }
    }
}
