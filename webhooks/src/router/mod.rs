//! Routes and responses of AdmissionReviews.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Bytes, HttpBody as _},
    extract::{DefaultBodyLimit, FromRequest, Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use futures::FutureExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};
use kraken_options::{Problem, summary};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};
use tracing::{debug, error};

use crate::{
    Operation,
    connections::Progress,
    mounts::{Mounts, ReviewResult, Subject, Validator},
    review::{API_VERSION, AdmissionRequest, AdmissionResponse, AdmissionReview},
};

/// The maximum size of a review: the API server accepts objects of 1.5 MiB (3 MiB as JSON), and an update contains two.
const MAX_BODY: usize = 8 * 1024 * 1024;
/// A review of at most this size needs no permit: that of an ordinary object has a few KiB, so that large ones, which any pod can
/// send, do not hold it up.
const SMALL: u64 = 64 * 1024;
/// How many KiB all larger reviews together may take at a time. Decoded, a review takes up to 25 times as much.
const LARGE_KIB: usize = 12 * 1024;
/// The timeout of a request, from its head to the end of the review: a body that arrives in pieces must not hold a connection. Below
/// the `timeoutSeconds` of the configuration, so that the response arrives in time.
const DEADLINE: Duration = Duration::from_secs(4);
/// The maximum number of warnings, each truncated to the length that the API server shows.
const MAX_WARNINGS: usize = 16;
const MAX_WARNING: usize = 240;
/// The maximum number of problems that are listed by field, in addition to the message.
const MAX_CAUSES: usize = 64;

/// What the requests share.
#[derive(Clone)]
struct Shared {
    mounts: Mounts,
    /// A permit for each KiB of large reviews.
    large: Arc<Semaphore>,
}

/// The routes: one for each hook, which returns 503 until its validator is mounted.
pub fn router(mounts: Mounts) -> Router {
    Router::new()
        .route("/validate/{hook}", post(answer))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Shared { mounts, large: Arc::new(Semaphore::new(LARGE_KIB)) })
}

/// The permits for a body of at most this size, until it is reviewed; `None` if there are not enough before the deadline.
async fn permits(large: &Semaphore, size: u64, deadline: Instant) -> Option<Option<SemaphorePermit<'_>>> {
    if size <= SMALL {
        return Some(None);
    }
    let kib = u32::try_from(size.div_ceil(1024)).unwrap_or(u32::MAX);
    let permit = tokio::time::timeout_at(deadline, large.acquire_many(kib)).await;
    permit.ok()?.ok().map(Some)
}

async fn answer(State(Shared { mounts, large }): State<Shared>, request: Request) -> Response {
    let (path, progress) = (request.uri().path().to_owned(), request.extensions().get::<Progress>().cloned());
    let deadline = Instant::now() + DEADLINE;
    let size = request.body().size_hint().upper().unwrap_or(u64::MAX).min(MAX_BODY as u64);
    let Some(_permits) = permits(&large, size, deadline).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many large reviews at once\n").into_response();
    };
    let body = match tokio::time::timeout_at(deadline, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => {
            let why = format!("the request was not received within {} s\n", DEADLINE.as_secs());
            return (StatusCode::REQUEST_TIMEOUT, why).into_response();
        }
    };
    if let Some(progress) = progress {
        progress.received();
    }
    let Some(validator) = mounts.at(&path) else {
        // The API server handles it as a failure of the webhook.
        return (StatusCode::SERVICE_UNAVAILABLE, "no validator is mounted for this kind (yet)\n")
            .into_response();
    };
    let review: AdmissionReview = match serde_json::from_slice(&body) {
        Ok(review) => review,
        // The error may quote secret values.
        Err(_) => return (StatusCode::BAD_REQUEST, "the body is not an AdmissionReview\n").into_response(),
    };
    let Some(request) = review.request.filter(|_| review.api_version == API_VERSION) else {
        return (StatusCode::BAD_REQUEST, "expected an AdmissionReview v1 with a request\n").into_response();
    };
    let reviewed = AssertUnwindSafe(review_request(validator, request)).catch_unwind();
    match tokio::time::timeout_at(deadline, reviewed).await {
        Ok(Ok(response)) => json(&AdmissionReview::of(response)),
        Ok(Err(_)) => {
            error!(path, "a review panicked: please report this");
            (StatusCode::INTERNAL_SERVER_ERROR, "the review failed\n").into_response()
        }
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, "the review timed out\n").into_response(),
    }
}

fn json(review: &AdmissionReview) -> Response {
    match serde_json::to_vec(review) {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn review_request(validator: Arc<dyn Validator>, request: AdmissionRequest) -> AdmissionResponse {
    let AdmissionRequest {
        uid, kind, resource, namespace, name, operation, object, old_object, dry_run, ..
    } = request;
    let allowed = AdmissionResponse { uid: uid.clone(), allowed: true, ..AdmissionResponse::default() };
    let (reviewed, before) = match operation {
        Operation::Create => (object, None),
        Operation::Update => (object, old_object),
        Operation::Delete => (old_object, None),
        Operation::Connect => return allowed,
    };
    let Some(reviewed) = reviewed else { return allowed };
    let before = before.map(Arc::new);
    let subject = |object, before| Subject {
        operation,
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        plural: resource.resource.clone(),
        namespace: namespace.clone(),
        name: name.clone(),
        object,
        before,
        dry_run: dry_run.unwrap_or_default(),
    };
    // kubectl prints neither the file nor the object of a warning, and only the file of a rejection.
    let named = if name.is_empty() { kind.kind.clone() } else { format!("{}/{name}", kind.kind) };
    let mut verdict = validator.review(subject(Arc::new(reviewed), before.clone())).await;
    if let Some(before) = before.filter(|_| !verdict.problems.is_empty()) {
        let known = validator.review(subject(before, None)).await.problems;
        verdict = verdict.tolerating(&known);
    }
    debug!(
        kind = kind.kind,
        namespace,
        name,
        operation = operation.as_str(),
        refused = !verdict.problems.is_empty(),
        "reviewed"
    );
    AdmissionResponse {
        status: (!verdict.problems.is_empty()).then(|| Status {
            message: Some(format!("{named}: {}", summary(&verdict.problems))),
            details: Some(StatusDetails {
                group: Some(kind.group),
                kind: Some(kind.kind),
                name: Some(name).filter(|name| !name.is_empty()),
                causes: Some(causes(&verdict.problems)),
                ..StatusDetails::default()
            }),
            ..refusal()
        }),
        allowed: verdict.problems.is_empty(),
        warnings: verdict
            .warnings
            .iter()
            .take(MAX_WARNINGS)
            .map(|warning| cut(&format!("{named}: {warning}")))
            .collect(),
        ..allowed
    }
}

impl ReviewResult {
    /// A problem that the object already had does not block a change of another field: it is a warning.
    fn tolerating(self, known: &[Problem]) -> Self {
        let (old, new): (Vec<_>, Vec<_>) = self.problems.into_iter().partition(|problem| {
            known.iter().any(|known| (&known.field, &known.message) == (&problem.field, &problem.message))
        });
        let mut warnings = self.warnings;
        warnings.extend(old.iter().map(ToString::to_string));
        Self { problems: new, warnings }
    }
}

/// Like the API server's response to a schema violation: 422.
fn refusal() -> Status {
    Status {
        status: Some("Failure".to_owned()),
        code: Some(422),
        reason: Some("Invalid".to_owned()),
        ..Status::default()
    }
}

/// The problem of each field.
fn causes(problems: &[Problem]) -> Vec<StatusCause> {
    let cause = |problem: &Problem| {
        let dot = if problem.field.is_empty() { "" } else { "." };
        StatusCause {
            field: Some(format!("spec{dot}{}", problem.field)),
            message: Some(problem.message.clone()),
            reason: Some("FieldValueInvalid".to_owned()),
        }
    };
    problems.iter().take(MAX_CAUSES).map(cause).collect()
}

fn cut(text: &str) -> String {
    // A line break would end the HTTP header of the warning.
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() <= MAX_WARNING {
        return line;
    }
    format!("{}…", &line[..line.floor_char_boundary(MAX_WARNING)])
}

#[cfg(test)]
mod tests;
