//! What the options of a resource depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::json_type::JsonType;
use crate::names::kind_key;
use crate::option::{KeyRef, ResourceRef};

/// A dependency of an option, or of a reference in a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// A key of a ConfigMap.
    ConfigMap(KeyRef),
    /// A key of a Secret.
    Secret(KeyRef),
    /// A field of the state of another resource, or its main id. Compared by [`kind_key`] once [normalised](Self::normalised).
    Resource(ResourceRef),
}

impl Dependency {
    /// The same dependency with its kind normalized by [`kind_key`]: the form in [`Dependencies`] and of
    /// [`Values::causes`](crate::Values::causes).
    #[must_use]
    pub fn normalised(self) -> Self {
        match self {
            Self::Resource(reference) => {
                Self::Resource(ResourceRef { kind: kind_key(&reference.kind), ..reference })
            }
            other => other,
        }
    }
}

impl ResourceRef {
    /// The advice to get a value of another type from this value, by a template or as the only element of a list.
    pub fn conversion(&self, value: &Value, wanted: JsonType) -> Option<String> {
        if wanted == JsonType::Array {
            let path = if self.path.is_empty() { String::new() } else { format!("/{}", self.path) };
            let reference = format!("{}/{}{path}", self.kind, self.full_name());
            return Some(format!("for a list of one, write value: [{{valueFrom: {{ref: '{reference}'}}}}]"));
        }
        // A template renders a value as text, and text is read as the type of the field.
        let read = |text: &str| serde_json::from_str(text).is_ok_and(|value| wanted.accepts(&value));
        let is_possible = match value {
            Value::Number(_) | Value::Bool(_) => wanted == JsonType::String,
            Value::String(text) => read(text),
            _ => false,
        };
        if !is_possible || self.path.starts_with('$') {
            return None;
        }
        let (dot, path) = match self.path.as_str() {
            "" => ("", ""),
            path if path.starts_with('[') => ("", path),
            path => (".", path),
        };
        let kind = if self.kind.contains('.') { format!("[{:?}]", self.kind) } else { self.kind.clone() };
        let name = self.full_name();
        let name = if name.contains('.') { format!("[{name:?}]") } else { format!(".{name}") };
        Some(format!("to convert it, write templateString: '{{{{ .{kind}{name}{dot}{path} }}}}'"))
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConfigMap(KeyRef { name, key }) => write!(f, "ConfigMap {name} key {key:?}"),
            Self::Secret(KeyRef { name, key }) => write!(f, "Secret {name} key {key:?}"),
            Self::Resource(reference @ ResourceRef { kind, path, .. }) => {
                let name = reference.full_name();
                if path.is_empty() {
                    write!(f, "the id of {kind} {name}")
                } else {
                    write!(f, "{kind} {name} path {path}")
                }
            }
        }
    }
}

/// All dependencies of the options of a resource: the content of its DependencyRequest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Keys of ConfigMaps.
    pub config_maps: BTreeSet<KeyRef>,
    /// Keys of Secrets.
    pub secrets: BTreeSet<KeyRef>,
    /// Fields of other resources, with the kind normalized by [`kind_key`], and the expected type.
    ///
    /// A field that is expected with two types is requested with the type that covers both (integer and number: number;
    /// otherwise any). Each option checks its own type again, so that a type error of one option does not affect the other.
    pub resources: BTreeMap<ResourceRef, JsonType>,
    /// Those of them that only [following](crate::Resolver::follow) fields need.
    pub follows: BTreeSet<Dependency>,
}

impl Dependencies {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.config_maps.is_empty() && self.secrets.is_empty() && self.resources.is_empty()
    }

    /// All of them, ConfigMaps first.
    pub fn iter(&self) -> impl Iterator<Item = Dependency> + '_ {
        let config_maps = self.config_maps.iter().cloned().map(Dependency::ConfigMap);
        let secrets = self.secrets.iter().cloned().map(Dependency::Secret);
        let resources = self.resources.keys().cloned().map(Dependency::Resource);
        config_maps.chain(secrets).chain(resources)
    }

    /// Whether it is already among them.
    fn contains(&self, dependency: &Dependency) -> bool {
        match dependency {
            Dependency::ConfigMap(reference) => self.config_maps.contains(reference),
            Dependency::Secret(reference) => self.secrets.contains(reference),
            Dependency::Resource(reference) => self.resources.contains_key(reference),
        }
    }

    /// Adds a dependency of a following field. If another field needs it too, it is an ordinary one.
    pub(crate) fn add_following(&mut self, dependency: Dependency, wanted: JsonType) {
        let dependency = dependency.normalised();
        let is_new = !self.contains(&dependency) || self.follows.contains(&dependency);
        self.add(dependency.clone(), wanted);
        if is_new {
            self.follows.insert(dependency);
        }
    }

    /// Adds a dependency; `wanted` is the expected type of a field of another resource.
    pub fn add(&mut self, dependency: Dependency, wanted: JsonType) {
        let dependency = dependency.normalised();
        self.follows.remove(&dependency);
        match dependency {
            Dependency::ConfigMap(reference) => {
                self.config_maps.insert(reference);
            }
            Dependency::Secret(reference) => {
                self.secrets.insert(reference);
            }
            Dependency::Resource(reference) => {
                self.resources
                    .entry(reference)
                    .and_modify(|known| *known = known.covering(wanted))
                    .or_insert(wanted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resource(kind: &str) -> Dependency {
        Dependency::Resource(ResourceRef::of(kind, "a", "instances.0.InstanceType"))
    }

    fn key() -> KeyRef {
        KeyRef { name: "sizes".into(), key: "small".into() }
    }

    #[test]
    fn a_conversion_is_a_template_that_parses() {
        let reference = ResourceRef::of;
        for wanted in [
            reference("vpc", "main", ""),
            reference("vpc", "platform:main", "a"),
            reference("vpc", "platform:my.app", "a"),
            reference("vpc.aws", "my.app", "a.0[\"b.c\"]"),
            reference("targetgroup", "web", "[\"a.b\"].c"),
        ] {
            let advice = wanted.conversion(&json!(3), JsonType::String).unwrap();
            let template = advice.strip_prefix("to convert it, write templateString: '").unwrap();
            let template = crate::Template::parse(template.strip_suffix('\'').unwrap()).unwrap();
            let references: Vec<_> = template.references().cloned().collect();
            assert_eq!(references, [Dependency::Resource(wanted)]);
        }
        let main = reference("vpc", "main", "a");
        assert!(main.conversion(&json!("3"), JsonType::Integer).is_some());
        assert_eq!(main.conversion(&json!("three"), JsonType::Integer), None);
        assert_eq!(main.conversion(&json!(3.5), JsonType::Integer), None);
        assert_eq!(main.conversion(&json!(["a"]), JsonType::String), None);
        assert_eq!(reference("vpc", "main", "$.a").conversion(&json!(3), JsonType::String), None);
        let list = main.conversion(&json!("sg-1"), JsonType::Array);
        assert_eq!(
            list.as_deref(),
            Some("for a list of one, write value: [{valueFrom: {ref: 'vpc/main/a'}}]")
        );
    }

    #[test]
    fn a_dependency_is_displayed_as_a_phrase() {
        assert_eq!(Dependency::ConfigMap(key()).to_string(), "ConfigMap sizes key \"small\"");
        assert_eq!(Dependency::Secret(key()).to_string(), "Secret sizes key \"small\"");
        assert_eq!(
            resource("EC2-Instance").normalised().to_string(),
            "ec2instance a path instances.0.InstanceType"
        );
        let id = ResourceRef::of("vpc", "main", "");
        assert_eq!(Dependency::Resource(id).to_string(), "the id of vpc main");
    }

    #[test]
    fn spellings_of_a_kind_are_the_same_dependency() {
        let mut dependencies = Dependencies::default();
        for kind in ["EC2Instance", "ec2-instance", "ec2instance"] {
            dependencies.add(resource(kind), JsonType::String);
        }
        assert_eq!(dependencies.iter().collect::<Vec<_>>(), [resource("ec2instance")]);
    }

    #[test]
    fn a_field_expected_with_two_types_is_requested_with_the_type_that_covers_both() {
        let requested = |first, second| {
            let mut dependencies = Dependencies::default();
            dependencies.add(resource("a"), first);
            dependencies.add(resource("a"), second);
            dependencies.resources.into_values().next()
        };
        assert_eq!(requested(JsonType::Integer, JsonType::Integer), Some(JsonType::Integer));
        assert_eq!(requested(JsonType::Integer, JsonType::Number), Some(JsonType::Number));
        assert_eq!(requested(JsonType::Integer, JsonType::String), Some(JsonType::Any));
    }

    #[test]
    fn a_dependency_that_another_field_needs_too_does_not_follow() {
        for is_following_first in [false, true] {
            let mut dependencies = Dependencies::default();
            for is_following in [is_following_first, !is_following_first] {
                if is_following {
                    dependencies.add_following(resource("EC2Instance"), JsonType::Any);
                } else {
                    dependencies.add(resource("ec2instance"), JsonType::Any);
                }
            }
            assert!(dependencies.follows.is_empty());
        }
        let mut dependencies = Dependencies::default();
        for _ in 0..2 {
            dependencies.add_following(resource("EC2Instance"), JsonType::Any);
        }
        assert_eq!(dependencies.follows, [resource("ec2instance")].into());
    }

    #[test]
    fn only_no_dependencies_are_empty() {
        assert!(Dependencies::default().is_empty());
        for dependency in [Dependency::ConfigMap(key()), Dependency::Secret(key()), resource("a")] {
            let mut dependencies = Dependencies::default();
            dependencies.add(dependency, JsonType::Any);
            assert!(!dependencies.is_empty());
        }
    }
}
