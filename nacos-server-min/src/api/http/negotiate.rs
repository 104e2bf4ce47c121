use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use super::reply::{self, ErrorPage, JSON, TEXT};

const HTML: HeaderValue = HeaderValue::from_static("text/html;charset=UTF-8");

/// Gives an answer the type that the request accepts, as far as the real server does: texts take any name, errors become
/// pages for browsers, and JSON that is not accepted is an error.
pub(super) async fn negotiate(request: Request, next: Next) -> Response {
    let wanted = Wanted::of(request.headers());
    wanted.shape(next.run(request).await)
}

/// What a request wants its answer to be; nothing if everything is accepted.
pub(super) struct Wanted(Option<Accepted>);

impl Wanted {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(accepted(headers))
    }

    pub(super) fn shape(self, response: Response) -> Response {
        match self.0 {
            Some(accepted) => shaped(response, &accepted),
            None => response,
        }
    }
}

fn shaped(response: Response, accepted: &Accepted) -> Response {
    if let Some(page) = response.extensions().get::<ErrorPage>() {
        return if accepted.first == "text/html" { html(page) } else { response };
    }
    match response.headers().get(header::CONTENT_TYPE) {
        Some(found) if *found == JSON && !accepted.json => named(reply::text(500, NOT_ACCEPTED), &accepted.first),
        // An error may repeat what the request said, so it stays plain text, whatever is accepted.
        Some(found) if *found == TEXT && response.status().is_success() => named(response, &accepted.first),
        _ => response,
    }
}

const NOT_ACCEPTED: &str = "caused: Could not find acceptable representation;";

struct Accepted {
    /// The first type named, without attributes.
    first: String,
    json: bool,
}

/// `None` if everything is accepted.
fn accepted(headers: &HeaderMap) -> Option<Accepted> {
    let all = headers.get(header::ACCEPT)?.to_str().ok()?;
    let mut types = all.split(',').map(|item| item.split(';').next().unwrap_or_default().trim());
    let first = types.clone().next().filter(|first| !first.contains('*') && first.contains('/'))?.to_owned();
    let json = types.any(|item| matches!(item, "application/json" | "application/*" | "*/*"));
    Some(Accepted { first, json })
}

fn named(mut response: Response, name: &str) -> Response {
    let name = if name == "application/json" { name.to_owned() } else { format!("{name};charset=UTF-8") };
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(header::CONTENT_TYPE, name);
    }
    response
}

fn html(page: &ErrorPage) -> Response {
    let ErrorPage { status, error, message } = page;
    let message = escaped(message);
    reply::reply(
        *status,
        HTML,
        format!(
            "<html><body><h1>{status} {error}</h1><p>This server has no page for errors.</p><div>{message}</div></body></html>"
        ),
    )
}

/// Text that a page may show.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
