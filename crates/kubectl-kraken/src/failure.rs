//! Errors of requests as one line that says what to do.

use anyhow::{Error, anyhow};

/// What went wrong with a request, and what to do. `doing` is a phrase such as `list vpcs in namespace shop`.
pub(crate) fn explain(error: kube::Error, doing: &str, server: &str) -> Error {
    let kube::Error::Api(status) = &error else {
        return anyhow!(
            "no answer from the API server at {server}: {}; check the context (kubectl config current-context) and the network",
            innermost(&error)
        );
    };
    match status.code {
        401 => anyhow!(
            "the API server at {server} rejects the credentials; log in again, or choose another --context"
        ),
        403 => anyhow!("you may not {doing}: ask for the ClusterRole that permits it ({})", status.message),
        _ => anyhow!("failed to {doing}: {}", status.message),
    }
}

/// Whether a request was rejected for lack of rights.
pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// Whether the reader of the output ended.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The cause that says most: the outer ones are of the client library.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
