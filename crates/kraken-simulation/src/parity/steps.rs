//! A sequence of requests, written so that it means the same on both servers and each step can be left out.
//!
//! A text may hold `<<a>>`, a namespace of this run, and `<<17/metadata/uid>>`, what the answer to step 17 said at that
//! path on the same server: UIDs, resource versions, generated names and continue tokens differ between servers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One step of a sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What later steps refer to it by; it stays when others are left out.
    pub id: usize,
    /// What is done.
    pub what: StepAction,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StepAction {
    /// A request with one answer.
    Call(Request),
    /// A watch is opened; the step's id is its name from then on.
    Watch(Request),
    /// All pending events of a watch are read.
    Read(usize),
    /// The garbage collector and the namespace controller come to an end; then all objects are compared.
    Settle,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// From the root, without the query.
    pub path: String,
    /// The query, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<(String, String)>,
    /// The media type of the body. Default: `application/json`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Whether only the metadata is requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub metadata_only: bool,
    /// The body.
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub body: Body,
}

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// There is none.
    #[default]
    None,
    /// This.
    Json(Value),
    /// This, which need not be JSON.
    Text(String),
    /// The answer to an earlier step, with changes.
    Edited {
        /// The step of the response.
        step: usize,
        /// By JSON pointer: the new value, or nothing to take it out.
        edits: Vec<(String, Option<Value>)>,
    },
}

impl Body {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl Step {
    /// In one line, for people.
    pub fn line(&self) -> String {
        match &self.what {
            StepAction::Call(request) => format!("{}: {}", self.id, request.line()),
            StepAction::Watch(request) => format!("{}: watch {}", self.id, request.line()),
            StepAction::Read(watch) => format!("{}: read watch {watch}", self.id),
            StepAction::Settle => format!("{}: settle", self.id),
        }
    }
}

impl Request {
    /// What kind of request it is, for the counts of a run.
    pub(super) fn operation(&self) -> String {
        let has = |key: &str| self.query.iter().any(|(name, _)| name == key);
        // A placeholder contains slashes.
        let path: String =
            self.path.split("<<").map(|part| part.split_once(">>").map_or(part, |(_, rest)| rest)).collect();
        let parts: Vec<&str> = path.split('/').collect();
        let parts = parts.get(1..).unwrap_or_default();
        let root = if parts.first() == Some(&"apis") { 3 } else { 2 };
        let rest = parts.get(root..).unwrap_or_default();
        let rest = if rest.len() > 2 && rest.first() == Some(&"namespaces") { &rest[2..] } else { rest };
        let (is_named, subresource) = (rest.len() > 1, rest.get(2).copied().unwrap_or_default());
        let mut words = vec![match (self.method.as_str(), is_named) {
            ("GET", false) => "LIST",
            ("DELETE", false) => "DELETE of all",
            (method, _) => method,
        }];
        words.push(match self.content_type.as_deref().unwrap_or_default() {
            "application/apply-patch+yaml" => "apply",
            "application/merge-patch+json" => "merge",
            "application/json-patch+json" => "json",
            _ => "",
        });
        words.push(subresource);
        words.extend(["limit", "continue", "dryRun", "force"].into_iter().filter(|key| has(key)));
        words.push(if self.metadata_only { "metadata" } else { "" });
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }

    /// In one line, for people.
    pub fn line(&self) -> String {
        let query: Vec<String> = self.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let mut line = format!("{} {}", self.method, self.path);
        if !query.is_empty() {
            line = format!("{line}?{}", query.join("&"));
        }
        if let Some(content_type) = &self.content_type {
            line = format!("{line} ({content_type})");
        }
        if self.metadata_only {
            line.push_str(" (metadata)");
        }
        match &self.body {
            Body::None => line,
            Body::Json(value) => format!("{line} {value}"),
            Body::Text(text) => format!("{line} {text:?}"),
            Body::Edited { step, edits } => format!("{line} answer {step} with {}", serde_json::json!(edits)),
        }
    }
}
