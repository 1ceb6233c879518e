//! The name of a referenced object, with or without the group of its kind.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{
    names::{owned_name, owner_kind, referenced_kind},
    state_declaration::STATIC_KIND,
};
use kraken_options::ResourceRef;
use kraken_runtime::watch::ObjectKey;

/// The class of a referenced object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// A StateDeclaration.
    State,
}

/// A reference to one object, which may not exist.
///
/// A reference may omit the group of a kind. It then refers to the state of a resource of any group, in the form
/// `vpc..main`, which is not a valid object name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectRef {
    /// The class.
    pub(crate) class: Class,
    /// The namespace and name.
    pub(crate) key: ObjectKey,
}

/// The parts of the name of a resource's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateName<'a> {
    /// The kind, normalized by `kind_key`.
    pub(crate) kind: &'a str,
    /// The group; empty for any group.
    pub(crate) group: &'a str,
    /// The name of the resource.
    pub(crate) name: &'a str,
}

impl ObjectRef {
    /// The object of this class, namespace and name.
    pub(crate) fn new(class: Class, namespace: &str, name: &str) -> Self {
        Self { class, key: ObjectKey::new(namespace, name) }
    }

    /// The state that a reference names by kind and name.
    pub(crate) fn state(namespace: &str, kind: &str, name: &str) -> Self {
        let kind = referenced_kind(kind);
        let name = match kind.as_str() {
            STATIC_KIND => format!("{STATIC_KIND}-{name}"),
            kind if kind.contains('.') => owned_name(kind, name),
            kind => owned_name(&format!("{kind}."), name),
        };
        Self::new(Class::State, namespace, &name)
    }

    /// The state that a reference of an object in `namespace` names.
    pub(crate) fn referenced(namespace: &str, reference: &ResourceRef) -> Self {
        let namespace = reference.namespace.as_deref().unwrap_or(namespace);
        Self::state(namespace, &reference.kind, &reference.name)
    }

    /// The state of the resource that an owner reference names.
    pub(crate) fn state_of(namespace: &str, owner: &OwnerReference) -> Self {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        Self::new(Class::State, namespace, &owned_name(&owner_kind(&owner.kind, group), &owner.name))
    }

    /// The parts of the name, if this is the state of a resource.
    pub(crate) fn state_name(&self) -> Option<StateName<'_>> {
        let mut parts = self.key.name.splitn(3, '.');
        let (kind, group, name) = (parts.next()?, parts.next()?, parts.next()?);
        // A kind has no hyphen, and the name of a static state begins with `static-`.
        (self.class == Class::State && !kind.contains('-')).then_some(StateName { kind, group, name })
    }

    /// The object as a reference from this namespace names it, without the group.
    pub(crate) fn seen_from(&self, namespace: &str) -> String {
        match self.state_name() {
            Some(StateName { kind, name, .. }) if *self.key.namespace != *namespace => {
                format!("{kind} {}:{name}", self.key.namespace)
            }
            _ => self.to_string(),
        }
    }

    /// Whether the group is omitted.
    pub(crate) fn is_of_any_group(&self) -> bool {
        self.state_name().is_some_and(|state| state.group.is_empty())
    }

    /// The form in which references without a group name the state of this resource.
    pub(super) fn of_any_group(&self) -> Option<Self> {
        let StateName { kind, group, name } = self.state_name()?;
        let any = || Self::new(Class::State, &self.key.namespace, &format!("{kind}..{name}"));
        (!group.is_empty()).then(any)
    }

    /// This reference, and its form without a group.
    pub(super) fn spellings(&self) -> impl Iterator<Item = Self> {
        [Some(self.clone()), self.of_any_group()].into_iter().flatten()
    }

    /// Whether this reference matches that object.
    pub(crate) fn refers_to(&self, other: &Self) -> bool {
        self == other || self.is_of_any_group() && other.of_any_group().as_ref() == Some(self)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.key.name;
        match (self.class, self.state_name()) {
            (Class::ConfigMap, _) => write!(f, "ConfigMap {name}"),
            (Class::Secret, _) => write!(f, "Secret {name}"),
            (Class::State, Some(StateName { kind, name, .. })) => write!(f, "{kind} {name}"),
            (Class::State, None) => match name.split_once('-') {
                Some((kind, name)) => write!(f, "{kind} {name}"),
                None => f.write_str(name),
            },
        }
    }
}
