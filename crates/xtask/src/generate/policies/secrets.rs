//! The policy of one kind that requires its author to be able to get every Secret that it refers to.
//!
//! CEL cannot traverse a document of unknown depth, but the CRD contains the path of each option. The paths become one expression per
//! field of the spec, which collects possible references to Secrets as texts: `s/NAME/KEY` of an option, `t/` and the text of a
//! template.

use serde_json::{Map, Value, json};

use super::{Kind, Policy};

/// Separates texts. No reference in a template can contain it: names consist of letters, digits, `-` and `.`.
const SEPARATOR: &str = r"'\u0000'";
/// The maximum number of new Secrets in a change without the permission to get all: each check costs 350,000 of the
/// policy's budget of 10,000,000.
const MOST: usize = 20;
/// Each expression has 1,000,000.
const CHECKS_PER_EXPRESSION: usize = 2;

/// A reference to a Secret in a template, up to the name of the Secret. It accepts what `kraken_options::Template` does: any white
/// space, the kind in any case and with hyphens, names in brackets.
const REFERENCE: &str = concat!(
    r"r'\{\{[\s\x{0B}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*",
    r"(\.?\[[\x22\x27]-*(?i:s-*e-*c-*r-*e-*t)-*[\x22\x27]\]|\.-*(?i:s-*e-*c-*r-*e-*t)-*)",
    r"(\.[a-z0-9][-a-z0-9]*|\[[\x22\x27]?[a-z0-9][-a-z0-9.]*)'",
);
/// The name at the end of such a match: in brackets, where it may have dots, or behind a dot.
const NAME: &str = concat!(
    r"m.find(r'[\[\x22\x27][a-z0-9][-a-z0-9.]*$') != '' ? m.find(r'[a-z0-9][-a-z0-9.]*$') : ",
    r"m.find(r'[a-z0-9][-a-z0-9]*$')",
);
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

/// The policy of a kind; `None` if no field of it can name a Secret.
pub(super) fn policy(kind: &Kind) -> Option<Policy> {
    let mut fields = Vec::new();
    for (field, schema) in properties(&kind.spec).into_iter().flatten() {
        let mut found = Found::default();
        found.walk(schema, &step("spec", field), 0);
        if !found.is_empty() {
            fields.push(format!("  '{field}': ({}).split({SEPARATOR})", found.text()));
        }
    }
    if fields.is_empty() {
        return None;
    }
    // An export whose target changes exports all its values to another object.
    let moves = if kind.spec["properties"]["configMetadata"].is_object() {
        " || object.spec.configType != oldObject.spec.configType || \
         object.spec.configMetadata.name != oldObject.spec.configMetadata.name"
    } else {
        ""
    };
    let variable = |name: &str, expression: String| json!({"name": name, "expression": expression});
    let variables = vec![
        variable(
            "specs",
            format!(
                "[object.?spec.orValue({{}}), oldObject == null{moves} ? {{}} : oldObject.?spec.orValue({{}})]"
            ),
        ),
        variable("sources", format!("variables.specs.map(spec, {{\n{}\n}})", fields.join(",\n"))),
        variable(
            "added",
            format!(
                "variables.sources[0].map(f, variables.sources[0][f].filter(s, s != '' && !(s in variables.sources[1][f]))\
                 .join({SEPARATOR})).join({SEPARATOR}).split({SEPARATOR})"
            ),
        ),
        variable(
            "named",
            format!(
                "variables.added.map(s, s.startsWith('s/') ? s.split('/')[1] :\n  s.findAll({REFERENCE})\n  .map(m, {NAME})\
                 .join('/')).join('/').split('/').filter(n, n != '')"
            ),
        ),
        variable(
            "secrets",
            "variables.named.transformList(i, n, variables.named.indexOf(n) == i, n)".to_owned(),
        ),
        variable(
            "readsAll",
            "authorizer.group('').resource('secrets').namespace(request.namespace).check('get').allowed()"
                .to_owned(),
        ),
    ];
    Some(Policy {
        rules: vec![kind.rule(&["CREATE", "UPDATE"], "")],
        conditions: vec![json!({
            "name": "spec-changes",
            "expression": "oldObject == null || object.?spec.orValue(null) != oldObject.?spec.orValue(null)",
        })],
        variables,
        validations: validations(),
    })
}

fn validations() -> Vec<Value> {
    let message = "'you must be allowed to get the Secrets that this resource refers to: ' + variables.secrets.join(', ')";
    let check = |first: usize| {
        let indices: Vec<String> = (first..first + CHECKS_PER_EXPRESSION).map(|i| i.to_string()).collect();
        json!({
            "expression": format!(
                "variables.secrets.size() <= {first} || variables.readsAll || [{}].all(i, i >= variables.secrets.size() || \
                 authorizer.group('').resource('secrets').namespace(request.namespace).name(variables.secrets[i])\
                 .check('get').allowed())",
                indices.join(", ")
            ),
            "messageExpression": message,
            "reason": "Forbidden",
        })
    };
    let mut validations = vec![json!({
        "expression": format!("variables.secrets.size() <= {MOST} || variables.readsAll"),
        "message": format!(
            "a change that refers to more than {MOST} new Secrets requires the permission to get all Secrets of the namespace: add them in \
             several changes"
        ),
        "reason": "Forbidden",
    })];
    validations.extend((0..MOST).step_by(CHECKS_PER_EXPRESSION).map(check));
    validations
}

/// The paths of options, relative to one object.
#[derive(Default)]
struct Found {
    /// Expressions of their `valueFrom`, each optional.
    options: Vec<String>,
    /// Expressions of texts, for lists and maps.
    texts: Vec<String>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.options.is_empty() && self.texts.is_empty()
    }

    /// Finds the options below `at`, an expression of the object or an optional of it.
    fn walk(&mut self, schema: &Value, at: &str, depth: usize) {
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
        for (elements, each) in [
            (
                &schema["items"],
                format!("{at}.orValue([]).filter({element}, type({element}) == map).map({element}, "),
            ),
            (
                &schema["additionalProperties"],
                format!("{at}.orValue({{}}).transformList(k{depth}, {element}, type({element}) == map, "),
            ),
        ] {
            if !elements.is_object() {
                continue;
            }
            let mut below = Self::default();
            below.walk(elements, &element, depth + 1);
            if !below.is_empty() {
                self.texts.push(format!("{each}{}).join({SEPARATOR})", below.text()));
            }
        }
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
        parts.extend(self.texts.iter().cloned());
        parts.join(&format!(" + {SEPARATOR} + "))
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
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
