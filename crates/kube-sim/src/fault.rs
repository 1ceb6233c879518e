//! The `Status` bodies of a kube-apiserver: reason, code, details and causes as clients match them.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::cause::{Cause, quoted};
use super::kinds::Kind;

/// What an optimistic lock that does not hold is called.
pub(super) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// The HTTP status.
    pub code: u16,
    reason: &'static str,
    message: String,
    details: Value,
}

impl Fault {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null }
    }

    fn of(mut self, kind: &Kind, name: &str) -> Self {
        self.details = named(name, &kind.group, &kind.plural);
        self
    }

    /// There is no such object.
    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {} not found", kind.resource(), quoted(name));
        Self::new(404, "NotFound", message).of(kind, name)
    }

    /// There is no such path.
    pub(super) fn no_path() -> Self {
        let mut fault = Self::new(404, "NotFound", "the server could not find the requested resource");
        fault.details = json!({});
        fault
    }

    /// There is an object of this name.
    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {} already exists", kind.resource(), quoted(name));
        Self::new(409, "AlreadyExists", message).of(kind, name)
    }

    /// There is an object of the name of an object that also has a prefix for names.
    pub(super) fn already_generated(kind: &Kind, name: &str) -> Self {
        let group = kind.internal_group();
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!(
            "{}{dot}{group} {} already exists, the server was not able to generate a unique name for the object",
            kind.plural,
            quoted(name)
        );
        let mut fault = Self::new(409, "AlreadyExists", message);
        fault.details = named(name, group, &kind.plural);
        fault.details["retryAfterSeconds"] = json!(1);
        fault
    }

    /// With a prefix.
    pub(super) fn prefixed(mut self, prefix: &str) -> Self {
        self.message.insert_str(0, prefix);
        self
    }

    /// The object is not the one that the write is for.
    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {}: {why}", kind.resource(), quoted(name));
        Self::new(409, "Conflict", message).of(kind, name)
    }

    /// A precondition of a deletion does not hold; here the kind stands where the resource does elsewhere.
    pub(super) fn delete_conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let group = kind.internal_group();
        let dot = if group.is_empty() { "" } else { "." };
        let message =
            format!("Operation cannot be fulfilled on {}{dot}{group} {}: {why}", kind.kind, quoted(name));
        let mut fault = Self::new(409, "Conflict", message);
        fault.details = named(name, group, &kind.kind);
        fault
    }

    /// Other managers own fields that an apply would change.
    pub(super) fn apply_conflict(message: String, causes: &[Cause]) -> Self {
        let mut fault = Self::new(409, "Conflict", message);
        fault.details = json!({"causes": causes_of(causes)});
        fault
    }

    /// The object breaks its schema or a rule of its kind.
    pub(super) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_as(&kind.kind, kind.internal_group(), name, causes)
    }

    /// As [`Self::invalid`], of any kind.
    pub(super) fn invalid_as(kind: &str, group: &str, name: &str, causes: &[Cause]) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let why = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{kind}{dot}{group} {} is invalid: {why}", quoted(name));
        let mut fault = Self::new(422, "Invalid", message);
        fault.details = named(name, group, kind);
        if let Value::Object(details) = &mut fault.details {
            details.insert("causes".to_owned(), causes_of(causes));
        }
        fault
    }

    /// An operation of a JSON patch that cannot be done, or a `test` that does not hold.
    pub(super) fn patch_failed() -> Self {
        let message = "the server rejected our request due to an error in our request";
        let mut fault = Self::new(422, "Invalid", message);
        fault.details = json!({});
        fault
    }

    /// The result of a patch cannot be decoded.
    pub(super) fn of_patch(self) -> Self {
        if self.code != 400 {
            return self;
        }
        let message = format!("Invalid value: {}", self.message);
        Self::invalid_as(
            "",
            "",
            "",
            &[Cause { reason: "FieldValueInvalid", message, field: "patch".to_owned() }],
        )
    }

    /// The result of an apply cannot be decoded.
    pub(super) fn unconverted(self) -> Self {
        if self.code == 400 { Self::internal(self.message) } else { self }
    }

    /// A request that cannot be read.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The path is there but not for this method.
    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let mut fault = Self::new(405, "MethodNotAllowed", message);
        fault.details = json!({});
        fault
    }

    /// A body in a form that the server does not take.
    pub(super) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// Nothing is created in a namespace that is being deleted.
    pub(super) fn terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut fault = Self::forbidden(kind, name, &why);
        if let Value::Object(details) = &mut fault.details {
            details.insert(
                "causes".to_owned(),
                json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"),
                    "field": "metadata.namespace",
                }]),
            );
        }
        fault
    }

    /// An admission plugin rejects the request.
    pub(super) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", kind.resource())
        } else {
            format!("{} {} is forbidden: {why}", kind.resource(), quoted(name))
        };
        Self::new(403, "Forbidden", message).of(kind, name)
    }

    /// The version to watch or list from is compacted.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The version to list at is not reached yet.
    pub(super) fn too_large_version(requested: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let mut fault = Self::new(504, "Timeout", format!("Timeout: {message}"));
        fault.details = json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        });
        fault
    }

    /// What only a bug of the server or a strange request leads to.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: 500, reason: "", message: message.into(), details: Value::Null }
    }

    /// The body of the response.
    pub(super) fn body(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Value::Object(status) = &mut status {
            if !self.reason.is_empty() {
                status.insert("reason".to_owned(), self.reason.into());
            }
            if !self.details.is_null() {
                status.insert("details".to_owned(), self.details.clone());
            }
        }
        status
    }

    /// The HTTP status.
    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The body of a deletion that is complete.
pub(super) fn deleted(kind: &Kind, name: &str, uid: &Value) -> Value {
    let mut details = named(name, &kind.group, &kind.plural);
    details["uid"] = uid.clone();
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// Empty fields are left out.
fn named(name: &str, group: &str, kind: &str) -> Value {
    let fields = [("name", name), ("group", group), ("kind", kind)];
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(fields.map(|(key, text)| (key.to_owned(), text.into())).collect::<Map<_, _>>())
}

fn causes_of(causes: &[Cause]) -> Value {
    let one = |cause: &Cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field});
    Value::Array(causes.iter().map(one).collect())
}
