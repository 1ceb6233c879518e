//! Readable differences between two responses.

use std::fmt;

use serde_json::Value;

use super::steps::{Step, StepAction};

/// The first step with different responses, with the preceding steps.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The steps, with the differing one at the end.
    pub steps: Vec<Step>,
    /// By path: the values of the in-memory API server and of kube-apiserver.
    pub paths: Vec<(String, Value, Value)>,
    /// What kube-apiserver answered.
    pub(super) answer: Value,
}

impl Difference {
    /// Whether the state of the two servers may differ now, so that continuing is pointless.
    pub(super) fn is_final(&self) -> bool {
        let is_request = self
            .steps
            .last()
            .is_some_and(|step| matches!(step.what, StepAction::Call(_) | StepAction::Watch(_)));
        let changes = |path: &str| {
            path == "/status"
                || path.ends_with("metadata/resourceVersion")
                || path.ends_with("metadata/generation")
        };
        !is_request || self.paths.iter().any(|(path, ..)| changes(path))
    }

    /// The signature of a difference: the method and the differing paths, without indexes and names.
    pub fn signature(&self) -> String {
        let method = match self.steps.last().map(|step| &step.what) {
            Some(StepAction::Call(request)) => match &request.content_type {
                Some(content_type) => format!("{} {content_type}", request.method),
                None => request.method.clone(),
            },
            Some(StepAction::Watch(_)) => "WATCH".to_owned(),
            Some(StepAction::Read(_)) => "READ".to_owned(),
            _ => "SETTLE".to_owned(),
        };
        let mut places: Vec<String> =
            self.paths.iter().take(4).map(|(path, left, right)| place(path, left, right)).collect();
        places.sort();
        places.dedup();
        format!("{method} differs in {}", places.join(", "))
    }
}

/// A path without indices; of a message, also what it says.
fn place(path: &str, left: &Value, right: &Value) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| part.parse::<usize>().is_err()).take(5).collect();
    let path = parts.join("/");
    if path == "/status" {
        return format!("{path} {left} {right}");
    }
    if !path.ends_with("message") {
        return path;
    }
    let text = right.as_str().unwrap_or_default();
    let words: String = text.split('"').step_by(2).collect::<Vec<_>>().join("_").chars().take(70).collect();
    format!("{path} ({words})")
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "  {}", step.line())?;
        }
        let message = &self.answer["body"]["message"];
        if message.is_string() {
            writeln!(f, "    kube-apiserver responds: {message}")?;
        }
        for (path, left, right) in &self.paths {
            writeln!(f, "    {path}\n      in memory: {left}\n      real:      {right}")?;
        }
        Ok(())
    }
}

/// All paths at which two values differ; `null` for a missing value.
pub(super) fn between(left: &Value, right: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    collect(String::new(), left, right, &mut found);
    found
}

fn collect(path: String, left: &Value, right: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (left, right) {
        (Value::Object(l), Value::Object(r)) => {
            let mut keys: Vec<&String> = l.keys().chain(r.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                match (l.get(key), r.get(key)) {
                    (Some(l), Some(r)) => collect(format!("{path}/{key}"), l, r, found),
                    (l, r) => found.push((format!("{path}/{key}"), absent(l), absent(r))),
                }
            }
        }
        (Value::Array(l), Value::Array(r)) => {
            for index in 0..l.len().max(r.len()) {
                match (l.get(index), r.get(index)) {
                    (Some(l), Some(r)) => collect(format!("{path}/{index}"), l, r, found),
                    (l, r) => found.push((format!("{path}/{index}"), absent(l), absent(r))),
                }
            }
        }
        (l, r) if l == r => {}
        (l, r) => found.push((path, l.clone(), r.clone())),
    }
}

fn absent(value: Option<&Value>) -> Value {
    value.cloned().unwrap_or_else(|| "(absent)".into())
}
