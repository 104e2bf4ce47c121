use std::error::Error;

use ::reqwest::{Body, Request, ResponseBuilderExt};
use bytes::Bytes;
use http::Response;

use super::body::of_request;

/// A request as reqwest sends it.
pub(in crate::adapters) fn to_reqwest<B>(request: http::Request<B>) -> Result<Request, ::reqwest::Error>
where
    B: http_body::Body<Data: Into<Bytes>, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let (mut head, body) = request.into_parts();
    let body = of_request(&mut head.extensions, body);
    Request::try_from(http::Request::from_parts(head, body))
}

/// A response of reqwest, whose URL survives the way back to reqwest's type.
pub(in crate::adapters) fn to_http(response: ::reqwest::Response) -> Response<Body> {
    let url = Response::builder().url(response.url().clone());
    let mut response = Response::from(response);
    if let Ok(carrier) = url.body(()) {
        response.extensions_mut().extend(carrier.into_parts().0.extensions);
    }
    response
}
