//! Options that are maps with user-defined keys, such as tags: each value is a literal or a reference.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::list::{Element, element, joined};
use crate::option::Opt;
use crate::public::Public;
use crate::read;
use crate::resolved::Resolved;
use crate::resolver::Resolver;
use crate::types::OptionType;

/// A map in which each value is a literal or an object with `valueFrom`: `{Name: web, Vpc: {valueFrom: SOURCE}}`.
///
/// The map itself is always a literal, because its keys are user-defined. Its values are taken with
/// [`Resolver::take_map`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MapOpt<T>(pub BTreeMap<String, Element<T>>);

/// A [`MapOpt`] whose values are shown in public places, as tags are.
pub type PublicMap<T> = Public<MapOpt<T>>;

impl<T> Default for MapOpt<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> MapOpt<T> {
    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> From<BTreeMap<String, T>> for MapOpt<T> {
    fn from(literals: BTreeMap<String, T>) -> Self {
        Self(literals.into_iter().map(|(key, literal)| (key, Element::Literal(literal))).collect())
    }
}

impl<'de, T: OptionType> Deserialize<'de> for MapOpt<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut values, mut wrong) = (BTreeMap::new(), Vec::new());
        for (key, written) in BTreeMap::<String, Value>::deserialize(deserializer)? {
            match element(written) {
                Ok(value) => {
                    values.insert(key, value);
                }
                Err(why) => wrong.push(format!("[{}]: {why}", crate::bounds::quote(&key))),
            }
        }
        if wrong.is_empty() { Ok(Self(values)) } else { Err(D::Error::custom(joined(wrong))) }
    }
}

impl Resolver<'_> {
    /// The values of a map, or `None` after recording why one is missing, for each value separately, with a path such
    /// as `tags["Name"]`. A value from a Secret is secret; the other values are public.
    pub fn take_map<T: OptionType>(
        &mut self,
        field: &str,
        map: &MapOpt<T>,
    ) -> Option<BTreeMap<String, Resolved<T>>> {
        let mut taken = Some(BTreeMap::new());
        for (key, element) in &map.0 {
            let value = match element {
                Element::Literal(literal) => Some(Resolved::Public(literal.clone())),
                Element::ValueFrom(source) => {
                    self.take_from(&format!("{field}[{}]", crate::bounds::quote(key)), source)
                }
            };
            // Every value is taken, so that each error is reported.
            taken = taken.zip(value).map(|(mut taken, value)| {
                taken.insert(key.clone(), value);
                taken
            });
        }
        taken
    }

    /// As [`take_map`](Self::take_map), for a map of public values: returns plain values, because none can come from a Secret.
    pub fn take_public_map<T: OptionType>(
        &mut self,
        field: &str,
        map: &PublicMap<T>,
    ) -> Option<BTreeMap<String, T>> {
        let mut taken = self.take_own_public_map(field, map)?;
        let defaults = self.governed.and_then(|governed| governed.defaults.get(field));
        for (key, text) in defaults.into_iter().flatten().filter(|(key, _)| !map.0.0.contains_key(*key)) {
            // A default that is not of the type of the map does not apply to it.
            if let Ok(value) = read::text(text) {
                taken.insert(key.clone(), value);
            }
        }
        Some(taken)
    }

    /// The same without the default entries of an account.
    pub fn take_own_public_map<T: OptionType>(
        &mut self,
        field: &str,
        map: &PublicMap<T>,
    ) -> Option<BTreeMap<String, T>> {
        let taken = self.in_public(|resolver| resolver.take_map(field, map))?;
        Some(taken.into_iter().filter_map(|(key, value)| Some((key, value.public()?.clone()))).collect())
    }

    /// The value of a public option, which is never secret.
    pub fn take_public<T: OptionType>(
        &mut self,
        field: &str,
        option: &Public<Opt<T>>,
    ) -> Option<Resolved<T>> {
        self.in_public(|resolver| resolver.take(field, option))
    }

    /// As [`take_public`](Self::take_public), for an option that may be absent: `Some(None)` if it is.
    #[allow(clippy::option_option)] // "absent" and "problem" differ, and `?` unwraps the outer option
    pub fn take_public_if<T: OptionType>(
        &mut self,
        field: &str,
        option: Option<&Public<Opt<T>>>,
    ) -> Option<Option<Resolved<T>>> {
        match option {
            Some(option) => self.take_public(field, option).map(Some),
            None => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProblemKind, Resolution, SecretData, Values};
    use serde_json::json;

    fn map(written: &Value) -> PublicMap<String> {
        serde_json::from_value(written.clone()).unwrap()
    }

    fn values() -> Values {
        let sizes = [("team".to_owned(), "shop".to_owned())].into();
        let keys = [("k".to_owned(), "hunter22".into())].into();
        let db = SecretData { version: "u/7".into(), keys, ..SecretData::default() };
        let ids = [(String::new(), json!("vpc-1")), ("list".to_owned(), json!(["a"]))].into();
        Values {
            config_maps: [("sizes".to_owned(), sizes)].into(),
            secrets: [("db".to_owned(), db)].into(),
            resources: [("vpc".to_owned(), [("main".to_owned(), ids)].into())].into(),
            causes: BTreeMap::new(),
        }
    }

    /// The kind and the message of a problem.
    type KindAndMessage = (ProblemKind, String);

    fn take(written: &Value) -> (Option<BTreeMap<String, String>>, Vec<KindAndMessage>) {
        let values = values();
        let mut resolver = Resolver::new(&values);
        let taken = resolver.take_public_map("tags", &map(written));
        let Resolution { problems, .. } = resolver.finish();
        (taken, problems.iter().map(|problem| (problem.kind, problem.to_string())).collect())
    }

    #[test]
    fn a_map_can_mix_literals_and_references() {
        let written = json!({
            "Name": "web",
            "Team": {"valueFrom": {"configMap": {"name": "sizes", "key": "team"}}},
            "Vpc": {"valueFrom": {"ref": "VPC/main"}},
            "Url": {"valueFrom": {"templateString": "{{ .VPC.main }}/x"}},
        });
        let expected = [("Name", "web"), ("Team", "shop"), ("Url", "vpc-1/x"), ("Vpc", "vpc-1")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        assert_eq!(take(&written), (Some(expected), vec![]));
        assert_eq!(serde_json::to_value(map(&written)).unwrap(), written);
    }

    #[test]
    fn every_problem_names_its_key() {
        let (taken, problems) = take(&json!({
            "a b": {"valueFrom": {"ref": "VPC/gone"}},
            "c": {"valueFrom": {"ref": "VPC/main/list"}},
            "d": "fine",
        }));
        assert_eq!(taken, None);
        let problems: Vec<_> = problems.into_iter().map(|(_, message)| message).collect();
        assert_eq!(
            problems,
            [
                "spec.tags[\"a b\"]: waiting for the id of vpc gone",
                "spec.tags[\"c\"]: vpc main path list: expected string, found array",
            ]
        );
    }

    #[test]
    fn a_public_map_rejects_secrets_and_requests_none() {
        let secret = json!({"valueFrom": {"secret": {"name": "db", "key": "k"}}});
        let template = json!({"valueFrom": {"templateString": "x{{ .Secret.db.k }}"}});
        let (taken, problems) = take(&json!({"A": secret, "B": template, "C": "c"}));
        assert_eq!(taken, None);
        assert_eq!(
            problems,
            [
                (ProblemKind::Invalid, "spec.tags[\"A\"].valueFrom.secret: a Secret cannot be the source of this field, because its value is public".to_owned()),
                (ProblemKind::Invalid, "spec.tags[\"B\"].valueFrom.templateString: a Secret cannot be the source of this field, because its value is public".to_owned()),
            ]
        );
        let nothing = Values::default();
        let mut resolver = Resolver::new(&nothing);
        let _ = resolver.take_public_map("tags", &map(&json!({"A": secret, "B": template})));
        assert!(resolver.finish().dependencies.is_empty());
    }

    #[test]
    fn a_secret_value_leaves_the_others_public() {
        let written = json!({"A": "a", "B": {"valueFrom": {"secret": {"name": "db", "key": "k"}}}});
        let map: MapOpt<String> = serde_json::from_value(written).unwrap();
        let values = values();
        let mut resolver = Resolver::new(&values);
        let taken = resolver.take_map("env", &map).unwrap();
        assert!(taken["B"].is_secret() && !taken["A"].is_secret());
        assert_eq!(resolver.finish().secret_fields, ["env[\"B\"]".to_owned()].into());
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_key() {
        let error = serde_json::from_value::<MapOpt<String>>(json!({"a": 3, "b": null, "c": {"value": "x"}}));
        assert_eq!(
            error.unwrap_err().to_string(),
            "[\"a\"]: expected string or an object with valueFrom, found integer; [\"b\"]: expected string or an object \
             with valueFrom, found null; [\"c\"]: expected string or an object with valueFrom, found object"
        );
    }
}
