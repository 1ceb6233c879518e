//! The option of a spec and its references: the API types.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::bounds::quote;
use crate::schema::{KEY_PATTERN, KIND_PATTERN, NAME_PATTERN, NAMESPACE_PATTERN};

/// An option of a spec: a literal, or the source of the value.
///
/// In YAML, an object with exactly one of `value` and `valueFrom`; `value: null` counts as absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Opt<T> {
    /// The literal value.
    Value(T),
    /// The source of the value.
    ValueFrom(ValueFrom),
}

/// The source of a value. In YAML, an object with exactly one of the five sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ValueFrom {
    /// A key of a ConfigMap, as text.
    ConfigMap(KeyRef),
    /// A key of a Secret, as text. Its value is treated as secret.
    Secret(KeyRef),
    /// A field of the published state of another Kraken resource, with its JSON type, or its main id.
    KrakenResource(ResourceRef),
    /// The same as `krakenResource`, in one line.
    Ref(ShortRef),
    /// Text with references; see [`Template`](crate::Template).
    TemplateString(String),
}

/// A key of a ConfigMap or Secret in the namespace of the resource that names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct KeyRef {
    /// The name of the ConfigMap or Secret, in the namespace of this resource. Example: `sizes`
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// The key in the data of the object. Example: `small`
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY_PATTERN))]
    pub key: String,
}

/// A key of a Secret as the only possible source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretSource {
    /// A key of a Secret of this namespace. Example: `{name: cloud, key: password}`
    pub secret: KeyRef,
}

/// A field of the published state of another Kraken resource, or its main id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ResourceRef {
    /// The kind of the resource, ignoring case and hyphens. If several providers have the kind, followed by a dot and
    /// the API group or its first label. Example: `VPC` or `VPC.aws`
    #[schemars(length(min = 1, max = 317), regex(pattern = KIND_PATTERN))]
    pub kind: String,
    /// The name of the resource. Example: `web`
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// The namespace of the resource. Another namespace must have a ReferenceGrant that lets this one refer to the resource.
    /// Default: none, which is the namespace of this resource. Example: `platform`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE_PATTERN))]
    pub namespace: Option<String>,
    /// The path of the field in the published state of the resource: dotted, with `["key.with.dots"]`, or JSONPath (RFC
    /// 9535) if it starts with `$`. Default: none, which resolves to the main id of the resource (`VpcId`, `SubnetId`,
    /// an ARN), a string. Example: `instances.0.NetworkInterfaces.0.VpcId`
    // Empty if absent: users cannot set an empty path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
}

impl ResourceRef {
    /// The reference to a resource whose name is written in one word: `NAME`, or `NAMESPACE:NAME` in another namespace.
    pub fn of(kind: &str, name: &str, path: &str) -> Self {
        let (namespace, name) = match name.split_once(':') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, name),
        };
        Self { kind: kind.to_owned(), name: name.to_owned(), namespace, path: path.to_owned() }
    }

    /// The name as [`Self::of`] reads it, which is also the key of the resource in [`Values`](crate::Values).
    pub fn full_name(&self) -> Cow<'_, str> {
        match &self.namespace {
            Some(namespace) => format!("{namespace}:{}", self.name).into(),
            None => self.name.as_str().into(),
        }
    }

    /// True if the reference resolves to the main id of the resource, and not to a field of its state.
    pub fn is_id(&self) -> bool {
        self.path.is_empty()
    }
}

/// A [`ResourceRef`] in one line: `KIND/NAME` for the main id, `KIND/NAME/PATH` for a field of the state. A name in another namespace
/// is `NAMESPACE:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShortRef(pub String);

impl ShortRef {
    /// The equivalent reference; its names are validated when it is resolved. `None` if a part is missing.
    pub fn resource(&self) -> Option<ResourceRef> {
        let (kind, rest) = self.0.split_once('/')?;
        // A path may hold slashes, a name may not.
        let (name, path) = match rest.split_once('/') {
            Some((_, "")) => return None,
            Some((name, path)) => (name, path),
            None => (rest, ""),
        };
        Some(ResourceRef::of(kind, name, path))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Opt<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OptVisitor(PhantomData))
    }
}

struct OptVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OptVisitor<T> {
    type Value = Opt<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with exactly one of value, valueFrom")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Opt<T>, A::Error> {
        let mut one = ExactlyOne::of("value, valueFrom");
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "value" => one.read(&mut map, Opt::Value)?,
                "valueFrom" => one.read(&mut map, Opt::ValueFrom)?,
                _ => one.skip(&mut map, field)?,
            }
        }
        one.finish()
    }
}

impl<'de> Deserialize<'de> for ValueFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ValueFromVisitor)
    }
}

struct ValueFromVisitor;

impl<'de> Visitor<'de> for ValueFromVisitor {
    type Value = ValueFrom;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with exactly one of configMap, secret, krakenResource, ref, templateString")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ValueFrom, A::Error> {
        let mut one = ExactlyOne::of("configMap, secret, krakenResource, ref, templateString");
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "configMap" => one.read(&mut map, ValueFrom::ConfigMap)?,
                "secret" => one.read(&mut map, ValueFrom::Secret)?,
                "krakenResource" => one.read(&mut map, ValueFrom::KrakenResource)?,
                "ref" => one.read(&mut map, ValueFrom::Ref)?,
                "templateString" => one.read(&mut map, ValueFrom::TemplateString)?,
                _ => one.skip(&mut map, field)?,
            }
        }
        one.finish()
    }
}

/// Collects the members of an externally tagged enum. Errors name the expected members, where serde would name a Rust
/// type.
struct ExactlyOne<T> {
    names: &'static str,
    one: Option<T>,
    unknown: Option<String>,
}

impl<T> ExactlyOne<T> {
    fn of(names: &'static str) -> Self {
        Self { names, one: None, unknown: None }
    }

    /// Parses a member; `null` counts as absent.
    fn read<'de, V, A>(&mut self, map: &mut A, member: fn(V) -> T) -> Result<(), A::Error>
    where
        V: Deserialize<'de>,
        A: MapAccess<'de>,
    {
        if let Some(value) = map.next_value::<Option<V>>()? {
            if self.one.is_some() {
                return Err(A::Error::custom(format_args!(
                    "exactly one of {} is required, found more",
                    self.names
                )));
            }
            self.one = Some(member(value));
        }
        Ok(())
    }

    // Unknown fields are ignored, like the API server prunes them. Only the error names one, because it is often a
    // typo.
    fn skip<'de, A: MapAccess<'de>>(&mut self, map: &mut A, field: String) -> Result<(), A::Error> {
        map.next_value::<IgnoredAny>()?;
        self.unknown.get_or_insert(field);
        Ok(())
    }

    fn finish<E: Error>(self) -> Result<T, E> {
        let names = self.names;
        self.one.ok_or_else(|| match self.unknown {
            Some(field) => {
                E::custom(format_args!("exactly one of {names} is required, found only {}", quote(&field)))
            }
            None => E::custom(format_args!("exactly one of {names} is required, found none")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<Opt<i64>, String> {
        serde_json::from_value(value).map_err(|e| e.to_string())
    }

    fn rejects(value: &Value, because: &str) {
        let error = read(value.clone()).expect_err(&value.to_string());
        assert!(error.contains(because), "{value}: {error}");
    }

    fn key_ref() -> KeyRef {
        KeyRef { name: "sizes".into(), key: "small".into() }
    }

    #[test]
    fn a_literal_is_read_and_written_as_value() {
        assert_eq!(read(json!({"value": 3})), Ok(Opt::Value(3)));
        assert_eq!(serde_json::to_value(Opt::Value(3)).unwrap(), json!({"value": 3}));
    }

    #[test]
    fn every_source_is_read_and_written_under_its_name() {
        let resource = ResourceRef::of("EC2Instance", "a", "b");
        for (source, written) in [
            (ValueFrom::ConfigMap(key_ref()), json!({"configMap": {"name": "sizes", "key": "small"}})),
            (ValueFrom::Secret(key_ref()), json!({"secret": {"name": "sizes", "key": "small"}})),
            (
                ValueFrom::KrakenResource(resource),
                json!({"krakenResource": {"kind": "EC2Instance", "name": "a", "path": "b"}}),
            ),
            (ValueFrom::Ref(ShortRef("VPC/main".into())), json!({"ref": "VPC/main"})),
            (ValueFrom::TemplateString("x".into()), json!({"templateString": "x"})),
        ] {
            let written = json!({"valueFrom": written});
            assert_eq!(serde_json::to_value(Opt::<i64>::ValueFrom(source.clone())).unwrap(), written);
            assert_eq!(read(written), Ok(Opt::ValueFrom(source)));
        }
    }

    #[test]
    fn a_resource_without_a_path_means_its_main_id() {
        let written = json!({"valueFrom": {"krakenResource": {"kind": "vpc", "name": "main"}}});
        let main = ResourceRef::of("vpc", "main", "");
        assert!(main.is_id());
        assert_eq!(read(written.clone()), Ok(Opt::ValueFrom(ValueFrom::KrakenResource(main.clone()))));
        let option = Opt::<i64>::ValueFrom(ValueFrom::KrakenResource(main));
        assert_eq!(serde_json::to_value(option).unwrap(), written);
    }

    #[test]
    fn a_short_reference_is_a_kind_a_name_and_perhaps_a_path() {
        let resource = |kind: &str, name: &str, path: &str| Some(ResourceRef::of(kind, name, path));
        let short = |text: &str| ShortRef(text.to_owned()).resource();
        assert_eq!(short("VPC/main"), resource("VPC", "main", ""));
        assert_eq!(short("VPC.aws/main/vpc.CidrBlock"), resource("VPC.aws", "main", "vpc.CidrBlock"));
        assert_eq!(short("VPC/main/tags[\"a/b\"]"), resource("VPC", "main", "tags[\"a/b\"]"));
        assert_eq!(short("VPC"), None);
        let other =
            ResourceRef { namespace: Some("platform".to_owned()), ..ResourceRef::of("VPC", "main", "a/b") };
        assert_eq!(short("VPC/platform:main/a/b"), Some(other.clone()));
        assert_eq!(other.full_name(), "platform:main");
        assert_eq!(short("VPC/main/"), None);
    }

    #[test]
    fn a_null_counts_as_absent() {
        rejects(&json!({"value": null}), "exactly one of value, valueFrom is required, found none");
        assert_eq!(read(json!({"value": 3, "valueFrom": null})), Ok(Opt::Value(3)));
        let any: Result<Opt<Value>, _> = serde_json::from_value(json!({"value": null}));
        assert!(any.is_err());
    }

    #[test]
    fn both_and_neither_are_rejected() {
        let from = json!({"configMap": {"name": "sizes", "key": "small"}});
        rejects(
            &json!({"value": 3, "valueFrom": from}),
            "exactly one of value, valueFrom is required, found more",
        );
        rejects(&json!({}), "exactly one of value, valueFrom is required, found none");
        rejects(&json!({"valeu": 3}), "found only \"valeu\"");
    }

    #[test]
    fn two_sources_and_no_source_are_rejected() {
        let key = json!({"name": "sizes", "key": "small"});
        let names = "exactly one of configMap, secret, krakenResource, ref, templateString";
        rejects(&json!({"valueFrom": {"configMap": key, "secret": key}}), names);
        rejects(&json!({"valueFrom": {}}), names);
        rejects(&json!({"valueFrom": {"configmap": key}}), "found only \"configmap\"");
    }

    #[test]
    fn anything_but_an_object_is_rejected_with_what_was_expected() {
        for wrong in [json!("t2.nano"), json!([3]), json!(3), json!(true)] {
            rejects(&wrong, "an object with exactly one of value, valueFrom");
        }
        rejects(&json!({"valueFrom": "sizes"}), "exactly one of configMap, secret");
    }

    #[test]
    fn a_literal_of_the_wrong_type_is_rejected() {
        rejects(&json!({"value": "3"}), "invalid type: string \"3\"");
    }
}
