//! Plain HTTP calls of tests and tools: AWS's query protocol, health and metrics.

use std::time::Duration;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::http::request::Builder;
use hyper::{HeaderMap, Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body as text.
    pub body: String,
    /// The headers.
    pub headers: HeaderMap,
}

/// GET.
///
/// # Errors
/// If there is no response within 30 seconds. A status of 4xx or 5xx is a response.
pub async fn get(url: &str) -> Result<Response> {
    send(url, Request::get(url).body(Full::default())).await
}

/// POST of a form.
///
/// # Errors
/// If there is no response within 30 seconds. A status of 4xx or 5xx is a response.
pub async fn post_form(url: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Result<Response> {
    let body: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(url)
        .header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(url, request.body(Full::from(body.join("&")))).await
}

/// POST of JSON, of the type `application/json` unless a header says another one.
///
/// # Errors
/// If there is no response within 30 seconds. A status of 4xx or 5xx is a response.
pub async fn post_json(url: &str, headers: &[(&str, &str)], body: &serde_json::Value) -> Result<Response> {
    let mut request = Request::post(url);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(url, request.body(Full::from(body.to_string()))).await
}

/// PUT of a text.
///
/// # Errors
/// If there is no response within 30 seconds. A status of 4xx or 5xx is a response.
pub async fn put(url: &str, headers: &[(&str, &str)], body: &str) -> Result<Response> {
    with_headers(url, Request::put(url), headers, body).await
}

/// POST of a text, or GET without one.
///
/// # Errors
/// If there is no response within 30 seconds. A status of 4xx or 5xx is a response.
pub async fn call(url: &str, headers: &[(&str, &str)], body: Option<&str>) -> Result<Response> {
    let request = if body.is_some() { Request::post(url) } else { Request::get(url) };
    with_headers(url, request, headers, body.unwrap_or_default()).await
}

/// A request with any method.
///
/// # Errors
/// If there is no response within 30 seconds. A status of 4xx or 5xx is a response.
pub async fn exchange(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Result<Response> {
    with_headers(url, Request::builder().method(method).uri(url), headers, body).await
}

async fn with_headers(
    url: &str,
    mut request: Builder,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Response> {
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(url, request.body(Full::from(body.to_owned()))).await
}

async fn send(url: &str, request: hyper::http::Result<Request<Full<Bytes>>>) -> Result<Response> {
    let request = request.with_context(|| format!("{url} is not a URL"))?;
    let exchange = async {
        // A new client each time, because a pooled connection would belong to the runtime of one test.
        let client = Client::builder(TokioExecutor::new()).build_http();
        let response = client.request(request).await?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.into_body().collect().await?.to_bytes();
        anyhow::Ok(Response { status, body: String::from_utf8_lossy(&body).into_owned(), headers })
    };
    tokio::time::timeout(TIMEOUT, exchange)
        .await
        .with_context(|| format!("{url} did not respond within {} s", TIMEOUT.as_secs()))?
        .with_context(|| format!("{url} did not respond"))
}

fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}"); // writing to a String cannot fail
        }
        out
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn form_fields_are_escaped() {
        assert_eq!(super::escape("a b+c/é"), "a%20b%2Bc%2F%C3%A9");
    }
}
