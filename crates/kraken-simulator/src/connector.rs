//! The simulator without sockets: an HTTP client for AWS's SDK whose calls are executed in this process.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use hyper::body::Bytes;

use super::accounts::{assumed, credential};
use super::calling::{Reply, answer, request_id};
use super::form::Form;
use super::hook::{Answer, Call, Hook, HookAction};
use super::refusal::Refusal;
use super::service::Service;
use super::shared::Shared;
use super::simulator::Simulator;

/// The cloud of a call, by the access key and the region of its signature.
type Route<H> = Box<dyn Fn(&str, &str) -> (Arc<Shared>, Arc<H>) + Send + Sync>;

/// The cloud that a call goes to, and what is called before and after its effect.
type Destination<H> = (Arc<Simulator>, Arc<H>);

impl Simulator {
    /// An HTTP client for the SDK of one process: `hook` is called before and after the effect of every call. It must be
    /// used within a runtime; a call that has arrived takes effect even if its caller has ended, as in AWS.
    pub fn connector(&self, hook: Arc<impl Hook>) -> SharedHttpClient {
        let shared = Arc::clone(&self.shared);
        client(move |_, _| (Arc::clone(&shared), Arc::clone(&hook)))
    }

    /// The same for a process that works in several accounts and regions: the access key and the region of a call's
    /// signature determine its cloud. Any role can be assumed; the access key of its session is `ASIA`, a dash and the number
    /// of the account.
    pub fn routed<H: Hook>(
        route: impl Fn(&str, &str) -> Destination<H> + Send + Sync + 'static,
    ) -> SharedHttpClient {
        client(move |key, region| {
            let (simulator, hook) = route(key, region);
            (Arc::clone(&simulator.shared), hook)
        })
    }
}

fn client<H: Hook>(
    route: impl Fn(&str, &str) -> (Arc<Shared>, Arc<H>) + Send + Sync + 'static,
) -> SharedHttpClient {
    SharedHttpClient::new(InProcess(Arc::new(Inner {
        route: Box::new(route),
        numbers: AtomicU64::default(),
    })))
}

struct Inner<H> {
    route: Route<H>,
    numbers: AtomicU64,
}

struct InProcess<H>(Arc<Inner<H>>);

impl<H> Clone for InProcess<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H> fmt::Debug for InProcess<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InProcess")
    }
}

impl<H: Hook> HttpClient for InProcess<H> {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl<H: Hook> HttpConnector for InProcess<H> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = Bytes::copy_from_slice(request.body().bytes().unwrap_or_default());
        let signature = request.headers().get("authorization").and_then(credential).unwrap_or_default();
        let (shared, hook) = (self.0.route)(signature.0, signature.1);
        let number = self.0.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        HttpConnectorFuture::new(async move {
            let work = tokio::spawn(async move { answered(&shared, &*hook, number, body).await });
            let closed = |message: &str| ConnectorError::io(io::Error::other(message.to_owned()).into());
            let reply = work.await.map_err(|error| closed(&error.to_string()))?;
            let Some((status, body)) = reply else { return Err(closed("closed without a response")) };
            let status = status.try_into().map_err(|error| ConnectorError::other(Box::new(error), None))?;
            let mut response = HttpResponse::new(status, SdkBody::from(body));
            response.headers_mut().insert("content-type", "text/xml;charset=UTF-8");
            Ok(response)
        })
    }
}

async fn answered(shared: &Shared, hook: &impl Hook, number: u64, body: Bytes) -> Option<(u16, Bytes)> {
    let call = Call { number, ..Call::cloud(&body) };
    let form = Form::parse(&String::from_utf8_lossy(&body));
    // The credentials of a session are no object of the cloud: nothing about them is simulated but their account.
    if call.name == "AssumeRole" {
        let role = form.get("RoleArn").unwrap_or_default();
        let key = format!("ASIA-{}", role.split(':').nth(4).unwrap_or_default());
        return Some((200, assumed(role, &key).into()));
    }
    if let Some(instead) = applied(hook.before(&call).await, &form) {
        return instead.map(|reply| (reply.status, reply.body.into()));
    }
    let reply = answer(&form, shared).await?;
    let reply = Answer { status: reply.status, body: reply.body.into() };
    match applied(hook.after(&call, &reply).await, &form) {
        None => Some((reply.status, reply.body)),
        Some(instead) => instead.map(|reply| (reply.status, reply.body.into())),
    }
}

/// The result of an action that does not forward the call.
fn applied(action: HookAction, form: &Form) -> Option<Option<Reply>> {
    let service = Service::of(form.get("Version"));
    match action {
        HookAction::Pass => None,
        HookAction::Drop => Some(None),
        // A success without its body.
        HookAction::Refuse(200) => Some(Some(Reply { status: 200, body: String::new() })),
        HookAction::Refuse(status) => {
            let refusal = match status {
                429 | 503 => Refusal::throttled(service),
                401 | 403 => Refusal::with_status(
                    status,
                    "AuthFailure",
                    "AWS was not able to validate the provided access credentials",
                ),
                _ => Refusal::with_status(status, "InternalError", "An internal error has occurred"),
            };
            Some(Some(Reply { status: refusal.status, body: refusal.xml(service, &request_id(0)) }))
        }
    }
}
