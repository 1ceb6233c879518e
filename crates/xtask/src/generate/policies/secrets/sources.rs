//! The expression that collects what a part of a spec refers to.

use kraken_api::crd::at_run_time::MAX_OPTION_DEPTH;
use serde_json::{Map, Value};

/// Separates texts. No reference in a template can contain it: names consist of letters, digits, `-` and `.`.
pub(super) const SEPARATOR: &str = r"'\u0000'";
/// The title of the schema of a plain field that names a Secret: `kraken_options::SecretName`.
const SECRET_NAME: &str = "SecretName";
/// The words that CEL does not accept as the name of a field.
const RESERVED: [&str; 20] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
];

/// The expression of one text with all that may name a Secret in a field of the spec; `None` if nothing in it can.
pub(super) fn text(field: &str, schema: &Value) -> Option<String> {
    let mut found = Found::default();
    found.walk(schema, &step("spec", field), 0);
    (!found.is_empty()).then(|| found.text())
}

/// The expression of one text with all that may name a Secret anywhere in a spec.
pub(super) fn anywhere(spec: &str) -> String {
    below(spec, 0)
}

fn below(at: &str, depth: usize) -> String {
    let source = format!("{at}.valueFrom");
    let own = format!(
        "(type({at}) == map && 'valueFrom' in {at} && type({source}) == map ? ({}) : '')",
        source_text(&source)
    );
    if depth == MAX_OPTION_DEPTH {
        return own;
    }
    let element = format!("e{depth}");
    format!(
        "{own} + {SEPARATOR} + (type({at}) == list ? {at} : type({at}) == map ? {at}.map(k{depth}, {at}[k{depth}]) : [])         .map({element}, {}).join({SEPARATOR})",
        below(&element, depth + 1)
    )
}

/// The text of a source of which it is known that it is a map.
fn source_text(source: &str) -> String {
    format!(
        "has({source}.secret) ? 's/' + {source}.secret.name + '/' + {source}.secret.key : has({source}.templateString) ?          't/' + {source}.templateString : ''"
    )
}

/// The paths of options, relative to one object.
#[derive(Default)]
struct Found {
    /// Expressions of their `valueFrom`, each optional.
    options: Vec<String>,
    /// Expressions of the names of Secrets, each optional.
    names: Vec<String>,
    /// Expressions of texts, for lists and maps.
    texts: Vec<String>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.options.is_empty() && self.names.is_empty() && self.texts.is_empty()
    }

    /// Finds the options and the names below `at`, an expression of the object or an optional of it.
    fn walk(&mut self, schema: &Value, at: &str, depth: usize) {
        if is_secret_name(schema) {
            self.names.push(at.to_owned());
            return;
        }
        // The sources of an option, or of one that takes Secrets only.
        let is_secret = schema["properties"]["secret"]["properties"]["key"].is_object();
        if is_secret || schema["properties"]["templateString"].is_object() {
            self.options.push(at.to_owned());
            return;
        }
        for (field, schema) in properties(schema).into_iter().flatten() {
            self.walk(schema, &step(at, field), depth);
        }
        let element = format!("e{depth}");
        if let Some((type_, text)) = Self::element(&schema["items"], &element, depth) {
            self.texts.push(format!(
                "{at}.orValue([]).filter({element}, type({element}) == {type_}).map({element}, {text}).join({SEPARATOR})"
            ));
        }
        if let Some((type_, text)) = Self::element(&schema["additionalProperties"], &element, depth) {
            self.texts.push(format!(
                "{at}.orValue({{}}).transformList(k{depth}, {element}, type({element}) == {type_}, {text})\
                 .join({SEPARATOR})"
            ));
        }
    }

    /// The type in CEL of the elements of a list or a map that can name a Secret, and the text of one.
    fn element(schema: &Value, element: &str, depth: usize) -> Option<(&'static str, String)> {
        if !schema.is_object() {
            return None;
        }
        if is_secret_name(schema) {
            return Some(("string", reference(element)));
        }
        let mut below = Self::default();
        below.walk(schema, element, depth + 1);
        (!below.is_empty()).then(|| ("map", below.text()))
    }

    /// One text with all that may name a Secret.
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if !self.options.is_empty() {
            let options: Vec<String> = self.options.iter().map(|option| format!("?{option}")).collect();
            parts.push(format!(
                "[{}].filter(s, has(s.secret) || has(s.templateString)).map(s, has(s.secret) ? \
                 's/' + s.secret.name + '/' + s.secret.key : 't/' + s.templateString).join({SEPARATOR})",
                options.join(", ")
            ));
        }
        if !self.names.is_empty() {
            let names: Vec<String> = self.names.iter().map(|name| format!("?{name}")).collect();
            parts.push(format!("[{}].map(n, {}).join({SEPARATOR})", names.join(", "), reference("n")));
        }
        parts.extend(self.texts.iter().cloned());
        parts.join(&format!(" + {SEPARATOR} + "))
    }
}

pub(super) fn is_secret_name(schema: &Value) -> bool {
    schema["title"] == SECRET_NAME
}

/// The text of a plain name. No option has it, because a key is not empty.
fn reference(name: &str) -> String {
    format!("'s/' + {name} + '/'")
}

pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The expression of a field, absent if the field or its parent is absent.
fn step(at: &str, field: &str) -> String {
    let is_name = field.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && field.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_name && !RESERVED.contains(&field) {
        format!("{at}.?{field}")
    } else {
        format!("{at}[?{}]", Value::from(field))
    }
}
