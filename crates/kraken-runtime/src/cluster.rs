//! The cluster id: the UID of the namespace `kube-system`, which is unique for every cluster.
//!
//! It is part of the identity of all remote objects, so no controller can start without it. Reading it also shows
//! whether the API server is reachable.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use tokio_util::sync::CancellationToken;

use crate::errors::one_line;

/// The delay after the first failure; it doubles with each further failure.
const BACKOFF_BASE: Duration = Duration::from_secs(1);
/// The maximum delay: a recovered API server is detected within it.
const BACKOFF_MAX: Duration = Duration::from_secs(15);

/// The namespace whose UID identifies a cluster.
pub(crate) const IDENTIFYING_NAMESPACE: &str = "kube-system";

/// Reads the cluster's id, retrying until it succeeds; `None` if `shutdown` fires first.
///
/// When a cluster starts, the API server may not be available yet, and permissions may be applied together with the
/// controller. Therefore a failure is logged and never ends the process.
pub(crate) async fn id(client: &Client, name: &str, shutdown: &CancellationToken) -> Option<String> {
    let api: Api<Namespace> = Api::all(client.clone());
    let mut pause = BACKOFF_BASE;
    loop {
        let result = tokio::select! {
            biased;
            () = shutdown.cancelled() => return None,
            read = api.get(IDENTIFYING_NAMESPACE) => read,
        };
        match result.map(|namespace| namespace.uid()) {
            Ok(Some(uid)) => return Some(uid),
            Ok(None) => tracing::warn!("the namespace {IDENTIFYING_NAMESPACE} has no UID"),
            Err(error) => tracing::warn!(
                retry_in = %humantime::format_duration(pause),
                "{}: {}", description(&error, name), one_line(&error)
            ),
        }
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return None,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(BACKOFF_MAX);
    }
}

/// The meaning of the failure for the person who installs the controller.
fn description(error: &kube::Error, name: &str) -> String {
    match error {
        kube::Error::Api(status) if status.code == 401 => {
            "the Kubernetes API does not accept this controller's credentials".to_owned()
        }
        kube::Error::Api(status) if status.is_forbidden() => {
            format!("this controller lacks permissions (`{name} rbac` prints the required ones)")
        }
        kube::Error::Api(_) => "the Kubernetes API rejects the request for the cluster id".to_owned(),
        _ => "cannot reach the Kubernetes API".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    static CALLS: AtomicUsize = AtomicUsize::new(0);

    /// Rejects two requests, then responds.
    fn unavailable_at_first() -> Client {
        let server = service_fn(|_: Request<Body>| async {
            if CALLS.fetch_add(1, Ordering::SeqCst) < 2 {
                return Err(std::io::Error::other("connection refused"));
            }
            Ok(Response::new(Body::from(br#"{"metadata":{"name":"kube-system","uid":"u-1"}}"#.to_vec())))
        });
        Client::new(server, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_waits_for_an_api_server_that_starts_late() {
        let id = id(&unavailable_at_first(), "kraken-test", &CancellationToken::new()).await;
        assert_eq!(id.as_deref(), Some("u-1"));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_process() {
        let server = service_fn(|_: Request<Body>| async {
            Err::<Response<Body>, _>(std::io::Error::other("connection refused"))
        });
        let shutdown = CancellationToken::new();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(100)).await;
            shutdown.cancel();
        };
        let client = Client::new(server, "default");
        let (id, ()) = tokio::join!(id(&client, "kraken-test", &shutdown), stop);
        assert_eq!(id, None);
    }

    #[test]
    fn missing_permissions_are_reported_with_the_rbac_command() {
        let status = kube::core::Status::failure("no", "Forbidden").with_code(403);
        let text = description(&kube::Error::Api(Box::new(status)), "kraken-hub");
        assert!(text.contains("`kraken-hub rbac`"), "{text}");
    }
}
