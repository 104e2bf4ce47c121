use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::http::serve_http;
use crate::api::http::HttpService;
use crate::context::Context;
use crate::supervision::PanicWatch;

type Accepted = (std::net::TcpStream, SocketAddr);

/// Threads that serve HTTP connections and nothing else, each on a scheduler of its own.
///
/// Beats come one at a time and are answered within microseconds. A scheduler of several threads wakes a second one for each of them, to see
/// whether there is more to do, which costs more than the beat itself.
pub(crate) struct HttpThreads {
    threads: Vec<UnboundedSender<Accepted>>,
    next: AtomicUsize,
}

impl HttpThreads {
    /// Starts `count` threads. They end once the server stops and their connections are over, and the server waits for them.
    pub(crate) fn start(
        count: usize,
        context: &Arc<Context>,
        service: &HttpService,
        abort: &CancellationToken,
    ) -> io::Result<Self> {
        let mut threads = Vec::with_capacity(count);
        for number in 0..count {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (sender, accepted) = unbounded_channel();
            let thread = Thread { context: Arc::clone(context), service: service.clone(), abort: abort.clone() };
            let running = context.tasks.token();
            std::thread::Builder::new().name(format!("nacos-http-{number}")).spawn(move || {
                let watch = PanicWatch(Arc::clone(&thread.context));
                runtime.block_on(thread.run(accepted));
                drop((runtime, watch, running));
            })?;
            threads.push(sender);
        }
        Ok(Self { threads, next: AtomicUsize::new(0) })
    }

    /// Gives a connection to the next of them.
    pub(super) fn take(&self, stream: TcpStream, remote: SocketAddr) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.threads.len();
        match stream.into_std() {
            // A thread that has ended belongs to a server that ends.
            Ok(stream) => drop(self.threads[next].send((stream, remote))),
            Err(error) => tracing::debug!(%error, "a connection could not be given to its thread"),
        }
    }
}

/// What runs in one of them.
struct Thread {
    context: Arc<Context>,
    service: HttpService,
    abort: CancellationToken,
}

impl Thread {
    async fn run(self, mut accepted: UnboundedReceiver<Accepted>) {
        let connections = TaskTracker::new();
        loop {
            let next = tokio::select! {
                biased;
                () = self.context.stop.cancelled() => break,
                () = self.abort.cancelled() => break,
                next = accepted.recv() => next,
            };
            let Some((stream, remote)) = next else { break };
            let Ok(stream) = TcpStream::from_std(stream) else { continue };
            let close = self.context.fault.connection_token();
            let task = serve_http(Arc::clone(&self.context), self.service.clone(), (stream, remote), close);
            // Ends with its connection, at the latest when the token is cancelled.
            self.context.spawn(connections.track_future(task));
        }
        connections.close();
        connections.wait().await;
    }
}
