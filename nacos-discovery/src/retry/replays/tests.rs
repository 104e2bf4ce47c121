use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use proptest::prelude::*;

use super::super::body::{BodySource, ReplayBody};
use super::*;

const KIB: usize = 1024;
const LIMIT: usize = 64 * KIB;

/// What a scripted body does when it is asked for a frame.
#[derive(Debug, Clone)]
enum Act {
    Data(Bytes),
    Trailers(HeaderMap),
    Pend,
    Fail,
}

/// A body that follows a script, and may know how much there is.
#[derive(Debug)]
struct Scripted {
    script: VecDeque<Act>,
    knows_its_size: bool,
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.script.pop_front() {
            None => Poll::Ready(None),
            Some(Act::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Act::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Act::Pend) => Poll::Pending,
            Some(Act::Fail) => Poll::Ready(Some(Err(io::Error::other("the caller's body failed")))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.knows_its_size && self.script.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let sizes = self.script.iter().map(|act| if let Act::Data(data) = act { data.len() as u64 } else { 0 });
        if self.knows_its_size { SizeHint::with_exact(sizes.sum()) } else { SizeHint::default() }
    }
}

fn data(size: usize) -> Act {
    Act::Data(Bytes::from((0..size).map(|at| at as u8).collect::<Vec<_>>()))
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([("x-sum".parse().unwrap(), "7".parse().unwrap())])
}

fn of_unknown_size(script: impl IntoIterator<Item = Act>) -> BodySource<Scripted> {
    let script = script.into_iter().collect();
    BodySource::new(Scripted { script, knows_its_size: false }, Some(LIMIT))
}

fn of_known_size(script: impl IntoIterator<Item = Act>) -> BodySource<Scripted> {
    let script = script.into_iter().collect();
    BodySource::new(Scripted { script, knows_its_size: true }, Some(LIMIT))
}

/// What an attempt got of a body until it pended, ended or failed.
#[derive(Debug, Default, PartialEq)]
struct Got {
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
    end: Option<Result<(), String>>,
}

fn read<B: Body + Unpin>(body: &mut ReplayBody<B>, waker: &Waker) -> Got
where
    B::Error: Into<BoxError>,
{
    read_frames(body, waker, usize::MAX)
}

fn read_frames<B: Body + Unpin>(body: &mut ReplayBody<B>, waker: &Waker, frames: usize) -> Got
where
    B::Error: Into<BoxError>,
{
    let mut got = Got::default();
    for _ in 0..frames {
        match Pin::new(&mut *body).poll_frame(&mut Context::from_waker(waker)) {
            Poll::Pending => return got,
            Poll::Ready(None) => {
                assert!(body.is_end_stream());
                assert_eq!(body.size_hint().exact(), Some(0));
                got.end = Some(Ok(()));
                return got;
            }
            Poll::Ready(Some(Err(error))) => {
                got.end = Some(Err(error.to_string()));
                return got;
            }
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => got.data.extend_from_slice(&data),
                Err(frame) => got.trailers = frame.into_trailers().ok(),
            },
        }
    }
    got
}

fn whole<B: Body + Unpin>(body: &mut ReplayBody<B>) -> Got
where
    B::Error: Into<BoxError>,
{
    read(body, Waker::noop())
}

#[test]
fn an_empty_body_is_empty_each_time() {
    let source = of_known_size([]);
    for attempt in 1..4 {
        let mut body = source.body(attempt);
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
        assert_eq!(whole(&mut body).data, b"");
    }
    assert_eq!(source.state(), BodyState::Kept);
}

#[test]
fn every_attempt_gets_all_of_it_with_its_trailers() {
    let source = of_unknown_size([data(KIB), data(3), Act::Trailers(trailers())]);
    assert_eq!(source.state(), BodyState::Unread);
    let first = whole(&mut source.body(1));
    assert_eq!((first.data.len(), first.trailers.as_ref(), &first.end), (KIB + 3, Some(&trailers()), &Some(Ok(()))));
    assert_eq!(source.state(), BodyState::Kept);
    assert_eq!(whole(&mut source.body(2)), first);
    assert_eq!(whole(&mut source.body(3)), first);
}

#[test]
fn what_one_attempt_left_the_next_one_reads_on() {
    let source = of_known_size([data(10), data(20), data(30)]);
    let mut first = source.body(1);
    assert_eq!(first.size_hint().exact(), Some(60));
    assert_eq!(read_frames(&mut first, Waker::noop(), 1).data.len(), 10);
    assert_eq!(first.size_hint().exact(), Some(50));
    let mut second = source.body(2);
    assert_eq!(second.size_hint().exact(), Some(60));
    assert!(!second.is_end_stream());
    assert_eq!(whole(&mut second).data.len(), 60);
}

#[test]
fn exactly_what_may_be_kept_is_kept() {
    for (sizes, kept) in [([LIMIT / 2, LIMIT / 2], BodyState::Kept), ([LIMIT / 2, LIMIT / 2 + 1], BodyState::Gone)] {
        let source = of_unknown_size(sizes.map(data));
        assert_eq!(whole(&mut source.body(1)).data.len(), sizes[0] + sizes[1]);
        assert_eq!(source.state(), kept, "{sizes:?}");
    }
}

#[test]
fn nothing_is_kept_of_a_body_that_says_that_it_is_too_large() {
    let source = of_known_size([data(1), data(LIMIT)]);
    let mut first = source.body(1);
    assert_eq!(read_frames(&mut first, Waker::noop(), 1).data.len(), 1);
    assert_eq!(source.state(), BodyState::Gone);
    assert_eq!(whole(&mut first).data.len(), LIMIT);
    let end = whole(&mut source.body(2)).end;
    assert_eq!(end, Some(Err("what was sent of the body is no longer there".into())));
}

#[test]
fn a_body_of_one_piece_is_kept_whatever_its_size() {
    let source = of_known_size([data(20 * LIMIT)]);
    assert_eq!(whole(&mut source.body(1)).data.len(), 20 * LIMIT);
    assert_eq!(source.state(), BodyState::Kept);
    assert_eq!(whole(&mut source.body(2)).data.len(), 20 * LIMIT);
}

#[test]
fn many_small_pieces_are_too_much() {
    let source = of_unknown_size(std::iter::repeat_n(data(1), PIECES + 1));
    let got = whole(&mut source.body(1));
    assert_eq!((got.data.len(), source.state()), (PIECES + 1, BodyState::Gone));
}

#[test]
fn where_nothing_is_to_be_kept_the_body_is_there_until_it_is_read() {
    let script = VecDeque::from([data(8)]);
    let source = BodySource::new(Scripted { script, knows_its_size: true }, None);
    drop(source.body(1));
    assert_eq!(source.state(), BodyState::Unread);
    assert_eq!(whole(&mut source.body(2)).data.len(), 8);
    assert_eq!(source.state(), BodyState::Gone);
}

#[test]
fn a_body_that_fails_is_not_sent_again() {
    let source = of_unknown_size([data(8), Act::Fail]);
    assert_eq!(whole(&mut source.body(1)).end, Some(Err("the caller's body failed".into())));
    assert_eq!(source.state(), BodyState::Gone);
}

/// Tells whether it was woken.
#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_earlier_attempt_that_still_waits_is_woken_and_reads_no_more() {
    let source = of_unknown_size([data(5), Act::Pend, data(6)]);
    let flag = Arc::new(Flag::default());
    let mut first = source.body(1);
    assert_eq!(read(&mut first, &Waker::from(Arc::clone(&flag))).data.len(), 5);
    // As long as the second has not begun to read, the first one goes on.
    let mut second = source.body(2);
    assert!(!flag.0.load(Ordering::SeqCst));
    assert_eq!(whole(&mut second).data.len(), 11);
    assert!(flag.0.load(Ordering::SeqCst));
    assert_eq!(whole(&mut first).end, Some(Err("the request is sent to another instance".into())));
    assert_eq!(whole(&mut source.body(3)).data.len(), 11);
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![8 => (0..200usize).prop_map(data), 1 => Just(Act::Pend)];
    proptest::collection::vec(act, 0..20)
}

proptest! {
    /// However many frames earlier attempts read, the last one gets all, and each a beginning of it; and what a body says
    /// of its size is true at every step.
    #[test]
    fn the_last_attempt_gets_all(acts in acts(), stops in proptest::collection::vec(0..20usize, 0..4), known: bool) {
        let all: Vec<u8> = acts.iter().flat_map(|act| if let Act::Data(data) = act { data.to_vec() } else { vec![] }).collect();
        let source = if known { of_known_size(acts) } else { of_unknown_size(acts) };
        let mut attempt = 0;
        for stop in stops {
            attempt += 1;
            let mut body = source.body(attempt);
            let got = read_frames(&mut body, Waker::noop(), stop);
            prop_assert!(all.starts_with(&got.data));
            if known {
                prop_assert_eq!(body.size_hint().exact(), Some((all.len() - got.data.len()) as u64));
            }
        }
        let mut body = source.body(attempt + 1);
        let mut got = Vec::new();
        loop {
            let read = whole(&mut body);
            got.extend(read.data);
            if let Some(end) = read.end {
                prop_assert_eq!(end, Ok(()));
                break;
            }
        }
        prop_assert_eq!(got, all);
    }
}
