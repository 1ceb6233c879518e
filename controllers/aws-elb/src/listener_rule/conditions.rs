//! Conditions in canonical form: equivalent conditions are equal. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use kraken_aws::{fields::ABSENT, group::Parts};

/// A type of condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    HostHeader,
    PathPattern,
    HttpHeader,
    Method,
    QueryString,
    SourceIp,
}

impl Type {
    const ALL: [Self; 6] = [
        Self::HostHeader,
        Self::PathPattern,
        Self::HttpHeader,
        Self::Method,
        Self::QueryString,
        Self::SourceIp,
    ];

    /// The value in the AWS API, and the field in the spec.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::HostHeader => ("host-header", "hostHeaders"),
            Self::PathPattern => ("path-pattern", "pathPatterns"),
            Self::HttpHeader => ("http-header", "httpHeaders"),
            Self::Method => ("http-request-method", "methods"),
            Self::QueryString => ("query-string", "queryStrings"),
            Self::SourceIp => ("source-ip", "sourceIPs"),
        }
    }

    /// The value in the AWS API.
    pub(super) fn field(self) -> &'static str {
        self.names().0
    }

    /// The type for a value in the AWS API.
    /// The field of the spec.
    pub(super) fn spec_field(self) -> &'static str {
        self.names().1
    }

    pub(super) fn of(field: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.field() == field)
    }
}

/// One condition: alternative values. The key is the name of a header or of a query parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Condition {
    pub(super) name: Option<String>,
    pub(super) values: BTreeSet<(Option<String>, String)>,
}

/// All conditions of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions(pub(super) BTreeMap<Type, BTreeSet<Condition>>);

impl Condition {
    pub(super) fn new(
        name: Option<String>,
        values: impl IntoIterator<Item = (Option<String>, String)>,
    ) -> Self {
        Self { name, values: values.into_iter().collect() }
    }
}

impl Conditions {
    /// Adds a condition; host names, header names and keys are case-insensitive.
    pub(super) fn add(&mut self, kind: Type, mut condition: Condition) {
        condition.name = condition.name.map(|name| name.to_lowercase());
        if kind == Type::HostHeader {
            condition.values =
                condition.values.into_iter().map(|(key, value)| (key, value.to_lowercase())).collect();
        }
        self.0.entry(kind).or_default().insert(condition);
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}: ")?;
        }
        let one = |(key, value): &(Option<String>, String)| match key {
            Some(key) => format!("{key}={value}"),
            None => value.clone(),
        };
        f.write_str(&self.values.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.0.keys().map(|kind| format!("{} {}", kind.field(), self.text(*kind)));
        f.write_str(&all.collect::<Vec<_>>().join("; "))
    }
}

/// The conditions of a type are a part.
impl Parts for Conditions {
    type Part = Type;
    const UNSUPPORTED: &'static str = "unsupported conditions";

    fn path(&self, field: &str, kind: Type) -> String {
        format!("{field}.{}", kind.names().1)
    }

    fn differing(&self, observed: &Self) -> Vec<Type> {
        let kinds: BTreeSet<Type> = self.0.keys().chain(observed.0.keys()).copied().collect();
        kinds.into_iter().filter(|kind| self.0.get(kind) != observed.0.get(kind)).collect()
    }

    fn text(&self, kind: Type) -> String {
        let conditions = self.0.get(&kind).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        conditions.map_or_else(|| ABSENT.to_owned(), |all| all.join(" and "))
    }

    fn keep(&mut self, kind: Type, observed: &Self) {
        match observed.0.get(&kind) {
            Some(conditions) => drop(self.0.insert(kind, conditions.clone())),
            None => drop(self.0.remove(&kind)),
        }
    }
}
