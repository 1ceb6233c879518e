//! Policy documents as they are written in a spec. Pure.

use serde_json::{Value, json};

use super::canonical::{Document, PRINCIPALS, Statement, object, texts};
use crate::import::{Fields, literal};

/// The elements that a statement of a spec can express.
const PERMISSIONS: [&str; 7] =
    ["Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"];
const TRUST: [&str; 5] = ["Sid", "Effect", "Principal", "Action", "Condition"];
const RESOURCE: [&str; 8] =
    ["Sid", "Effect", "Principal", "Action", "NotAction", "Resource", "NotResource", "Condition"];

/// A document in a spec: its statements, or its JSON if they have another element.
pub fn imported(text: &str) -> Option<Value> {
    of(text, &PERMISSIONS)
}

/// The same of a trust policy.
pub fn imported_trust(text: &str) -> Option<Value> {
    of(text, &TRUST)
}

/// The same of the policy of a resource.
pub fn imported_resource(text: &str) -> Option<Value> {
    of(text, &RESOURCE)
}

fn of(text: &str, known: &[&'static str]) -> Option<Value> {
    let document = Document::parse(text).ok()?;
    let is_plain = document.version() == "2012-10-17" && document.id().is_empty();
    let statements: Option<Vec<Value>> =
        is_plain.then(|| document.statements().iter().map(|one| statement(one, known)).collect()).flatten();
    Some(match statements {
        Some(statements) => json!({"statements": statements}),
        None => json!({"json": literal(document.text())}),
    })
}

/// None for other elements than those known. Not from the canonical form, whose texts are in lower case.
fn statement(statement: &Statement, known: &[&'static str]) -> Option<Value> {
    let mut fields = Fields::default();
    for (name, value) in object(&statement.written, "", known).ok()? {
        match name {
            "Sid" => fields.one("sid", value.as_str().as_ref()),
            "Effect" => fields.one("effect", Some(value)),
            "Action" => fields.own("actions", Some(list(value)?)),
            "NotAction" => fields.own("notActions", Some(list(value)?)),
            "Resource" => fields.own("resources", Some(list(value)?)),
            "NotResource" => fields.own("notResources", Some(list(value)?)),
            "Principal" => fields.own("principals", Some(principals(value)?)),
            "Condition" => fields.own("conditions", Some(json!(conditions(value)?))),
            _ => return None,
        }
    }
    fields.group()
}

fn list(value: &Value) -> Option<Value> {
    texts(value, "").ok().map(literal)
}

fn principals(value: &Value) -> Option<Value> {
    if value.as_str() == Some("*") {
        return Some(json!({"aws": literal(["*"])}));
    }
    let mut fields = Fields::default();
    for (name, names) in object(value, "", &PRINCIPALS).ok()? {
        let field = match name {
            "AWS" => "aws",
            "Service" => "services",
            "Federated" => "federated",
            _ => return None,
        };
        fields.own(field, Some(list(names)?));
    }
    fields.group()
}

fn conditions(value: &Value) -> Option<Vec<Value>> {
    let mut all = vec![];
    for (operator, keys) in value.as_object()? {
        for (key, values) in keys.as_object()? {
            let (operator, key) = (literal(operator), literal(key));
            all.push(json!({"operator": operator, "key": key, "values": list(values)?}));
        }
    }
    Some(all)
}
