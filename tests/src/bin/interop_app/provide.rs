use std::time::Duration;

use axum::Router;
use axum::routing::any;
use nacos_discovery::Discovery;
use nacos_discovery::serve::{ServeError, Serving};

/// How long a call of `/work` takes.
const WORK: Duration = Duration::from_millis(20);

/// Serves who it is, by the name in its metadata, and registers.
pub(crate) async fn start(discovery: &Discovery) -> Result<Serving, ServeError> {
    let name = discovery.config().metadata().get("name").cloned().unwrap_or_default();
    let at_work = name.clone();
    let work = move || {
        let name = at_work.clone();
        async move {
            tokio::time::sleep(WORK).await;
            name
        }
    };
    let app = Router::new().route("/who", any(move || async move { name })).route("/work", any(work));
    discovery.serve(app).start().await
}
