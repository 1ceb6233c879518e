//! AdmissionReviews: any body, sent to the real router with the webhook of a kind.

use std::{
    convert::Infallible,
    sync::{Arc, LazyLock},
};

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes};
use kraken_runtime::webhook::{AdmissionResponse, AdmissionReview, Hook, Mounts, router};
use kraken_spoke::admission::Admission;
use kraken_testing::fuzz::{self, Rng, Target, require};
use kraken_tests::toy::{Gadget, GadgetKind};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::mutated_document;

const API_VERSION: &str = "admission.k8s.io/v1";
/// The maximum length of a warning with its `…`, in bytes: the API server shows no more.
const MAX_WARNING: usize = 243;

const WORDS: &[&str] = &[
    "request",
    "uid",
    "operation",
    "CREATE",
    "UPDATE",
    "DELETE",
    "CONNECT",
    "object",
    "oldObject",
    "spec",
    "metadata",
    "name",
    "namespace",
    "apiVersion",
    "kind",
    "size",
    "colour",
    "count",
    "password",
    "lifecycle",
    "protect",
    "value",
    "valueFrom",
    "ref",
    "secret",
    "templateString",
    "{{ .Secret.db.k }}",
    "{{",
    "VPC/main/$..*",
    "dependsOn",
    "ignoreChanges",
    API_VERSION,
    "AdmissionReview",
    "",
    "\0",
    "\r\n",
    "\u{202e}",
];
const DICTIONARY: &[&str] = &[
    "\"request\": {",
    "\"operation\": \"UPDATE\"",
    "\"object\": null",
    "\"uid\": \"",
    "\"spec\": {",
    "null",
    "1e999",
    "\\ud800",
    "\\u0000",
    "[[[[[[[[[[[[",
    "{\"a\":",
    "\"response\": {",
    "\"apiVersion\": \"admission.k8s.io/v1beta1\"",
    "\u{feff}",
];

/// The router with the webhook of gadgets.
struct Server {
    runtime: Runtime,
    mounts: Mounts,
    path: String,
}

static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(|| {
    let hook = Hook::of_kind::<Gadget>();
    let mounts = Mounts::default();
    mounts.mount(&hook, Admission::new(Arc::new(GadgetKind::default())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(Server { runtime, mounts, path: hook.path() })
});

#[test]
fn no_review_breaks_the_webhook() -> Result<()> {
    fuzz::run(&Target { name: "reviews", dictionary: DICTIONARY, generate: &generated, check: &check })
}

fn generated(rng: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let document = if rng.u8(..4) == 0 {
        let operation = rng.choice(["CREATE", "UPDATE", "DELETE", "CONNECT"]).unwrap_or_default();
        let mut object = || {
            let spec = json!({"size": fuzz::json(rng, WORDS), "colour": {"valueFrom": fuzz::json(rng, WORDS)}, "lifecycle": {}});
            json!({"apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": spec})
        };
        let (object, old) = (object(), object());
        let request =
            json!({"uid": "u", "operation": operation, "name": "a", "object": object, "oldObject": old});
        json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": request})
    } else {
        mutated_document(rng, corpus, WORDS)
    };
    document.to_string().into_bytes()
}

fn check(input: &[u8]) -> Result<(), String> {
    let (status, answer) = send(input).map_err(|error| format!("{error:#}"))?;
    let most = 64 * 1024 + 16 * input.len();
    require(answer.len() <= most, || format!("{} bytes are answered with {}", input.len(), answer.len()))?;
    let review = serde_json::from_slice::<AdmissionReview>(input).ok();
    let request = review.filter(|review| review.api_version == API_VERSION).and_then(|review| review.request);
    let Some(request) = request else {
        return require((400..500).contains(&status), || {
            format!("an invalid review is answered with {status}")
        });
    };
    require(status == 200, || format!("a review is answered with {status}"))?;
    let review =
        serde_json::from_slice::<AdmissionReview>(&answer).map_err(|error| format!("the answer: {error}"))?;
    let is_review =
        review.api_version == API_VERSION && review.kind == "AdmissionReview" && review.request.is_none();
    require(is_review, || "the answer is not a review with a response".to_owned())?;
    let response = review.response.ok_or("the answer has no response")?;
    require(response.uid == request.uid, || format!("the uid {:?} became {:?}", request.uid, response.uid))?;
    well_formed(&response)
}

fn well_formed(response: &AdmissionResponse) -> Result<(), String> {
    let status = response.status.as_ref();
    require(status.is_none() == response.allowed, || {
        format!("allowed is {}, with {status:?}", response.allowed)
    })?;
    if let Some(status) = status {
        let message = status.message.as_deref().unwrap_or_default();
        require(status.code == Some(422) && !message.is_empty(), || format!("the status is {status:?}"))?;
        let causes = status.details.as_ref().and_then(|details| details.causes.as_ref()).map_or(0, Vec::len);
        require((1..=64).contains(&causes), || format!("{causes} causes"))?;
    }
    require(response.warnings.len() <= 16, || format!("{} warnings", response.warnings.len()))?;
    let fits = |warning: &String| warning.len() <= MAX_WARNING && !warning.contains(char::is_control);
    require(response.warnings.iter().all(fits), || format!("the warnings are {:?}", response.warnings))
}

/// The status and the body of the answer.
fn send(input: &[u8]) -> Result<(u16, Vec<u8>)> {
    let server = SERVER.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let request =
        Request::post(&server.path).body(Full::<Bytes>::from(input.to_vec())).context("no request")?;
    server.runtime.block_on(async {
        let answered: Result<_, Infallible> = router(server.mounts.clone()).oneshot(request).await;
        let response = answered.context("no answer")?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.context("the body of the answer is incomplete")?;
        Ok((status, body.to_bytes().to_vec()))
    })
}

#[test]
fn valid_review_is_allowed_and_a_mistake_is_rejected() -> Result<()> {
    let review = |size: u32| {
        let object = json!({
            "apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Gadget",
            "metadata": {"name": "a", "namespace": "ns"}, "spec": {"size": {"value": size}},
        });
        let request =
            json!({"uid": "u", "operation": "CREATE", "name": "a", "namespace": "ns", "object": object});
        json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": request}).to_string()
    };
    for (size, allowed) in [(3, true), (300, false)] {
        let (status, answer) = send(review(size).as_bytes())?;
        let answer: Value = serde_json::from_slice(&answer)?;
        assert_eq!((status, &answer["response"]["allowed"]), (200, &json!(allowed)), "{answer}");
    }
    Ok(())
}
