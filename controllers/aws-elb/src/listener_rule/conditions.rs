//! Conditions in canonical form: equivalent conditions are equal. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use kraken_aws::{
    cidr,
    diff::difference,
    fields::{ABSENT, NOT_SHOWN},
    resolved::Joined,
    rules::{Verdict, ensure},
    validator::{SpecValidator, ValidationError},
};
use kraken_spoke::{Difference, Resolved, options::ListOpt};

use super::api::{ConditionsSpec, HEADER, HOST, HttpHeader, MAX_VALUES, METHOD, QueryString, VALUE};

/// The path of the conditions in the spec.
pub(super) const FIELD: &str = "conditions";

/// The problem of a condition that nothing matches.
const EMPTY: &str = "must have at least one value; remove it to match any";

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
    /// The value in the AWS API.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::HostHeader => "host-header",
            Self::PathPattern => "path-pattern",
            Self::HttpHeader => "http-header",
            Self::Method => "http-request-method",
            Self::QueryString => "query-string",
            Self::SourceIp => "source-ip",
        }
    }

    /// The type for a value in the AWS API.
    pub(super) fn of(field: &str) -> Option<Self> {
        let all = [
            Self::HostHeader,
            Self::PathPattern,
            Self::HttpHeader,
            Self::Method,
            Self::QueryString,
            Self::SourceIp,
        ];
        all.into_iter().find(|kind| kind.field() == field)
    }

    /// The path of the field in the spec.
    fn path(self) -> String {
        let name = match self {
            Self::HostHeader => "hostHeaders",
            Self::PathPattern => "pathPatterns",
            Self::HttpHeader => "httpHeaders",
            Self::Method => "methods",
            Self::QueryString => "queryStrings",
            Self::SourceIp => "sourceIPs",
        };
        format!("{FIELD}.{name}")
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

    fn text(&self, kind: Type) -> String {
        let conditions = self.0.get(&kind).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        conditions.map_or_else(|| ABSENT.to_owned(), |all| all.join(" and "))
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

/// Resolves the conditions and reports all problems.
pub(super) fn desired(
    spec: &ConditionsSpec,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Joined<Conditions>> {
    let lists = [
        list(Type::HostHeader, spec.host_headers.as_ref(), validator, |host| {
            HOST.check(host).map_err(ValidationError::from)
        }),
        list(Type::PathPattern, spec.path_patterns.as_ref(), validator, |path| {
            VALUE.check(path).map_err(ValidationError::from)
        }),
        list(Type::Method, spec.methods.as_ref(), validator, |method| {
            METHOD.check(method).map_err(ValidationError::from)
        }),
        list(Type::SourceIp, spec.source_ips.as_ref(), validator, a_block),
    ];
    let headers = spec.http_headers.iter().flatten().enumerate();
    let headers: Vec<_> = headers.map(|(index, header)| of_header(index, header, validator)).collect();
    let queries = spec.query_strings.iter().flatten().enumerate();
    let queries: Vec<_> = queries.map(|(index, query)| of_query(index, query, validator)).collect();

    let (mut all, mut is_secret) = (Conditions::default(), false);
    let mut add = |kind, (condition, secret): (Condition, bool)| {
        is_secret |= secret;
        all.add(kind, condition);
    };
    for (kind, taken) in lists.into_iter().flatten() {
        add(kind, taken?);
    }
    for taken in headers {
        add(Type::HttpHeader, taken?);
    }
    let queries: Option<Vec<_>> = queries.into_iter().collect();
    let queries = queries?;
    if !queries.is_empty() {
        let secret = queries.iter().any(|(_, secret)| *secret);
        let values = queries.into_iter().map(|(value, _)| value);
        add(Type::QueryString, (Condition::new(None, values), secret));
    }

    let values = all.0.values().flatten().map(|condition| condition.values.len()).sum();
    if !(1..=MAX_VALUES).contains(&values) {
        validator.problem(FIELD, format!("must have 1 to {MAX_VALUES} values in total, not {values}"));
    }
    Some(Joined::new(all, is_secret))
}

/// A condition that is a list of values; `None` if it is absent, `Some((_, None))` if it has a problem.
type Listed = Option<(Type, Option<(Condition, bool)>)>;

fn list(
    kind: Type,
    list: Option<&ListOpt<String>>,
    validator: &mut SpecValidator<'_, '_>,
    rule: impl Fn(&str) -> Verdict<ValidationError>,
) -> Listed {
    let taken = validator.each(&kind.path(), list, rule);
    match taken {
        Some(None) => None,
        Some(Some(values)) => {
            if values.expose().is_empty() {
                validator.problem(&kind.path(), EMPTY);
            }
            Some((kind, Some(of_values(None, &values))))
        }
        None => Some((kind, None)),
    }
}

fn of_values(name: Option<String>, values: &Resolved<Vec<String>>) -> (Condition, bool) {
    let items = values.expose().iter().map(|value| (None, value.clone()));
    (Condition::new(name, items), values.is_secret())
}

fn of_header(
    index: usize,
    header: &HttpHeader,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<(Condition, bool)> {
    let at = |name: &str| format!("{}[{index}].{name}", Type::HttpHeader.path());
    let name = validator.one(&at("name"), &header.name, a_header);
    let values = validator.each(&at("values"), Some(&header.values), |value: &str| VALUE.check(value));
    let (name, values) = (name?, values??);
    if values.expose().is_empty() {
        validator.problem(&at("values"), EMPTY);
    }
    let (condition, secret) = of_values(Some(name.expose().clone()), &values);
    Some((condition, secret || name.is_secret()))
}

type Parameter = ((Option<String>, String), bool);

fn of_query(index: usize, query: &QueryString, validator: &mut SpecValidator<'_, '_>) -> Option<Parameter> {
    let at = |name: &str| format!("{}[{index}].{name}", Type::QueryString.path());
    let key = validator.optional(&at("key"), query.key.as_ref(), |key: &str| VALUE.check(key));
    let value = validator.one(&at("value"), &query.value, |value: &str| VALUE.check(value));
    let (key, value) = (key?, value?);
    let secret = value.is_secret() || key.as_ref().is_some_and(Resolved::is_secret);
    Some(((key.map(|key| key.expose().clone()), value.expose().clone()), secret))
}

fn a_header(name: &str) -> Verdict {
    HEADER.check(name)?;
    ensure(!name.eq_ignore_ascii_case("host"), || "must not be Host: use hostHeaders".to_owned())
}

fn a_block(block: &str) -> Verdict<ValidationError> {
    if block.contains(':') { cidr::v6(block) } else { cidr::v4(block) }
}

/// The differences of two sets of conditions, one for each type of condition.
pub(super) fn differences<C>(
    desired: &Joined<Conditions>,
    observed: Option<&Conditions>,
    change: impl Fn() -> C,
) -> Vec<Difference<C>> {
    let one = |path: &str, want: String, have: String| {
        if desired.is_secret() {
            return difference(path, desired.shown(), NOT_SHOWN, change());
        }
        difference(path, want, have, change())
    };
    let wanted = desired.expose();
    let Some(observed) = observed else {
        return vec![one(FIELD, wanted.to_string(), "unsupported conditions".to_owned())];
    };
    differing(wanted, observed)
        .into_iter()
        .map(|kind| one(&kind.path(), wanted.text(kind), observed.text(kind)))
        .collect()
}

fn differing(desired: &Conditions, observed: &Conditions) -> Vec<Type> {
    let kinds: BTreeSet<Type> = desired.0.keys().chain(observed.0.keys()).copied().collect();
    kinds.into_iter().filter(|kind| desired.0.get(kind) != observed.0.get(kind)).collect()
}

/// The desired conditions with the observed values of differing ignored types; `None` if there are none.
pub(super) fn without_ignored(
    desired: &Joined<Conditions>,
    observed: Option<&Conditions>,
    is_ignored: impl Fn(&str) -> bool,
) -> Option<Joined<Conditions>> {
    let observed = observed?;
    let differing = differing(desired.expose(), observed).into_iter();
    let ignored: Vec<Type> = differing.filter(|kind| is_ignored(&kind.path())).collect();
    let mut kept = desired.expose().clone();
    for kind in &ignored {
        match observed.0.get(kind) {
            Some(conditions) => drop(kept.0.insert(*kind, conditions.clone())),
            None => drop(kept.0.remove(kind)),
        }
    }
    (!ignored.is_empty()).then(|| Joined::new(kept, desired.is_secret()))
}
