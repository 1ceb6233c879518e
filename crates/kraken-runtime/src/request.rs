//! A layer for every request to the API server: limits concurrency and time, and counts requests.
//!
//! kube 5 has no deadline for requests (a call on a dead connection hangs for minutes) and no limit of their number.
//! Both are enforced here, below every `Api`, so that no caller can forget them. A watch is bounded until its stream
//! begins; then kube-runtime ends it if it has no data for longer than the server's watch timeout.
//!
//! A request that the API server postpones (429 with `Retry-After`: it was not executed) is repeated after that time, within the
//! same deadline, as client-go does. Without it, a watch would wait for its backoff whenever a CRD was just created.

use std::{
    error::Error,
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Method, Request, Response, StatusCode, Uri, header::RETRY_AFTER};
use http_body_util::{BodyExt, Either};
use kube::{
    Client,
    client::{Body, ClientBuilder, DynBody},
};
use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};
use tower::{Layer, Service};

use crate::metrics::Metrics;

type BoxError = Box<dyn Error + Send + Sync>;
/// A whole response, or the stream of a watch.
type Answer = Response<Either<Body, Box<DynBody>>>;

/// The shortest wait before a postponed request is repeated.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// The API server did not respond in time: it is unknown whether the request took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no response from the Kubernetes API within {}", humantime::format_duration(*.limit))]
pub struct DeadlineExceeded {
    /// The deadline.
    pub limit: Duration,
}

/// Whether a request failed because its deadline passed.
pub fn is_deadline(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(source) if source.is::<DeadlineExceeded>())
}

/// Limits and counts the requests of one client.
#[derive(Clone, Debug)]
pub struct Bounds {
    limit: Duration,
    in_flight: Arc<Semaphore>,
    metrics: Metrics,
}

impl Bounds {
    /// At most `concurrency` concurrent requests, each for at most `limit` after it is sent.
    pub fn new(limit: Duration, concurrency: usize, metrics: Metrics) -> Self {
        Self { limit, in_flight: Arc::new(Semaphore::new(concurrency)), metrics }
    }

    /// A client of `service`, within these bounds.
    pub fn client<S>(&self, service: S) -> Client
    where
        S: Service<Request<Body>, Response = Response<Box<DynBody>>> + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        ClientBuilder::new(service, "default").with_layer(self).build()
    }
}

impl<S> Layer<S> for Bounds {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Bounded { inner: Arc::new(Mutex::new(inner)), bounds: self.clone() }
    }
}

/// A service within [`Bounds`].
#[derive(Debug)]
pub struct Bounded<S> {
    /// Locked only to send a request: kube's services cannot be cloned.
    inner: Arc<Mutex<S>>,
    bounds: Bounds,
}

impl<S> Service<Request<Body>> for Bounded<S>
where
    S: Service<Request<Body>, Response = Response<Box<DynBody>>> + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let what = RequestName::of(request.method(), request.uri());
        let (inner, Bounds { limit, in_flight, metrics }) = (self.inner.clone(), self.bounds.clone());
        Box::pin(async move {
            let (mut next, mut begun) = (Some(request), None);
            loop {
                // Waits here and not in poll_ready, because kube's client has one queue, which must not be blocked.
                let permit = in_flight.clone().acquire_owned().await?;
                let start = Instant::now();
                let deadline = *begun.get_or_insert(start) + limit;
                let Some(request) = next.take() else { return Err(DeadlineExceeded { limit }.into()) };
                next = copy(&request);
                let sent = answer(send(&inner, request), what.verb == "watch");
                let result = tokio::time::timeout_at(deadline, sent)
                    .await
                    .unwrap_or_else(|_| Err(DeadlineExceeded { limit }.into()));
                let code = result.as_ref().map_or("none", |response| class(response.status()));
                tracing::debug!(what.verb, what.resource, code, elapsed = ?start.elapsed(), "request");
                metrics.requested(what.verb, what.resource.clone(), code);
                drop(permit);
                match result.as_ref().ok().and_then(postponed) {
                    Some(wait) if next.is_some() && Instant::now() + wait < deadline => {
                        tokio::time::sleep(wait).await;
                    }
                    _ => return result,
                }
            }
        })
    }
}

/// Sends one request.
async fn send<S>(inner: &Mutex<S>, request: Request<Body>) -> Result<Response<Box<DynBody>>, S::Error>
where
    S: Service<Request<Body>, Response = Response<Box<DynBody>>>,
{
    let sent = {
        let mut inner = inner.lock().await;
        poll_fn(|context| inner.poll_ready(context)).await?;
        inner.call(request)
    };
    sent.await
}

/// A copy to repeat a request, if its body is in memory, as that of every request of kube's `Api`.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

/// How long the API server asks to wait before the request is repeated; it was not executed.
fn postponed<B>(response: &Response<B>) -> Option<Duration> {
    let header =
        response.headers().get(RETRY_AFTER).filter(|_| response.status() == StatusCode::TOO_MANY_REQUESTS)?;
    let seconds = header.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).max(SHORTEST_WAIT))
}

/// The response with its whole body, so that the deadline covers it; a watch's body is streamed.
async fn answer<F, E>(sent: F, watch: bool) -> Result<Answer, BoxError>
where
    F: Future<Output = Result<Response<Box<DynBody>>, E>>,
    E: Into<BoxError>,
{
    let (parts, body) = sent.await.map_err(Into::into)?.into_parts();
    let body = if watch && parts.status.is_success() {
        Either::Right(body)
    } else {
        Either::Left(Body::from(body.collect().await?.to_bytes()))
    };
    Ok(Response::from_parts(parts, body))
}

/// The verb and resource of a request, in the terms of the API server's audit log.
#[derive(Debug, PartialEq, Eq)]
struct RequestName {
    verb: &'static str,
    resource: String,
}

impl RequestName {
    fn of(method: &Method, uri: &Uri) -> Self {
        let path: Vec<&str> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let below = match path.as_slice() {
            ["api", _, below @ ..] | ["apis", _, _, below @ ..] => below,
            _ => &[],
        };
        let (resource, named) = match below {
            [] => ("other".to_owned(), false),
            ["namespaces", _, sub @ ("status" | "finalize")] => (format!("namespaces/{sub}"), true),
            ["namespaces", _, kind] | [kind] => ((*kind).to_owned(), false),
            ["namespaces", _, kind, _] | [kind, _] => ((*kind).to_owned(), true),
            ["namespaces", _, kind, _, sub, ..] | [kind, _, sub, ..] => (format!("{kind}/{sub}"), true),
        };
        let watch = || uri.query().is_some_and(|q| q.split('&').any(|p| p == "watch=true" || p == "watch=1"));
        let verb = match *method {
            Method::GET if watch() => "watch",
            Method::GET if !named && resource != "other" => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if named => "delete",
            Method::DELETE => "deletecollection",
            _ => "other",
        };
        Self { verb, resource }
    }
}

/// The class of a status: a bounded label.
fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..=299 => "2xx",
        300..=399 => "3xx",
        429 => "429",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kube::Api;
    use tower::service_fn;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(15);

    /// A body that sends `text` and then never ends.
    fn endless(text: &'static str) -> Box<DynBody> {
        let frames = futures::stream::unfold(true, move |first| async move {
            if !first {
                std::future::pending::<()>().await;
            }
            Some((Ok::<_, BoxError>(http_body::Frame::data(text.into())), false))
        });
        Box::new(http_body_util::StreamBody::new(Box::pin(frames)))
    }

    fn client<F>(metrics: &Metrics, answer: fn() -> F) -> Client
    where
        F: Future<Output = Result<Response<Box<DynBody>>, Infallible>> + Send + 'static,
    {
        let server = service_fn(move |_: Request<Body>| answer());
        Bounds::new(LIMIT, 2, metrics.clone()).client(server)
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_response_ends_at_its_deadline() {
        let metrics = Metrics::new("test");
        let client = client(&metrics, std::future::pending);
        let error = Api::<Namespace>::all(client).get("kube-system").await.unwrap_err();
        assert!(is_deadline(&error), "{error}");
        assert!(error.to_string().contains("within 15s"), "{error}");
        let counted = r#"kraken_kubernetes_requests_total{verb="get",resource="namespaces",code="none"} 1"#;
        assert!(metrics.encode().contains(counted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_incomplete_response_ends_at_its_deadline() {
        let client = client(&Metrics::new("test"), || async { Ok(Response::new(endless("{\"kind\":"))) });
        let error = Api::<Namespace>::all(client).get("kube-system").await.unwrap_err();
        assert!(is_deadline(&error), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_without_events_is_not_ended() {
        use futures::StreamExt;
        const EVENT: &str = concat!(r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#, "\n");
        let client = client(&Metrics::new("test"), || async { Ok(Response::new(endless(EVENT))) });
        let api = Api::<ConfigMap>::all(client);
        let mut events = api.watch(&kube::api::WatchParams::default(), "0").await.unwrap().boxed();
        assert!(events.next().await.unwrap().is_ok());
        assert!(tokio::time::timeout(LIMIT * 10, events.next()).await.is_err(), "the stream must stay open");
    }

    /// A server that postpones the first requests by a second each, and the bodies that it received.
    fn postponing(times: usize, header: &'static str) -> (Client, Arc<parking_lot::Mutex<Vec<String>>>) {
        let bodies = Arc::new(parking_lot::Mutex::new(vec![]));
        let seen = bodies.clone();
        let server = service_fn(move |request: Request<Body>| {
            let seen = seen.clone();
            async move {
                let body = request.into_body().collect_bytes().await.unwrap();
                seen.lock().push(String::from_utf8_lossy(&body).into_owned());
                let (code, answer) = match seen.lock().len() {
                    number if number <= times => (429, r#"{"kind":"Status","status":"Failure","code":429}"#),
                    _ => (200, r#"{"metadata":{"name":"a"}}"#),
                };
                let answer: Box<DynBody> =
                    Box::new(Body::from(answer.as_bytes().to_vec()).map_err(Into::into));
                Ok::<_, Infallible>(
                    Response::builder().status(code).header(header, "1").body(answer).unwrap(),
                )
            }
        });
        (Bounds::new(LIMIT, 1, Metrics::new("test")).client(server), bodies)
    }

    #[tokio::test(start_paused = true)]
    async fn a_postponed_request_is_repeated_when_the_api_server_asks_for_it() {
        let (client, bodies) = postponing(3, "retry-after");
        let start = Instant::now();
        let api = Api::<ConfigMap>::namespaced(client, "ns");
        let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#).unwrap();
        api.create(&kube::api::PostParams::default(), &map).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 3);
        let bodies = bodies.lock();
        assert!(bodies.len() == 4 && bodies.iter().all(|body| body.contains(r#""name":"a""#)), "{bodies:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_not_postponed_beyond_its_deadline_or_without_a_time() {
        for (header, tries) in [("retry-after", LIMIT.as_secs()), ("x-other", 1)] {
            let (client, bodies) = postponing(usize::MAX, header);
            let start = Instant::now();
            let error = Api::<Namespace>::all(client).get("a").await.unwrap_err();
            assert!(matches!(error, kube::Error::Api(status) if status.code == 429));
            assert_eq!(
                (bodies.lock().len() as u64, start.elapsed().as_secs()),
                (tries, tries - 1),
                "{header}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_requests_than_allowed_are_in_flight() {
        let client = client(&Metrics::new("test"), std::future::pending);
        let start = tokio::time::Instant::now();
        let api = Api::<Namespace>::all(client);
        futures::future::join_all((0..4).map(|_| api.get("kube-system"))).await;
        assert_eq!(start.elapsed().as_secs(), 30, "two at a time, 15 s each");
    }

    #[test]
    fn requests_are_named_as_in_an_audit_log() {
        for (method, uri, verb, resource) in [
            (Method::GET, "/api/v1/namespaces/kube-system", "get", "namespaces"),
            (Method::GET, "/api/v1/namespaces", "list", "namespaces"),
            (Method::PUT, "/api/v1/namespaces/a/finalize", "update", "namespaces/finalize"),
            (Method::GET, "/api/v1/secrets?limit=500&watch=true", "watch", "secrets"),
            (Method::GET, "/api/v1/namespaces/a/secrets/b", "get", "secrets"),
            (Method::POST, "/apis/events.k8s.io/v1/namespaces/a/events?", "create", "events"),
            (
                Method::PATCH,
                "/apis/aws.x/v1/namespaces/a/ec2instances/b/status",
                "patch",
                "ec2instances/status",
            ),
            (Method::DELETE, "/apis/aws.x/v1/namespaces/a/ec2instances", "deletecollection", "ec2instances"),
            (Method::DELETE, "/apis/a/v1/crds/b", "delete", "crds"),
            (Method::GET, "/version", "get", "other"),
            (Method::GET, "/apis/aws.x/v1", "get", "other"),
        ] {
            let what = RequestName::of(&method, &uri.parse().unwrap());
            assert_eq!((what.verb, what.resource.as_str()), (verb, resource), "{method} {uri}");
        }
    }
}
