//! Bodies while they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::routing::{get, post};
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::*;

type Frames = mpsc::Sender<Result<Frame<Bytes>, std::convert::Infallible>>;

/// A body that is sent as it is written.
fn written() -> (Frames, Body) {
    let (sender, receiver) = mpsc::channel(1);
    let frames = stream::unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
    (sender, Body::new(StreamBody::new(frames)))
}

async fn next(body: &mut (impl http_body::Body<Data = Bytes, Error: std::fmt::Debug> + Unpin)) -> Bytes {
    in_time(body.frame()).await.expect("a frame").expect("no error").into_data().expect("data")
}

#[tokio::test]
async fn gw3_every_piece_goes_through_before_the_next_one_exists() {
    let app = Router::new().route("/", post(|request: Request| async move { request.into_body() }));
    let (instance, _serving) = serve(app).await;
    let world = World::before([instance]).await;
    for client in [client(), http2_client()] {
        let (sender, body) = written();
        let answer = client.request(Request::post(world.uri("/")).body(body).unwrap());
        sender.send(Ok(Frame::data(Bytes::from_static(b"first")))).await.unwrap();
        let mut answer = in_time(answer).await.unwrap().into_body();
        assert_eq!(next(&mut answer).await, "first");
        for number in 0..100 {
            let piece = Bytes::from(format!("piece {number}"));
            sender.send(Ok(Frame::data(piece.clone()))).await.unwrap();
            assert_eq!(next(&mut answer).await, piece);
        }
        drop(sender);
        assert!(in_time(answer.collect()).await.unwrap().to_bytes().is_empty());
    }
}

#[tokio::test]
async fn gw3_large_bodies_arrive_whole_both_ways() {
    const PIECE: usize = 64 * 1024;
    const PIECES: usize = 1024;
    let count = |request: Request| async move {
        let mut body = request.into_body().into_data_stream();
        let mut sum = 0;
        while let Some(piece) = body.next().await {
            sum += piece.expect("a whole body").iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
        sum.to_string()
    };
    let pieces = || {
        let piece = Bytes::from_iter((0..PIECE).map(|at| (at % 251) as u8));
        Body::from_stream(stream::iter((0..PIECES).map(move |_| Ok::<_, std::convert::Infallible>(piece.clone()))))
    };
    let sum: u64 = (0..PIECE).map(|at| (at % 251) as u64).sum::<u64>() * PIECES as u64;
    let app = Router::new().route("/up", post(count)).route("/down", get(move || async move { pieces() }));
    let (instance, _serving) = serve(app).await;
    let world = World::before([instance]).await;
    let upload = Request::post(world.uri("/up")).body(pieces()).unwrap();
    let told = in_time(client().request(upload)).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(told, sum.to_string());
    let download = Request::get(world.uri("/down")).body(Body::empty()).unwrap();
    let mut body = in_time(client().request(download)).await.unwrap().into_body();
    let mut seen = 0;
    while let Some(frame) = in_time(body.frame()).await {
        let data = frame.unwrap().into_data().unwrap();
        seen += data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
    assert_eq!(seen, sum);
}

/// Is told when it is dropped.
struct Dropped(CancellationToken);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[tokio::test]
async fn gw4_a_caller_who_goes_away_ends_the_work_of_the_instance() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (headless, endless) = (CancellationToken::new(), CancellationToken::new());
    let (on_headless, on_endless, counted) = (headless.clone(), endless.clone(), Arc::clone(&calls));
    let never = move || async move {
        let _told = Dropped(on_headless);
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<()>().await;
    };
    let forever = move || async move {
        let told = Dropped(on_endless);
        let first = stream::iter([Ok::<_, std::convert::Infallible>("first")]);
        Body::from_stream(first.chain(stream::pending()).inspect(move |_| {
            let _ = &told;
        }))
    };
    let app = Router::new().route("/never", get(never)).route("/forever", get(forever));
    let (instance, _serving) = serve(app).await;
    let world = World::before([instance]).await;

    let request = Request::get(world.uri("/forever")).body(Body::empty()).unwrap();
    let mut answer = in_time(client().request(request)).await.unwrap().into_body();
    assert_eq!(next(&mut answer).await, "first");
    assert!(!endless.is_cancelled());
    drop(answer);
    in_time(endless.cancelled()).await;

    let waiting = tokio::spawn(client().request(Request::get(world.uri("/never")).body(Body::empty()).unwrap()));
    examples::until("the instance has the request", || calls.load(Ordering::SeqCst) == 1).await.unwrap();
    waiting.abort();
    in_time(headless.cancelled()).await;
}
