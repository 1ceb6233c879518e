//! Policy documents of specs: resolved, validated and compared. Pure.

use kraken_kind::{Difference, Resolved};
use serde_json::{Map, Value, json};

use super::{
    api::{
        DesiredCondition, DesiredPrincipals, DesiredResourceStatement, DesiredStatement,
        DesiredTrustStatement, PartialResourceStatement, PartialStatement, PartialTrustStatement,
        PolicyDocument, ResourcePolicy, ResourceStatementSpec, StatementSpec, TrustPolicy,
        TrustStatementSpec,
    },
    canonical::{Document, Statement},
};
use crate::{
    AwsGroup as _,
    diff::difference,
    fields::{NOT_SHOWN, SECRET},
    resolved::Joined,
    validator::SpecValidator,
};

/// Resolves and validates a document; `None` if it has a problem.
pub fn resolved(
    field: &str,
    spec: &PolicyDocument,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Joined<Document>> {
    let desired = spec.desired(field, validator)?;
    let is_secret = PolicyDocument::is_secret(&desired);
    let statements = desired.statements.map(|all| all.iter().map(written).collect());
    let document = document(field, statements, desired.json.as_ref(), permissions, validator)?;
    Some(Joined::new(document, is_secret))
}

/// The same of a trust policy.
pub fn resolved_trust(
    field: &str,
    spec: &TrustPolicy,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Joined<Document>> {
    let desired = spec.desired(field, validator)?;
    let is_secret = TrustPolicy::is_secret(&desired);
    let statements = desired.statements.map(|all| all.iter().map(written_trust).collect());
    let document = document(field, statements, desired.json.as_ref(), trust, validator)?;
    Some(Joined::new(document, is_secret))
}

/// The same of the policy of a resource.
pub fn resolved_resource(
    field: &str,
    spec: &ResourcePolicy,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Joined<Document>> {
    let desired = spec.desired(field, validator)?;
    let is_secret = ResourcePolicy::is_secret(&desired);
    let statements = desired.statements.map(|all| all.iter().map(written_resource).collect());
    let document = document(field, statements, desired.json.as_ref(), resource, validator)?;
    Some(Joined::new(document, is_secret))
}

/// From statements, or else from JSON, whose statements must have no `problem`.
fn document(
    field: &str,
    statements: Option<Vec<Value>>,
    text: Option<&Resolved<String>>,
    problem: fn(&Statement) -> Option<&'static str>,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Document> {
    if let Some(statements) = statements {
        return Document::new(json!({"Version": "2012-10-17", "Statement": statements})).ok();
    }
    let checked = Document::parse(text?.expose()).and_then(|document| {
        let mut statements = document.statements().iter().enumerate();
        let found = statements.find_map(|(index, one)| Some(format!("Statement[{index}] {}", problem(one)?)));
        found.map_or(Ok(document), Err)
    });
    checked.map_err(|why| validator.problem(&format!("{field}.json"), why)).ok()
}

fn has(statement: &Statement, names: [&str; 2]) -> bool {
    names.iter().any(|name| statement.elements.contains_key(name))
}

/// What AWS would reject without a place.
fn trust(statement: &Statement) -> Option<&'static str> {
    if !has(statement, ["Principal", "NotPrincipal"]) {
        return Some("has no Principal: a trust policy names who may assume the role");
    }
    let is_other = has(statement, ["Resource", "NotResource"]);
    is_other.then_some("has a Resource, which a trust policy does not support")
}

fn resource(statement: &Statement) -> Option<&'static str> {
    if !has(statement, ["Principal", "NotPrincipal"]) {
        return Some("has no Principal: the policy of a resource names whose access it allows or denies");
    }
    (!has(statement, ["Resource", "NotResource"])).then_some("has neither Resource nor NotResource")
}

fn permissions(statement: &Statement) -> Option<&'static str> {
    if has(statement, ["Principal", "NotPrincipal"]) {
        return Some("has a Principal, which only a trust policy supports");
    }
    (!has(statement, ["Resource", "NotResource"])).then_some("has neither Resource nor NotResource")
}

/// The difference of a document; `observed` is its JSON.
pub fn compared<C>(
    path: &str,
    desired: &Joined<Document>,
    observed: &str,
    change: C,
) -> Option<Difference<C>> {
    let observed = Document::parse(observed).ok();
    let (want, have) = desired.expose().differing(observed.as_ref())?;
    Some(if desired.is_secret() {
        difference(path, SECRET, NOT_SHOWN, change)
    } else {
        difference(path, want, have, change)
    })
}

/// The rules that statements with resources have in common.
macro_rules! between_fields {
    ($spec:ty, $partial:ty) => {
        impl $spec {
            pub(super) fn between_fields(
                &self,
                field: &str,
                partial: &$partial,
                validator: &mut SpecValidator<'_, '_>,
            ) {
                for (is_one, why) in [
                    (self.actions.is_some() != self.not_actions.is_some(), "actions, notActions"),
                    (self.resources.is_some() != self.not_resources.is_some(), "resources, notResources"),
                ] {
                    if !is_one {
                        validator.problem(field, format!("must have exactly one of {why}"));
                    }
                }
                for (name, list) in [
                    ("actions", &partial.actions),
                    ("notActions", &partial.not_actions),
                    ("resources", &partial.resources),
                    ("notResources", &partial.not_resources),
                ] {
                    not_empty(field, name, list.as_ref().and_then(Option::as_ref), validator);
                }
                conditions_differ(field, partial.conditions.as_ref(), validator);
            }
        }
    };
}
between_fields!(StatementSpec, PartialStatement);
between_fields!(ResourceStatementSpec, PartialResourceStatement);

impl TrustStatementSpec {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialTrustStatement,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        not_empty(field, "actions", partial.actions.as_ref(), validator);
        conditions_differ(field, partial.conditions.as_ref(), validator);
    }
}

/// Also of a list that comes from elsewhere as a whole, which no schema has seen.
fn not_empty(
    field: &str,
    name: &str,
    list: Option<&Resolved<Vec<String>>>,
    validator: &mut SpecValidator<'_, '_>,
) {
    if list.is_some_and(|list| list.expose().is_empty()) {
        validator.problem(&format!("{field}.{name}"), "must have at least one item");
    }
}

/// JSON cannot express two conditions with the same operator and key.
fn conditions_differ(
    field: &str,
    conditions: Option<&Option<Vec<DesiredCondition>>>,
    validator: &mut SpecValidator<'_, '_>,
) {
    let conditions = conditions.and_then(Option::as_deref).unwrap_or_default();
    for (index, one) in conditions.iter().enumerate() {
        let same = |other: &DesiredCondition| {
            let is_same =
                |a: &Resolved<String>, b: &Resolved<String>| a.expose().eq_ignore_ascii_case(b.expose());
            is_same(&one.operator, &other.operator) && is_same(&one.key, &other.key)
        };
        if let Some(first) = conditions[..index].iter().position(same) {
            let why = format!("has the same operator and key as conditions[{first}]: merge their values");
            validator.problem(&format!("{field}.conditions[{index}]"), why);
        }
    }
}

/// A statement as it is sent.
fn written(statement: &DesiredStatement) -> Value {
    let DesiredStatement { sid, effect, actions, not_actions, resources, not_resources, conditions } =
        statement;
    elements([
        ("Sid", sid.as_ref().map(|sid| json!(sid.expose()))),
        ("Effect", Some(json!(effect.expose().as_str()))),
        ("Action", list(actions.as_ref())),
        ("NotAction", list(not_actions.as_ref())),
        ("Resource", list(resources.as_ref())),
        ("NotResource", list(not_resources.as_ref())),
        ("Condition", self::conditions(conditions.as_deref())),
    ])
}

/// The same of the policy of a resource.
fn written_resource(statement: &DesiredResourceStatement) -> Value {
    let DesiredResourceStatement {
        sid,
        effect,
        principals,
        actions,
        not_actions,
        resources,
        not_resources,
        conditions,
    } = statement;
    elements([
        ("Sid", sid.as_ref().map(|sid| json!(sid.expose()))),
        ("Effect", Some(json!(effect.expose().as_str()))),
        ("Principal", Some(written_principals(principals))),
        ("Action", list(actions.as_ref())),
        ("NotAction", list(not_actions.as_ref())),
        ("Resource", list(resources.as_ref())),
        ("NotResource", list(not_resources.as_ref())),
        ("Condition", self::conditions(conditions.as_deref())),
    ])
}

/// The same of a trust policy.
fn written_trust(statement: &DesiredTrustStatement) -> Value {
    let DesiredTrustStatement { sid, effect, principals, actions, conditions } = statement;
    elements([
        ("Sid", sid.as_ref().map(|sid| json!(sid.expose()))),
        ("Effect", Some(json!(effect.expose().as_str()))),
        ("Principal", Some(written_principals(principals))),
        ("Action", list(Some(actions))),
        ("Condition", self::conditions(conditions.as_deref())),
    ])
}

fn written_principals(principals: &DesiredPrincipals) -> Value {
    let DesiredPrincipals { aws, services, federated } = principals;
    elements([
        ("AWS", list(aws.as_ref())),
        ("Service", list(services.as_ref())),
        ("Federated", list(federated.as_ref())),
    ])
}

fn elements<const N: usize>(all: [(&str, Option<Value>); N]) -> Value {
    Value::Object(all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

fn conditions(conditions: Option<&[DesiredCondition]>) -> Option<Value> {
    let mut all = Map::new();
    for DesiredCondition { operator, key, values } in conditions.unwrap_or_default() {
        let keys = all.entry(operator.expose().clone()).or_insert_with(|| json!({}));
        keys[key.expose()] = json!(values.expose());
    }
    (!all.is_empty()).then_some(Value::Object(all))
}

fn list(list: Option<&Resolved<Vec<String>>>) -> Option<Value> {
    list.map(|list| json!(list.expose()))
}
