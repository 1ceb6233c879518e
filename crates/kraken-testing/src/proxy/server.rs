//! The proxy's HTTP side.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kraken_simulator::serve::serve;
use kraken_simulator::{FailureMode, FailurePoint};
use tokio::sync::oneshot;

use super::script::Fault;
use super::{Call, Shared};
use crate::headers::end_to_end;

type Upstream = Client<HttpConnector, Full<Bytes>>;

/// Serves until `stopped`, then drops all connections.
pub(super) async fn run(
    listener: std::net::TcpListener,
    upstream: String,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    let client: Upstream = Client::builder(TokioExecutor::new()).build_http();
    let upstream: Arc<str> = upstream.into();
    serve(listener, "AWS proxy", stopped, move |request| {
        let (client, upstream, shared) = (client.clone(), Arc::clone(&upstream), Arc::clone(&shared));
        async move { answer(request, &client, &upstream, &shared).await }
    })
    .await;
}

/// Handles one call. With an `Err`, hyper closes the connection without a response.
async fn answer(
    request: Request<Incoming>,
    client: &Upstream,
    upstream: &str,
    shared: &Shared,
) -> io::Result<Response<Full<Bytes>>> {
    let at = Instant::now();
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let action = action(&head, &body);
    let fault = {
        let mut state = shared.lock();
        *state.arrived.entry(action.clone()).or_default() += 1;
        state.script.take(&action)
    };
    let note = |status: Option<u16>| {
        let call = Call { at, action: action.clone(), status, duration: at.elapsed() };
        shared.lock().journal.push(call);
    };

    if let Some(Fault { when: FailurePoint::Before, how }) = &fault {
        match how {
            FailureMode::Error { status, code, message } => {
                note(Some(*status));
                return Ok(error(*status, code, message));
            }
            FailureMode::Drop => {
                note(None);
                return Err(io::Error::other("dropped by the script"));
            }
            FailureMode::Delay(delay) => tokio::time::sleep(*delay).await,
        }
    }
    let response = corrected(&action, forward(head, body, client, upstream).await).await;
    note(Some(response.status().as_u16()));
    if let Some(Fault { when: FailurePoint::After, how }) = &fault {
        match how {
            FailureMode::Error { status, code, message } => return Ok(error(*status, code, message)),
            FailureMode::Drop => return Err(io::Error::other("dropped by the script")),
            FailureMode::Delay(delay) => tokio::time::sleep(*delay).await,
        }
    }
    Ok(response)
}

async fn forward(head: Parts, body: Bytes, client: &Upstream, upstream: &str) -> Response<Full<Bytes>> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let exchange = async {
        let mut request =
            Request::builder().method(head.method).uri(format!("{upstream}{path}")).body(Full::from(body))?;
        *request.headers_mut() = end_to_end(head.headers);
        let (head, body) = client.request(request).await?.into_parts();
        let mut response = Response::new(Full::from(body.collect().await?.to_bytes()));
        *response.status_mut() = head.status;
        *response.headers_mut() = end_to_end(head.headers);
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(response)
    };
    exchange
        .await
        .unwrap_or_else(|problem| error(502, "BadGateway", &format!("no response from moto: {problem}")))
}

/// moto gives the root of this response a name of its own, which only the SDK of Rust reads.
async fn corrected(action: &str, response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    if action != "GetBucketVersioning" {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(body) = body.collect().await;
    let text = String::from_utf8_lossy(&body.to_bytes())
        .replace("GetBucketVersioningResponse", "VersioningConfiguration");
    head.headers.remove("content-length");
    Response::from_parts(head, Full::from(text))
}

/// The API call: `Action` of the query protocol's form, the end of the path of RPC with CBOR, or the last part of `X-Amz-Target`, else the
/// path, after the method of a call that changes something: `POST /2013-04-01/hostedzone`.
fn action(head: &Parts, body: &[u8]) -> String {
    if let Some((_, operation)) = head.uri.path().rsplit_once("/operation/") {
        return operation.to_owned();
    }
    let query = head.uri.query().unwrap_or_default();
    let form = String::from_utf8_lossy(body);
    let named = form.split('&').chain(query.split('&')).find_map(|field| field.strip_prefix("Action="));
    if let Some(action) = named {
        return action.to_owned();
    }
    if let Some(action) = action_of_s3(head) {
        return action.to_owned();
    }
    let target = head.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    match target.and_then(|target| target.rsplit('.').next()) {
        Some(target) => target.to_owned(),
        None if head.method == Method::GET => head.uri.path().to_owned(),
        None => format!("{} {}", head.method, head.uri.path()),
    }
}

/// Those calls of S3 about a bucket that tests count or let fail. Neither a header nor the body names them, but the method and the query.
fn action_of_s3(head: &Parts) -> Option<&'static str> {
    let signed = head.headers.get("authorization").and_then(|value| value.to_str().ok());
    let is_of_bucket = !head.uri.path().trim_matches('/').is_empty()
        && !head.uri.path()[1..].trim_end_matches('/').contains('/');
    if !is_of_bucket || !signed.is_some_and(|signed| signed.contains("/s3/aws4_request")) {
        return None;
    }
    let query = head.uri.query().unwrap_or_default();
    let of = |(method, parameter, _): &&(Method, &str, &str)| {
        head.method == *method && query.trim_end_matches('=') == *parameter
    };
    let calls = [
        (Method::PUT, "", "CreateBucket"),
        (Method::DELETE, "", "DeleteBucket"),
        (Method::GET, "tagging", "GetBucketTagging"),
        (Method::GET, "versioning", "GetBucketVersioning"),
    ];
    calls.iter().find(of).map(|(_, _, name)| *name)
}

fn error(status: u16, code: &str, message: &str) -> Response<Full<Bytes>> {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code>\
         <Message>{message}</Message></Error></Errors><RequestID>kraken-testing</RequestID></Response>"
    );
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("text/xml"));
    response
}
