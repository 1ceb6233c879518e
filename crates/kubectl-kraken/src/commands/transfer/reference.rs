//! Finds the references to a renamed resource in a spec, and what they become. Pure.

use kraken_options::{Dependency, KindRef, ResourceRef, ShortRef, Template};
use serde_json::{Value, json};

/// The maximum depth of a spec. Schemas are not deeper.
const MAX_DEPTH: usize = 32;
/// The kind that a field of its own refers to.
const ACCOUNT: &str = "Account";

/// A resource and its new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rename {
    pub(super) kind: String,
    pub(super) group: String,
    pub(super) from: String,
    pub(super) to: String,
}

/// A text that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The JSON pointer in the object: `/spec/vpcID/valueFrom/ref`.
    pub(super) pointer: String,
    pub(super) from: String,
    pub(super) to: String,
}

impl Rename {
    fn is_meant(&self, kind: &str, name: &str) -> bool {
        name == self.from && KindRef::of(kind).matches(&self.kind, &self.group)
    }

    /// The edits of an object that refers to the resource. A reference with a namespace means a resource of another one.
    pub(super) fn edits(&self, object: &Value) -> Vec<Edit> {
        let mut edits = vec![];
        let spec = &object["spec"];
        self.walk(spec, "/spec", 0, &mut edits);
        for (index, on) in spec["lifecycle"]["dependsOn"].as_array().into_iter().flatten().enumerate() {
            if let (Some(kind), Some(name), None) =
                (on["kind"].as_str(), on["name"].as_str(), on["namespace"].as_str())
                && self.is_meant(kind, name)
            {
                self.name_at(format!("/spec/lifecycle/dependsOn/{index}/name"), &mut edits);
            }
        }
        if self.kind == ACCOUNT && spec["account"]["name"] == self.from.as_str() {
            self.name_at("/spec/account/name".to_owned(), &mut edits);
        }
        edits
    }

    /// A patch with these edits; each is made only if the text is still the same.
    pub(super) fn patch(edits: &[Edit]) -> Value {
        let each = |edit: &Edit| {
            let Edit { pointer, from, to } = edit;
            [
                json!({"op": "test", "path": pointer, "value": from}),
                json!({"op": "replace", "path": pointer, "value": to}),
            ]
        };
        edits.iter().flat_map(each).collect()
    }

    fn name_at(&self, pointer: String, edits: &mut Vec<Edit>) {
        edits.push(Edit { pointer, from: self.from.clone(), to: self.to.clone() });
    }

    /// As `graph::walk`: literals that only look like references are none.
    fn walk(&self, value: &Value, at: &str, depth: usize, edits: &mut Vec<Edit>) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(fields) => {
                if let Some(source) = fields.get("valueFrom").filter(|source| !source.is_null()) {
                    self.source(source, &format!("{at}/valueFrom"), edits);
                    return;
                }
                let is_entry = fields.contains_key("key") && fields.contains_key("value");
                if fields.len() == 1 && fields.contains_key("value")
                    || fields.contains_key("valueFrom")
                    || is_entry
                {
                    let items = fields.get("value").filter(|_| !is_entry).and_then(Value::as_array);
                    for (index, item) in items.into_iter().flatten().enumerate() {
                        let only = item.as_object().filter(|fields| fields.len() == 1);
                        if let Some(source) = only.and_then(|fields| fields.get("valueFrom")) {
                            self.source(source, &format!("{at}/value/{index}/valueFrom"), edits);
                        }
                    }
                    return;
                }
                for (name, inner) in fields {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    self.walk(inner, &format!("{at}/{name}"), depth + 1, edits);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    self.walk(inner, &format!("{at}/{index}"), depth + 1, edits);
                }
            }
            _ => {}
        }
    }

    fn source(&self, source: &Value, at: &str, edits: &mut Vec<Edit>) {
        let of = &source["krakenResource"];
        if let (Some(kind), Some(name)) = (of["kind"].as_str(), of["name"].as_str())
            && of["namespace"].is_null()
            && self.is_meant(kind, name)
        {
            self.name_at(format!("{at}/krakenResource/name"), edits);
        }
        let texts = [
            ("ref", self.short(source["ref"].as_str())),
            ("templateString", self.template(source["templateString"].as_str())),
        ];
        for (field, new) in texts {
            if let (Some(from), Some(to)) = (source[field].as_str(), new) {
                edits.push(Edit { pointer: format!("{at}/{field}"), from: from.to_owned(), to });
            }
        }
    }

    /// `VPC/main/vpc.CidrBlock` with the new name.
    fn short(&self, text: Option<&str>) -> Option<String> {
        let ResourceRef { kind, name, namespace: None, path } = ShortRef(text?.to_owned()).resource()? else {
            return None;
        };
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        self.is_meant(&kind, &name).then(|| format!("{kind}/{}{path}", self.to))
    }

    /// A template with the new name; `None` if it does not refer to the resource.
    pub(super) fn template(&self, text: Option<&str>) -> Option<String> {
        let (mut rest, mut new, mut is_any) = (text?, String::new(), false);
        while let Some(start) = rest.find("{{") {
            let end = start + action_end(&rest[start..])?;
            let action = &rest[start..end];
            let renamed = self.action(action);
            is_any |= renamed.is_some();
            new.push_str(&rest[..start]);
            new.push_str(renamed.as_deref().unwrap_or(action));
            rest = &rest[end..];
        }
        new.push_str(rest);
        is_any.then_some(new)
    }

    /// One `{{ .Kind.name.path }}` with the new name, if it is meant.
    fn action(&self, action: &str) -> Option<String> {
        let parsed = Template::parse(action).ok()?;
        let Some(Dependency::Resource(of)) = parsed.references().next().cloned() else { return None };
        if of.namespace.is_some() || !self.is_meant(&of.kind, &of.name) {
            return None;
        }
        // The kind is the first segment, and the name the second one.
        let first = action.find('.')?;
        let name_at = first + segment(&action[first..])?;
        let name_end = name_at + segment(&action[name_at..])?;
        let is_quoted = action[name_at..name_end].contains('[') || self.to.contains('.');
        let name = if is_quoted { format!("[{:?}]", self.to) } else { format!(".{}", self.to) };
        let renamed = format!("{}{name}{}", &action[..name_at], &action[name_end..]);
        let is_right = Template::parse(&renamed).is_ok_and(|new| {
            let expected = Dependency::Resource(ResourceRef { name: self.to.clone(), ..of.clone() });
            new.references().eq([&expected])
        });
        is_right.then_some(renamed)
    }
}

/// The length of an action that begins a text; braces in its quotes do not end it.
fn action_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '}' if !is_quoted && text[at..].starts_with("}}") => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// The length of the segment that begins a text: `.name`, `["name"]` or `.["name"]`.
fn segment(text: &str) -> Option<usize> {
    let dot = usize::from(text.starts_with('.'));
    if text[dot..].starts_with('[') {
        return Some(dot + text[dot..].find("\"]")? + 2);
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let length = text[dot..].find(|c| !is_part(c)).unwrap_or(text.len() - dot);
    (length > 0).then_some(dot + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(to: &str) -> Rename {
        let (kind, group) = ("VPC".to_owned(), "aws.kraken-iac.eoinfennessy.com".to_owned());
        Rename { kind, group, from: "main".to_owned(), to: to.to_owned() }
    }

    #[test]
    fn every_form_of_a_reference_is_found() {
        let object = json!({"spec": {
            "vpcID": {"valueFrom": {"ref": "V-PC.aws/main"}},
            "cidr": {"value": null, "valueFrom": {"krakenResource": {"kind": "vpc", "name": "main", "path": "vpc.CidrBlock"}}},
            "ids": {"value": ["x", {"valueFrom": {"ref": "VPC/main/vpc.VpcId"}}]},
            "tags": {"a/b": {"valueFrom": {"templateString": "{{ .VPC.main }}"}}},
            "other": {"valueFrom": {"ref": "VPC/main2"}},
            "shared": {"valueFrom": {"ref": "VPC/platform:main"}},
            "sharedID": {"valueFrom": {"krakenResource": {"kind": "VPC", "name": "main", "namespace": "platform"}}},
            "text": {"valueFrom": {"templateString": "{{ .VPC.platform:main }}"}},
            "literal": {"value": {"valueFrom": {"ref": "VPC/main"}}},
            "subnet": {"valueFrom": {"ref": "Subnet/main"}},
            "lifecycle": {"dependsOn": [{"kind": "Subnet", "name": "main"}, {"kind": "VPC", "name": "main"}]},
        }});
        let mut edits: Vec<_> =
            rename("net").edits(&object).into_iter().map(|edit| (edit.pointer, edit.to)).collect();
        edits.sort();
        let expected = [
            ("/spec/cidr/valueFrom/krakenResource/name", "net"),
            ("/spec/ids/value/1/valueFrom/ref", "VPC/net/vpc.VpcId"),
            ("/spec/lifecycle/dependsOn/1/name", "net"),
            ("/spec/tags/a~1b/valueFrom/templateString", "{{ .VPC.net }}"),
            ("/spec/vpcID/valueFrom/ref", "V-PC.aws/net"),
        ];
        assert_eq!(edits, expected.map(|(pointer, to)| (pointer.to_owned(), to.to_owned())));
        assert!(rename("net").edits(&json!({"spec": {"account": {"name": "main"}}})).is_empty());
        let account = Rename { kind: "Account".to_owned(), ..rename("net") };
        assert_eq!(
            account.edits(&json!({"spec": {"account": {"name": "main"}}}))[0].pointer,
            "/spec/account/name"
        );
    }

    #[test]
    fn in_a_template_only_the_name_changes() {
        for (text, expected) in [
            (
                "a {{ .VPC.main.vpc.CidrBlock }} b {{.vpc.main}}",
                Some("a {{ .VPC.net.vpc.CidrBlock }} b {{.vpc.net}}"),
            ),
            ("{{ .[\"VPC.aws\"].main }}", Some("{{ .[\"VPC.aws\"].net }}")),
            ("{{ .VPC[\"main\"][\"vpc\"] }}", Some("{{ .VPC[\"net\"][\"vpc\"] }}")),
            ("{{ .Subnet.main.x }} {{ .VPC.main-2 }} {{ .ConfigMap.main.k }} main", None),
            ("{{ \"{{\" }} VPC.main", None),
        ] {
            assert_eq!(rename("net").template(Some(text)).as_deref(), expected, "{text}");
        }
        let dotted = rename("my.net").template(Some("{{ .VPC.main.vpc.CidrBlock }}"));
        assert_eq!(dotted.as_deref(), Some("{{ .VPC[\"my.net\"].vpc.CidrBlock }}"));
    }

    #[test]
    fn a_patch_tests_what_it_replaces() {
        let edits = rename("net").edits(&json!({"spec": {"vpcID": {"valueFrom": {"ref": "VPC/main"}}}}));
        assert_eq!(
            Rename::patch(&edits),
            json!([{"op": "test", "path": "/spec/vpcID/valueFrom/ref", "value": "VPC/main"},
                {"op": "replace", "path": "/spec/vpcID/valueFrom/ref", "value": "VPC/net"}])
        );
    }
}
