//! The resources as YAML, as a person would write it: options on one line, with the former id as a comment. Pure.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{
    Selection,
    references::WAS,
    set::{Item, Set},
};

/// All resources.
pub(super) fn documents(set: &Set, selection: &Selection) -> String {
    let mut text = format!("# Imported by kubectl kraken from {}.\n", origin(set, selection));
    text += "# Each resource takes over an object that exists, and keeps it when the resource is deleted (lifecycle.adopt).\n";
    text += "# What is not written is not managed. Check with: kubectl kraken plan -f FILE\n";
    for (index, item) in set.items.iter().enumerate() {
        if index > 0 {
            text += "---\n";
        }
        text += &document(item, selection.use_account.as_deref());
    }
    text
}

fn origin(set: &Set, selection: &Selection) -> String {
    let location = set.location.as_deref().unwrap_or("the account");
    let tags: Vec<_> = selection.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    match &selection.vpc {
        Some(vpc) => comment(&format!("{vpc}, {location}")),
        None if tags.is_empty() => comment(location),
        None => comment(&format!("{location}, tags {}", tags.join(", "))),
    }
}

fn document(item: &Item, account: Option<&str>) -> String {
    let mut text = format!(
        "apiVersion: {}\nkind: {}\nmetadata: {{name: {}}}\nspec:\n",
        scalar(&item.api_version),
        scalar(&item.kind),
        scalar(&item.name)
    );
    let empty = Map::new();
    let fields = item.spec.as_object().unwrap_or(&empty);
    if let Some(account) = account {
        line(&mut text, format_args!("  account: {{name: {}}}\n", scalar(account)));
    }
    let (last, others): (Vec<_>, Vec<_>) =
        fields.iter().partition(|(name, _)| ["tags", "lifecycle"].contains(&name.as_str()));
    for (name, value) in others {
        field(&mut text, name, value, 1);
    }
    for note in &item.notes {
        line(&mut text, format_args!("  # {}\n", comment(note)));
    }
    for (name, value) in last.into_iter().rev() {
        field(&mut text, name, value, 1);
    }
    text
}

fn line(text: &mut String, more: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(more); // a String takes everything
}

/// A field at a depth: on one line if it is an option, else its fields or items below.
fn field(text: &mut String, name: &str, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    line(text, format_args!("{indent}{}:", scalar(name)));
    below(text, value, depth);
}

fn below(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if !is_one_line(fields) => {
            text.push('\n');
            for (name, value) in fields {
                field(text, name, value, depth + 1);
            }
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            text.push('\n');
            for item in items {
                list_item(text, item, depth);
            }
        }
        _ => {
            let mut former = vec![];
            line(text, format_args!(" {}", flow(value, &mut former)));
            if !former.is_empty() {
                line(text, format_args!("  # was {}", comment(&former.join(", "))));
            }
            text.push('\n');
        }
    }
}

fn list_item(text: &mut String, item: &Value, depth: usize) {
    let Some(fields) = item.as_object().filter(|fields| !fields.is_empty()) else { return };
    let start = text.len();
    for (name, value) in fields {
        field(text, name, value, depth + 1);
    }
    // The first field begins the item.
    let indent = "  ".repeat(depth);
    text.replace_range(start..start + indent.len() + 2, &format!("{indent}- "));
}

/// Whether an object is an option, or the lifecycle.
fn is_one_line(fields: &Map<String, Value>) -> bool {
    fields.is_empty() || fields.keys().all(|name| ["value", "valueFrom", "adopt"].contains(&name.as_str()))
}

/// A value on one line. The ids that references replaced are added to `former`.
fn flow(value: &Value, former: &mut Vec<String>) -> String {
    match value {
        Value::Object(fields) => {
            former.extend(fields.get(WAS).and_then(Value::as_str).map(str::to_owned));
            let fields = fields.iter().filter(|(name, _)| *name != WAS);
            let one = |(name, value): (&String, &Value)| format!("{}: {}", scalar(name), flow(value, former));
            format!("{{{}}}", fields.map(one).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(|item| flow(item, former)).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text, quoted unless every version of YAML reads it as the same text.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan"];
    let mut letters = text.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '/');
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let begins_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
    // An address or a block of them is no number in any version.
    let is_address =
        text.matches('.').count() == 3 && text.chars().all(|c| c.is_ascii_digit() || "./".contains(c));
    begins
        && letters.all(is_safe)
        && !WORDS.contains(&text.to_lowercase().as_str())
        && (!begins_with_digit || is_address)
}

/// One line of a comment.
fn comment(text: &str) -> String {
    crate::print::clean(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::set::tests::answers;
    use super::*;

    fn selection() -> Selection {
        Selection { vpc: Some("vpc-1".into()), tags: vec![], account: false, use_account: None, timeout: 1 }
    }

    fn item(spec: Value) -> Item {
        Item {
            kind: "Subnet".into(),
            api_version: "aws/v1".into(),
            name: "a".into(),
            id: "subnet-1".into(),
            spec,
            notes: vec![],
        }
    }

    #[test]
    fn a_resource_is_written_as_a_person_would() {
        let spec = json!({
            "vpcID": {"valueFrom": {"ref": "VPC/legacy", WAS: "vpc-1"}},
            "securityGroupIDs": {"value": [{"valueFrom": {"ref": "SecurityGroup/a", WAS: "sg-1"}}, "sg-2"]},
            "routes": [{"gatewayID": {"value": "igw-1"}, "destinationCIDRBlock": {"value": "0.0.0.0/0"}}],
            "healthCheck": {"port": {"value": "443"}},
            "ingress": [],
            "tags": {"Name": "a", "on": "yes"},
            "lifecycle": {"adopt": {"id": "subnet-1"}},
        });
        let noted = Item { notes: vec!["routes are\nodd".into()], ..item(spec) };
        assert_eq!(
            document(&noted, Some("shop")),
            "\
apiVersion: aws/v1
kind: Subnet
metadata: {name: a}
spec:
  account: {name: shop}
  healthCheck:
    port: {value: \"443\"}
  ingress: []
  routes:
  - destinationCIDRBlock: {value: 0.0.0.0/0}
    gatewayID: {value: igw-1}
  securityGroupIDs: {value: [{valueFrom: {ref: SecurityGroup/a}}, sg-2]}  # was sg-1
  vpcID: {valueFrom: {ref: VPC/legacy}}  # was vpc-1
  # routes are odd
  tags:
    Name: a
    \"on\": \"yes\"
  lifecycle: {adopt: {id: subnet-1}}
"
        );
    }

    #[test]
    fn texts_that_yaml_could_read_otherwise_are_quoted() {
        for plain in ["vpc-1", "10.0.0.0/16", "10.0.0.1", "/dev/sdf", "aws/v1", "t3.micro"] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in [
            "443",
            "1e3",
            "0x1f",
            "12:30",
            "2026-01-01",
            "true",
            "No",
            "null",
            "",
            "a: b",
            "a #b",
            "*",
            "::/0",
            "é",
            "-1",
            "arn:aws:x",
            "a,b",
            "\u{7}",
        ] {
            let written = scalar(quoted);
            assert!(written.starts_with('"'), "{written}");
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), quoted);
        }
    }

    #[test]
    fn a_parser_reads_what_was_found() {
        let set = Set::of(answers(), &BTreeSet::new(), |_| false);
        let text = documents(&set, &selection());
        let parsed: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        assert_eq!(parsed.len(), set.items.len());
        for (parsed, item) in parsed.iter().zip(&set.items) {
            assert_eq!(parsed["metadata"]["name"], item.name.as_str());
            let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
            assert_eq!(keys(&parsed["spec"]), keys(&item.spec));
        }
        assert!(!text.contains(WAS));
    }
}
