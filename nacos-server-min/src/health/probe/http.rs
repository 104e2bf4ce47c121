use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::pace::Answer;

/// Longest set of headers of an answer that is read.
const MAX_HEAD: usize = 16 * 1024;

/// A question by HTTP, as a cluster's checker describes it.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) path: String,
    /// `name:value|name:value`
    pub(super) headers: String,
    pub(super) expected: i32,
}

impl Question {
    /// `None` if there can be no such request.
    fn request(&self, target: SocketAddr) -> Option<Request<Empty<Bytes>>> {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        let mut request = Request::get(format!("{slash}{}", self.path)).body(Empty::new()).ok()?;
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_str(&target.to_string()).ok()?);
        headers.insert(header::USER_AGENT, HeaderValue::from_static("nacos-server-min"));
        for pair in self.headers.split('|').filter(|pair| !pair.trim().is_empty()) {
            let (name, value) = pair.split_once(':')?;
            headers.insert(HeaderName::try_from(name.trim()).ok()?, HeaderValue::try_from(value.trim()).ok()?);
        }
        Some(request)
    }

    /// What an answer with this status says.
    fn judge(&self, status: StatusCode, took: Duration) -> Answer {
        match status {
            _ if i32::from(status.as_u16()) == self.expected => Answer::Good { took },
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::FOUND => Answer::Slow,
            _ => Answer::Refused,
        }
    }

    /// Asks over a connection that is open; the body of the answer is not read.
    pub(super) async fn ask(&self, stream: TcpStream, target: SocketAddr, began: tokio::time::Instant) -> Answer {
        let Some(request) = self.request(target) else { return Answer::Bad };
        let mut http = http1::Builder::new();
        let Ok((mut sender, connection)) = http.max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await else {
            return Answer::Bad;
        };
        let answer = sender.send_request(request);
        tokio::pin!(answer, connection);
        let answer = tokio::select! {
            answer = &mut answer => answer,
            // It ends when there is nothing more to read, which may be the answer.
            _ = &mut connection => answer.await,
        };
        answer.map_or(Answer::Bad, |answer| self.judge(answer.status(), began.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(path: &str, headers: &str) -> Question {
        Question { path: path.to_owned(), headers: headers.to_owned(), expected: 200 }
    }

    #[test]
    fn a_checker_becomes_a_request_or_is_none() {
        let target = SocketAddr::from(([10, 0, 0, 1], 80));
        let request = question("health?a=b", "X-A: b |c:d:e|").request(target).expect("a request");
        assert_eq!((request.uri().path(), request.uri().query()), ("/health", Some("a=b")));
        assert_eq!(
            (&request.headers()["x-a"], &request.headers()["c"]),
            (&"b".parse().expect("a value"), &"d:e".parse().expect("a value"))
        );
        assert_eq!(request.headers()["host"], "10.0.0.1:80");
        for (path, headers) in [("/a b", ""), ("/", "no colon"), ("/", "a b:c"), ("/", "a:b\nc")] {
            assert!(question(path, headers).request(target).is_none(), "{path} {headers}");
        }
    }

    #[test]
    fn the_expected_status_is_good_and_some_are_not_final() {
        let took = Duration::from_millis(3);
        let judge = |expected, status: u16| {
            let question = Question { expected, ..question("/", "") };
            question.judge(StatusCode::from_u16(status).expect("a status"), took)
        };
        assert_eq!(
            (judge(200, 200), judge(204, 204), judge(302, 302)),
            (Answer::Good { took }, Answer::Good { took }, Answer::Good { took })
        );
        assert_eq!((judge(200, 503), judge(200, 302)), (Answer::Slow, Answer::Slow));
        assert_eq!(
            (judge(200, 201), judge(204, 200), judge(200, 404)),
            (Answer::Refused, Answer::Refused, Answer::Refused)
        );
    }
}
