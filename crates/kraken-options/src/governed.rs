//! What an administrator sets for all specs that use an account: default entries of maps, and fields whose values are
//! restricted. The resolver adds the defaults and records the restricted values; the provider compares them with its rules.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::names::KindRef;
use crate::option::{ResourceRef, ValueFrom};
use crate::resolved::Resolved;
use crate::types::OptionType;

/// The settings of an account for the resolver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Governed {
    /// Default entries by the path of a map, such as `tags`. An entry of the spec with the same key replaces the default.
    pub defaults: BTreeMap<String, BTreeMap<String, String>>,
    /// The fields whose values are recorded.
    pub fields: &'static [Restricted],
}

/// A field whose values are restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restricted {
    /// Its name, such as `vpcID`, wherever it is in the spec.
    pub name: &'static str,
    /// The kind and the API group of the resources whose main ids are its values; empty if there is no such kind. The main id
    /// of any other kind may be text that a user chose, such as the name of a key pair.
    pub kind: (&'static str, &'static str),
}

impl Restricted {
    fn is_main_id(&self, source: &ValueFrom) -> bool {
        let of = |reference: &ResourceRef| {
            reference.is_id() && KindRef::of(&reference.kind).matches(self.kind.0, self.kind.1)
        };
        match source {
            ValueFrom::KrakenResource(reference) => of(reference),
            ValueFrom::Ref(short) => short.resource().is_some_and(|reference| of(&reference)),
            ValueFrom::ConfigMap(_) | ValueFrom::Secret(_) | ValueFrom::TemplateString(_) => false,
        }
    }
}

/// The value of a restricted field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestrictedValue {
    /// The path of the option: `subnetIDs.value[1]`.
    pub field: String,
    /// The name of the field: `subnetIDs`.
    pub name: &'static str,
    /// Its texts, more than one if the value is a list; `None` if the value came from a Secret.
    pub texts: Option<Vec<String>>,
    /// Whether it is the main id of another resource of the namespace of the right kind, and not text that a user chose.
    pub is_main_id: bool,
    /// Whether the field is not set, so that the provider chooses its value.
    pub is_default: bool,
}

/// The restricted field that a path belongs to.
pub(crate) fn restricted(fields: &'static [Restricted], path: &str) -> Option<&'static Restricted> {
    let path = path.split_once(".value[").map_or(path, |(list, _)| list);
    let name = path.rsplit('.').next().unwrap_or(path);
    fields.iter().find(|field| field.name == name)
}

impl RestrictedValue {
    pub(crate) fn of<T: OptionType>(
        restricted: &Restricted,
        field: &str,
        value: &Resolved<T>,
        source: Option<&ValueFrom>,
    ) -> Self {
        let texts = value.public().map(|value| texts(serde_json::to_value(value).unwrap_or_default()));
        let is_main_id = source.is_some_and(|source| restricted.is_main_id(source));
        Self { field: field.to_owned(), name: restricted.name, texts, is_main_id, is_default: false }
    }

    /// A field that is not set, whose value the provider chooses.
    pub(crate) fn unset(restricted: &Restricted, field: &str) -> Self {
        Self {
            field: field.to_owned(),
            name: restricted.name,
            texts: Some(vec![]),
            is_main_id: false,
            is_default: true,
        }
    }
}

/// The texts in a value. Anything else is compared as its JSON, which no pattern for ids matches.
fn texts(value: Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.into_iter().flat_map(texts).collect(),
        Value::Null => vec![],
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ListOpt, Opt, PublicMap, Resolution, Resolver, SecretData, Values};

    const FIELDS: &[Restricted] = &[
        Restricted { name: "vpcID", kind: ("VPC", "aws.example.com") },
        Restricted { name: "subnetIDs", kind: ("VPC", "aws.example.com") },
    ];

    fn values() -> Values {
        let ids = [(String::new(), json!("vpc-1")), ("tag".to_owned(), json!("vpc-9"))];
        let of = |name: &str| (name.to_owned(), [("main".to_owned(), ids.clone().into())].into());
        let keys = [("k".to_owned(), "vpc-7".into())].into();
        let data = SecretData { version: "1".into(), keys, ..SecretData::default() };
        Values {
            resources: [of("vpc"), of("vpc.aws"), of("static"), of("keypair")].into(),
            secrets: [("s".to_owned(), data)].into(),
            ..Values::default()
        }
    }

    fn taken(written: Value) -> RestrictedValue {
        let (values, governed) = (values(), Governed { fields: FIELDS, ..Governed::default() });
        let option: Opt<String> = serde_json::from_value(written).unwrap();
        let mut resolver = Resolver::governed(&values, &governed);
        resolver.take("vpcID", &option).unwrap();
        resolver.take("cidrBlock", &option).unwrap();
        let Resolution { taken, .. } = resolver.finish();
        let [one] = taken.try_into().unwrap();
        one
    }

    #[test]
    fn only_the_main_id_of_a_resource_is_not_chosen_by_a_user() {
        let resource = |kind: &str, path: Value| {
            let mut reference = json!({"kind": kind, "name": "main"});
            if path.is_string() {
                reference["path"] = path;
            }
            json!({"valueFrom": {"krakenResource": reference}})
        };
        for (written, text, is_main_id) in [
            (json!({"value": "vpc-5"}), "vpc-5", false),
            (resource("VPC", Value::Null), "vpc-1", true),
            (resource("VPC", json!("tag")), "vpc-9", false),
            (resource("VPC.aws", Value::Null), "vpc-1", true),
            (resource("KeyPair", Value::Null), "vpc-1", false),
            (resource("static", Value::Null), "vpc-1", false),
            (json!({"valueFrom": {"ref": "VPC/main"}}), "vpc-1", true),
            (json!({"valueFrom": {"ref": "Static/main"}}), "vpc-1", false),
            (json!({"valueFrom": {"templateString": "{{ .VPC.main }}"}}), "vpc-1", false),
        ] {
            let taken = taken(written.clone());
            assert_eq!(
                (taken.texts, taken.is_main_id),
                (Some(vec![text.to_owned()]), is_main_id),
                "{written}"
            );
        }
    }

    #[test]
    fn a_value_from_a_secret_is_recorded_without_its_text() {
        assert_eq!(taken(json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}})).texts, None);
    }

    #[test]
    fn each_element_of_a_list_is_recorded() {
        let (values, governed) = (values(), Governed { fields: FIELDS, ..Governed::default() });
        let written = json!({"value": ["subnet-1", {"valueFrom": {"ref": "VPC/main"}}]});
        let list: ListOpt<String> = serde_json::from_value(written).unwrap();
        let mut resolver = Resolver::governed(&values, &governed);
        resolver.take_list("routes[0].subnetIDs", &list).unwrap();
        let taken = resolver.finish().taken;
        let seen: Vec<_> = taken.iter().map(|one| (one.field.as_str(), one.is_main_id)).collect();
        assert_eq!(seen, [("routes[0].subnetIDs.value[0]", false), ("routes[0].subnetIDs.value[1]", true)]);
        assert!(taken.iter().all(|one| one.name == "subnetIDs"));
    }

    #[test]
    fn a_field_that_is_not_set_is_recorded_without_a_value() {
        let (values, governed) = (values(), Governed { fields: FIELDS, ..Governed::default() });
        let mut resolver = Resolver::governed(&values, &governed);
        resolver.unset("vpcID");
        resolver.unset("cidrBlock");
        let [taken] = resolver.finish().taken.try_into().unwrap();
        assert_eq!((taken.name, taken.is_default, taken.is_main_id), ("vpcID", true, false));
    }

    #[test]
    fn defaults_are_added_to_a_map_and_the_spec_comes_first() {
        let defaults = [("Team".to_owned(), "shop".to_owned()), ("Env".to_owned(), "prod".to_owned())].into();
        let governed = Governed { defaults: [("tags".to_owned(), defaults)].into(), fields: &[] };
        let (values, map) = (Values::default(), json!({"Name": "web", "Env": "test"}));
        let map: PublicMap<String> = serde_json::from_value(map).unwrap();
        let mut resolver = Resolver::governed(&values, &governed);
        let tags = resolver.take_public_map("tags", &map).unwrap();
        assert_eq!(json!(tags), json!({"Name": "web", "Env": "test", "Team": "shop"}));
        let labels = resolver.take_public_map::<String>("labels", &PublicMap::default()).unwrap();
        assert_eq!(labels, BTreeMap::new());
    }
}
