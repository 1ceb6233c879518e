//! The policy of one kind that requires its author to be able to get every Secret that it refers to.
//!
//! CEL cannot traverse a document of unknown depth, but the CRD contains the path of each option. The paths become one expression per
//! field of the spec, which collects possible references to Secrets as texts: `s/NAME/KEY` of an option, `t/` and the text of a
//! template. A plain field that names a Secret is one of `s/NAME/`.

mod sources;

use serde_json::{Value, json};

use super::{Kind, Policy};
use sources::{SEPARATOR, properties};

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

/// The policy of a kind; `None` if no field of it can name a Secret.
pub(super) fn policy(kind: &Kind) -> Option<Policy> {
    let mut fields = Vec::new();
    for (field, schema) in properties(&kind.spec).into_iter().flatten() {
        if let Some(text) = sources::text(field, schema) {
            fields.push(format!("  '{field}': ({text}).split({SEPARATOR})"));
        }
    }
    if fields.is_empty() { None } else { Some(of_fields(kind, &fields)) }
}

/// The policy of all kinds of a group that are made at run time: their schemas are not known here.
pub(super) fn policy_of_any(kind: &Kind) -> Policy {
    of_fields(kind, &[format!("  'spec': ({}).split({SEPARATOR})", sources::anywhere("spec"))])
}

fn of_fields(kind: &Kind, fields: &[String]) -> Policy {
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
    Policy {
        rules: vec![kind.rule(&["CREATE", "UPDATE"], "")],
        conditions: vec![json!({
            "name": "spec-changes",
            "expression": "oldObject == null || object.?spec.orValue(null) != oldObject.?spec.orValue(null)",
        })],
        variables,
        validations: validations(),
    }
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

#[cfg(test)]
mod tests {
    use kraken_testing::{manifests, paths};

    use super::{sources::is_secret_name, *};

    /// The expression that collects the references of a kind whose spec has these fields.
    fn sources(fields: &Value) -> Option<String> {
        let kind = Kind {
            group: "a.b".to_owned(),
            plural: "keys".to_owned(),
            is_internal: false,
            has_status: true,
            spec: json!({"properties": fields}),
        };
        let policy = policy(&kind)?;
        let sources = policy.variables.iter().find(|variable| variable["name"] == "sources");
        sources.and_then(|sources| sources["expression"].as_str()).map(str::to_owned)
    }

    #[test]
    fn plain_field_that_names_a_secret_is_a_reference() {
        let name = json!({"type": "string", "title": "SecretName"});
        let one = sources(&json!({"generate": {"properties": {"secretName": name}}})).unwrap();
        let expected = r"'generate': ([?spec.?generate.?secretName].map(n, 's/' + n + '/').join('\u0000')).split('\u0000')";
        assert!(one.contains(expected), "{one}");
        let list = sources(&json!({"names": {"items": name}})).unwrap();
        let expected =
            r"spec.?names.orValue([]).filter(e0, type(e0) == string).map(e0, 's/' + e0 + '/').join('\u0000')";
        assert!(list.contains(expected), "{list}");
        let map =
            sources(&json!({"names": {"additionalProperties": {"properties": {"name": name}}}})).unwrap();
        let expected =
            r"transformList(k0, e0, type(e0) == map, [?e0.?name].map(n, 's/' + n + '/').join('\u0000'))";
        assert!(map.contains(expected), "{map}");
        assert_eq!(sources(&json!({"vpcName": {"type": "string"}})), None);
    }

    #[test]
    fn options_and_plain_names_of_one_field_are_both_references() {
        let name = json!({"type": "string", "title": "SecretName"});
        let option = json!({"properties": {"valueFrom": {"properties": {"templateString": {}}}}});
        let both = sources(&json!({"key": {"properties": {"name": name, "text": option}}})).unwrap();
        assert!(both.contains("[?spec.?key.?text.?valueFrom].filter("), "{both}");
        assert!(both.contains(" + '\\u0000' + [?spec.?key.?name].map("), "{both}");
    }

    /// The plain fields below a schema whose name contains `secret`: their path, and whether the policy checks them.
    fn plain_fields(schema: &Value, at: &str, found: &mut Vec<(String, bool)>) {
        for (field, schema) in properties(schema).into_iter().flatten() {
            let path = format!("{at}.{field}");
            if schema["type"] == "string" && field.to_lowercase().contains("secret") {
                found.push((path.clone(), is_secret_name(schema)));
            }
            plain_fields(schema, &path, found);
        }
        for elements in [&schema["items"], &schema["additionalProperties"]] {
            if elements.is_object() {
                plain_fields(elements, at, found);
            }
        }
    }

    /// A field of type `String` instead of `SecretName` would not be checked.
    #[test]
    fn every_plain_field_of_a_kind_that_names_a_secret_is_checked() {
        // The type of a Secret, and not its name.
        const OTHERS: [&str; 1] = ["configexports.secretType"];
        let crds = manifests::read(&paths::workspace_root().unwrap().join("crds")).unwrap();
        let mut found = Vec::new();
        for crd in crds.iter().filter(|crd| crd.value["kind"] == "CustomResourceDefinition") {
            let kind = Kind::of(&crd.value).unwrap();
            if !kind.is_internal {
                plain_fields(&kind.spec, &kind.plural, &mut found);
            }
        }
        assert!(found.contains(&("keypairs.generate.secretName".to_owned(), true)), "{found:?}");
        found.retain(|(path, is_checked)| !is_checked && !OTHERS.contains(&path.as_str()));
        assert!(found.is_empty(), "use kraken_options::SecretName: {found:?}");
    }
}
