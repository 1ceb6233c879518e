//! Label and field selectors.

use serde_json::Value;

use super::{
    fault::Fault,
    kinds::Kind,
    meta::{is_label, qualified_faults},
};

/// The selectors of a list or watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    namespace: String,
    labels: Vec<Label>,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
enum Label {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

#[derive(Clone, Debug)]
struct Field {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl Label {
    /// Whether key and values are such as labels can have.
    fn is_valid(&self) -> bool {
        let (key, values) = match self {
            Self::In(key, values) | Self::NotIn(key, values) => (key, values.as_slice()),
            Self::Exists(key) | Self::Absent(key) => (key, &[][..]),
        };
        qualified_faults(key).is_empty() && values.iter().all(|value| is_label(value))
    }
}

impl Selector {
    /// Reads the selectors of a query.
    pub(super) fn new(
        kind: &Kind,
        namespace: &str,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, Fault> {
        let labels: Vec<Label> =
            pieces(labels.unwrap_or_default()).into_iter().map(label).collect::<Result<_, _>>()?;
        if let Some(wrong) = labels.iter().find(|label| !label.is_valid()) {
            return Err(Fault::bad_request(format!("unable to parse requirement: {wrong:?}")));
        }
        let fields = fields.unwrap_or_default().split(',').filter(|field| !field.is_empty());
        let fields = fields.map(|text| field(kind, text)).collect::<Result<_, _>>()?;
        Ok(Self { namespace: namespace.to_owned(), labels, fields })
    }

    /// Whether a namespace is selected.
    pub(super) fn is_in(&self, namespace: &str) -> bool {
        self.namespace.is_empty() || self.namespace == namespace
    }

    /// Whether the namespace and the name of one object are selected.
    pub(super) fn is_of_one(&self) -> bool {
        let is_name = |field: &Field| field.equal && field.path == ["metadata", "name"];
        !self.namespace.is_empty() && self.fields.iter().any(is_name)
    }

    /// Whether an object is meant.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        if !self.namespace.is_empty() && metadata["namespace"] != self.namespace {
            return false;
        }
        let labels = &metadata["labels"];
        let of = |key: &str| labels.get(key).and_then(Value::as_str);
        let labels_match = self.labels.iter().all(|label| match label {
            Label::In(key, values) => of(key).is_some_and(|is| values.iter().any(|value| value == is)),
            Label::NotIn(key, values) => !of(key).is_some_and(|is| values.iter().any(|value| value == is)),
            Label::Exists(key) => labels.get(key).is_some(),
            Label::Absent(key) => labels.get(key).is_none(),
        });
        labels_match
            && self.fields.iter().all(|field| {
                let is = match field.path.iter().fold(object, |value, name| &value[name.as_str()]) {
                    Value::String(text) => text.clone(),
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                (is == field.value) == field.equal
            })
    }
}

/// Splits at commas outside of parentheses.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text.get(start..).unwrap_or_default());
    pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

fn label(text: &str) -> Result<Label, Fault> {
    let one = |key: &str, value: &str| (key.trim().to_owned(), vec![value.trim().to_owned()]);
    if let Some((key, value)) = text.split_once("!=") {
        let (key, values) = one(key, value);
        return Ok(Label::NotIn(key, values));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        let (key, values) = one(key, value);
        return Ok(Label::In(key, values));
    }
    if let Some((head, values)) = text.split_once('(') {
        let values = values.trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
        return match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => Ok(Label::In((*key).to_owned(), values)),
            [key, "notin"] => Ok(Label::NotIn((*key).to_owned(), values)),
            _ => Err(Fault::bad_request(format!("unable to parse requirement: {text}"))),
        };
    }
    match text.strip_prefix('!') {
        Some(key) => Ok(Label::Absent(key.trim().to_owned())),
        None => Ok(Label::Exists(text.to_owned())),
    }
}

fn field(kind: &Kind, text: &str) -> Result<Field, Fault> {
    let (path, value, equal) = if let Some((path, value)) = text.split_once("!=") {
        (path, value, false)
    } else if let Some((path, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (path, value, true)
    } else {
        let message = format!("invalid selector: '{text}'; can't understand '{text}'");
        return Err(Fault::bad_request(message));
    };
    let is_selectable = || kind.selectable.iter().any(|selectable| selectable == path);
    if !["metadata.name", "metadata.namespace"].contains(&path) && !is_selectable() {
        let message = format!("field label not supported: {path}");
        return Err(Fault::bad_request(message));
    }
    Ok(Field { path: path.split('.').map(str::to_owned).collect(), value: value.to_owned(), equal })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Kinds;

    fn matches(labels: &str, fields: &str) -> bool {
        let kinds = Kinds::new(&[]).unwrap();
        let kind = kinds.find("", "secrets").unwrap();
        let object = json!({"type": "Opaque", "metadata": {"name": "a", "labels": {"app": "web", "x": ""}}});
        Selector::new(kind, "", Some(labels), Some(fields)).unwrap().matches(&object)
    }

    #[test]
    fn labels_are_selected_by_equality_sets_and_presence() {
        for yes in ["app=web", "app==web", "app!=db", "app in (db, web),x", "app notin (db)", "!y", "y!=1"] {
            assert!(matches(yes, ""), "{yes}");
        }
        for no in ["app=db", "app!=web", "app in (db)", "app notin (web,db)", "y", "!app", "app=web,y"] {
            assert!(!matches(no, ""), "{no}");
        }
    }

    #[test]
    fn secrets_are_selected_by_type() {
        assert!(matches("", "type!=helm.sh/release.v1"));
        assert!(!matches("", "type!=Opaque"));
        assert!(matches("", "metadata.name=a,type=Opaque"));
    }
}
