//! The requests of Kraken according to Kubernetes: the audit log of the service accounts in `kraken-system`.
//!
//! Requests are counted at the API server and not in the client, so that retries and conflicts are included.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// Logs the writes of Kraken's service accounts, and their reads of single objects.
pub(crate) const POLICY: &str = r#"apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:kraken-system"]
  verbs: [get, create, update, patch, delete, deletecollection]
- level: None
"#;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The service account's name, which is the controller's binary name.
    pub controller: String,
    /// `get`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// The plural, with the subresource if there is one: `ec2instances/status`.
    pub resource: String,
    /// The object's namespace; empty for a cluster-wide one.
    pub namespace: String,
    /// The object's name; empty when the server chose it.
    pub name: String,
    /// The status code of the response.
    pub code: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    user: User,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Status,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    code: u16,
}

/// Reads the log after its first `skipped` lines. A last line that the server is still writing is read by the next call.
pub(crate) fn read(log: &Path, skipped: usize) -> Result<Vec<Request>> {
    complete(&text(log)?).lines().skip(skipped).map(parse).collect()
}

/// The number of lines of the log.
pub(crate) fn lines(log: &Path) -> Result<usize> {
    Ok(complete(&text(log)?).lines().count())
}

fn text(log: &Path) -> Result<String> {
    fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))
}

fn complete(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..end])
}

fn parse(line: &str) -> Result<Request> {
    let line: Line = serde_json::from_str(line).context("the audit log has a line that is not an event")?;
    let ObjectRef { resource, subresource, namespace, name } = line.object_ref;
    let resource = if subresource.is_empty() { resource } else { format!("{resource}/{subresource}") };
    let controller = line.user.username.rsplit(':').next().unwrap_or_default().to_owned();
    Ok(Request { controller, verb: line.verb, resource, namespace, name, code: line.response_status.code })
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_event_becomes_a_request() {
        let line = r#"{"verb":"patch","user":{"username":"system:serviceaccount:kraken-system:kraken-hub"},
            "objectRef":{"resource":"configexports","subresource":"status","namespace":"a","name":"b"},
            "responseStatus":{"code":200}}"#;
        let request = super::parse(line).unwrap();
        assert_eq!(request.controller, "kraken-hub");
        assert_eq!(request.resource, "configexports/status");
        assert_eq!((request.verb.as_str(), request.code), ("patch", 200));
    }
}
