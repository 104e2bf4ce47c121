use std::path::PathBuf;

use clap::Args;
use http::{HeaderName, HeaderValue, Method, Request};
use nacos_discovery::route::{RequestTags, RouteDocument};

use crate::failure::Failure;

/// Routing rules, and the request that is asked about.
#[derive(Debug, Clone, Args)]
pub(crate) struct RequestArgs {
    /// File of routing rules; without one no request is routed.
    #[arg(long, value_name = "FILE")]
    pub(crate) routes: Option<PathBuf>,
    /// Header of the request, such as 'x-version: v2'; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "routes", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Path of the request, and its query.
    #[arg(long, requires = "routes", default_value = "/")]
    path: String,
    /// Method of the request.
    #[arg(long, requires = "routes", default_value = "GET")]
    method: Method,
    /// What the application itself says of the request, such as tenant=acme; may be given several times.
    #[arg(long = "tag", value_name = "NAME=VALUE", requires = "routes", value_parser = tag)]
    tags: Vec<(String, String)>,
}

impl RequestArgs {
    /// The rules, if there are any.
    pub(crate) fn rules(&self) -> Result<Option<RouteDocument>, Failure> {
        let read = |path: &PathBuf| RouteDocument::from_file(path).map_err(|error| Failure::Usage(error.to_string()));
        self.routes.as_ref().map(read).transpose()
    }

    /// The request.
    pub(crate) fn request(&self) -> Result<Request<()>, Failure> {
        let mut request = Request::builder()
            .method(&self.method)
            .uri(&self.path)
            .body(())
            .map_err(|error| Failure::Usage(format!("--path {:?}: {error}", self.path)))?;
        for (name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        let tags = self.tags.iter().fold(RequestTags::new(), |tags, (name, value)| tags.with(name, value));
        request.extensions_mut().insert(tags);
        Ok(request)
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written like 'x-version: v2'")?;
    let name = name.trim().parse().map_err(|error: http::header::InvalidHeaderName| error.to_string())?;
    let value = value.trim().parse().map_err(|error: http::header::InvalidHeaderValue| error.to_string())?;
    Ok((name, value))
}

fn tag(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a tag is written like tenant=acme")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_tags_are_read_as_people_write_them() {
        let (name, value) = header("X-Version:  v2 ").unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("x-version", "v2"));
        assert_eq!(header("x-time: 10:30").unwrap().1.to_str().unwrap(), "10:30");
        assert!(header("x-version").is_err() && header("x version: 2").is_err());
        assert_eq!(tag("tenant=a=b").unwrap(), ("tenant".to_owned(), "a=b".to_owned()));
        assert!(tag("tenant").is_err());
    }
}
