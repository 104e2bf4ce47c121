use std::error::Error;

use hyper_util::client::legacy;

use crate::TransportFailure;

/// What one error, without its sources, means, if it is of a client that is known here.
pub(crate) fn failure(error: &(dyn Error + 'static)) -> Option<TransportFailure> {
    #[cfg(feature = "reqwest")]
    if let Some(error) = error.downcast_ref::<::reqwest::Error>() {
        // A connection that does not come about in time is both.
        return if error.is_connect() {
            Some(TransportFailure::Connect)
        } else {
            error.is_timeout().then_some(TransportFailure::Timeout)
        };
    }
    // Names that cannot be resolved, refusals, handshakes of TLS and their time limits alike: nothing was sent.
    let no_connection = error.downcast_ref().is_some_and(legacy::Error::is_connect);
    // The connection ended before it took the request, which is handed back whole.
    let not_taken = error.downcast_ref().is_some_and(::hyper::Error::is_canceled);
    (no_connection || not_taken).then_some(TransportFailure::Connect)
}

/// Whether hyper says that the caller made the error: the body of the request broke off, or it cannot be sent like that.
pub(crate) fn is_of_caller(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(::hyper::Error::is_user) || is_own_reset(error)
}

/// Whether it is a stream of HTTP/2 that this side reset, which it does if the body of the request broke off.
#[cfg(feature = "hyper")]
pub(super) fn is_own_reset(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<h2::Error>();
    error.is_some_and(|error| error.is_reset() && !error.is_remote() && !error.is_library())
}

#[cfg(not(feature = "hyper"))]
fn is_own_reset(_: &(dyn Error + 'static)) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::io;
    use std::task::{Context, Poll};

    use ::hyper::client::conn::http1;
    use http::{Request, Uri};
    use hyper_util::client::legacy::Client;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::{AsyncReadExt, duplex};
    use tokio::net::TcpStream;
    use tower_service::Service;

    use super::*;

    fn of_chain(error: &(dyn Error + 'static)) -> Option<TransportFailure> {
        failure(error).or_else(|| error.source().and_then(of_chain))
    }

    /// Reaches nobody in time.
    #[derive(Clone)]
    struct Unreachable;

    impl Service<Uri> for Unreachable {
        type Response = TokioIo<TcpStream>;
        type Error = io::Error;
        type Future = Ready<io::Result<Self::Response>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Uri) -> Self::Future {
            ready(Err(io::ErrorKind::TimedOut.into()))
        }
    }

    #[tokio::test]
    async fn a_connection_that_takes_too_long_is_none_and_no_late_answer() {
        let client = Client::builder(TokioExecutor::new()).build::<_, String>(Unreachable);
        let error = client.get(Uri::from_static("http://127.0.0.1:1/")).await.unwrap_err();
        assert_eq!(of_chain(&error), Some(TransportFailure::Connect), "{error:?}");
    }

    #[tokio::test]
    async fn a_request_that_a_closed_connection_did_not_take_was_not_sent() {
        let (ours, theirs) = duplex(1024);
        let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        drop((connection, theirs));
        let error = sender.send_request(Request::new(String::new())).await.unwrap_err();
        assert_eq!(of_chain(&error), Some(TransportFailure::Connect), "{error:?}");
    }

    #[tokio::test]
    async fn a_connection_that_breaks_after_the_request_says_nothing_of_the_kind() {
        let (ours, mut theirs) = duplex(1024);
        let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(Request::new(String::new()));
        let breaking = async move { theirs.read(&mut [0; 64]).await };
        let (answer, read) = tokio::join!(answer, breaking);
        assert!(read.unwrap() > 0);
        let error = answer.unwrap_err();
        assert_eq!(of_chain(&error), None, "{error:?}");
        connection.abort();
    }
}
