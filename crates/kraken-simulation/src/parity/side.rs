//! One of the two servers, with its responses so far.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use anyhow::{Context as _, Result};
use http::{
    Request as HttpRequest,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT},
};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body as KubeBody};
use serde_json::{Value, json};

use super::{
    normal::Normaliser,
    steps::{Body, Request},
    stream::Stream,
    template::Answers,
};

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// How long an event that is expected may take.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A server and what it answered.
#[derive(Debug)]
pub(super) struct Side {
    client: Debugless,
    answers: Answers,
    pub(super) normal: Normaliser,
    watches: BTreeMap<usize, Stream>,
    /// Watches that others than the requests wrote to since they were last read.
    pub(super) disturbed: BTreeSet<usize>,
    /// Every collection that a request named, across namespaces.
    collections: BTreeSet<String>,
}

struct Debugless(Client);

impl std::fmt::Debug for Debugless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Side {
    /// `prefix` begins the name of each namespace.
    pub(super) fn new(client: Client, prefix: &str) -> Self {
        Self {
            client: Debugless(client),
            answers: Answers { prefix: prefix.to_owned(), by_step: BTreeMap::new() },
            normal: Normaliser::new(prefix),
            watches: BTreeMap::new(),
            disturbed: BTreeSet::new(),
            collections: BTreeSet::new(),
        }
    }

    /// Makes a request; the answer in the form that is compared.
    pub(super) async fn call(&mut self, step: usize, request: &Request) -> Result<Value> {
        self.note(request);
        if request.query.iter().any(|(key, _)| key == "resourceVersion") {
            self.refresh(request).await?;
        }
        let (status, body) = self.send(request).await?;
        let bytes = body.collect().await.context("the response was interrupted")?.to_bytes();
        let raw = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| json!({"text": String::from_utf8_lossy(&bytes)}));
        let is_everywhere = collection(&request.path).as_deref() == Some(request.path.as_str());
        let raw = self.own(raw, is_everywhere);
        if let Body::Json(body) = &request.body {
            // A name may be generated and then be refused.
            if let (Some(prefix), Some(name)) = (
                body.pointer("/metadata/generateName").and_then(Value::as_str),
                raw["details"]["name"].as_str(),
            ) {
                self.normal.generated(prefix, name);
            }
        }
        let normal = self.normal.of(&raw);
        self.answers.by_step.insert(step, raw);
        Ok(json!({"status": status, "body": normal}))
    }

    /// Opens a watch; what it answers to that.
    pub(super) async fn watch(&mut self, step: usize, request: &Request) -> Result<Value> {
        self.note(request);
        self.refresh(request).await?;
        let (status, body) = self.send(request).await?;
        if status == 200 {
            self.watches.insert(step, Stream::new(body));
            return Ok(json!({"status": status}));
        }
        let bytes = body.collect().await.context("the response was interrupted")?.to_bytes();
        let raw = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(json!({"status": status, "body": self.normal.of(&raw)}))
    }

    /// What a watch says, and how many events those are.
    pub(super) async fn read(
        &mut self,
        watch: usize,
        at_least: usize,
        quiet: Duration,
    ) -> Result<(Value, usize)> {
        let prefix = self.answers.prefix.clone();
        // Others' events come from watches of all namespaces, and are no sign that those of this run are there.
        let counts = |event: &Value| event["type"] == "ERROR" || is_of(&prefix, &event["object"]);
        let Some(stream) = self.watches.get_mut(&watch) else { return Ok((json!("not open"), 0)) };
        let (mut events, ended) = stream.read(at_least, quiet, TIMEOUT, counts).await?;
        events.retain(counts);
        let count = events.len();
        let events = if self.disturbed.remove(&watch) {
            self.last_of_each(&events)
        } else {
            events.iter().map(|event| self.normal.of(event)).collect()
        };
        Ok((json!({"events": events, "ended": ended}), count))
    }

    pub(super) fn open_watches(&self) -> Vec<usize> {
        self.watches.keys().copied().collect()
    }

    pub(super) fn disturb_watches(&mut self) {
        self.disturbed = self.watches.keys().copied().collect();
    }

    /// All objects of this run, as they are.
    pub(super) async fn objects(&self) -> Result<BTreeMap<String, Value>> {
        let mut all = BTreeMap::new();
        for collection in &self.collections {
            let request = Request { method: "GET".into(), path: collection.clone(), ..Request::default() };
            let (status, body) = self.send(&request).await?;
            let bytes = body.collect().await.context("the response was interrupted")?.to_bytes();
            if status == 200 {
                let list: Value = serde_json::from_slice(&bytes).context("a list is no JSON")?;
                all.insert(collection.clone(), self.own(list, true)["items"].clone());
            }
        }
        Ok(all)
    }

    /// The last event of each object, without versions: in which order others wrote is up to them.
    fn last_of_each(&mut self, events: &[Value]) -> Vec<Value> {
        let mut last = BTreeMap::new();
        for event in events {
            let mut event = event.clone();
            if let Some(metadata) = event.pointer_mut("/object/metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
            }
            let event = self.normal.of(&event);
            let metadata = &event["object"]["metadata"];
            last.insert(format!("{}/{}", metadata["namespace"], metadata["name"]), event);
        }
        last.into_values().collect()
    }

    /// Waits until the server's cache, from which it answers such requests, has all that was written.
    async fn refresh(&self, request: &Request) -> Result<()> {
        let Some(path) = collection(&request.path) else { return Ok(()) };
        let query = vec![("limit".to_owned(), "1".to_owned())];
        let request = Request { method: "GET".into(), path, query, ..Request::default() };
        let (_, body) = self.send(&request).await?;
        body.collect().await.context("the response was interrupted")?;
        Ok(())
    }

    fn note(&mut self, request: &Request) {
        self.collections.extend(collection(&request.path));
    }

    async fn send(&self, request: &Request) -> Result<(u16, KubeBody)> {
        let mut uri = self.answers.text(&request.path);
        for (index, (key, value)) in request.query.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            uri = format!("{uri}{separator}{key}={}", encoded(&self.answers.text(value)));
        }
        let is_collection = collection(&request.path).is_some_and(|whole| {
            whole.rsplit('/').next().is_some_and(|plural| request.path.ends_with(plural))
        });
        let accept = match (request.metadata_only, is_collection) {
            (false, _) => "application/json",
            (true, false) => METADATA,
            (true, true) if request.query.iter().any(|(key, _)| key == "watch") => METADATA,
            (true, true) => METADATA_LIST,
        };
        let mut head = HttpRequest::builder()
            .method(request.method.as_str())
            .uri(uri)
            .header(USER_AGENT, "parity/1.0")
            .header(ACCEPT, accept);
        if request.body != Body::None {
            head = head.header(CONTENT_TYPE, request.content_type.as_deref().unwrap_or("application/json"));
        }
        let body = self.answers.body(&request.body);
        let request = head.body(KubeBody::from(body)).context("cannot build the request")?;
        let answer = self.client.0.send(request).await.context("the request failed")?;
        Ok((answer.status().as_u16(), answer.into_body()))
    }

    /// A list without what other runs have in the same cluster, if it is one of all namespaces.
    fn own(&self, mut value: Value, is_everywhere: bool) -> Value {
        if is_everywhere && value.get("items").is_some_and(Value::is_null) {
            value["items"] = json!([]);
        }
        if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
            items.retain(|item| self.is_own(item));
        }
        value
    }

    fn is_own(&self, object: &Value) -> bool {
        is_of(&self.answers.prefix, object)
    }
}

/// Whether an object is in a namespace, or is one, that begins with this prefix.
fn is_of(prefix: &str, object: &Value) -> bool {
    // Others' events are not ours, either.
    if object["deprecatedSource"]["component"] == "garbage-collector-controller" {
        return false;
    }
    let metadata = &object["metadata"];
    let place = metadata["namespace"].as_str().or_else(|| metadata["name"].as_str());
    place.is_none_or(|place| place.starts_with(prefix))
}

/// The path of the collection that a request names, across namespaces.
fn collection(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let root = if parts.first() == Some(&"apis") { 3 } else { 2 };
    let plural = match parts.get(root..)? {
        ["namespaces", _, plural, ..] if *plural != "status" && *plural != "finalize" => plural,
        [plural, ..] => plural,
        [] => return None,
    };
    Some(format!("/{}/{plural}", parts[..root].join("/")))
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
