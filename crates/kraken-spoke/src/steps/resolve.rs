//! Step 5: resolves options and values to the desired state, or reports all problems together. No client required.

use kraken_api::Lifecycle;
use kraken_kind::{
    Ignored,
    account::Rules,
    dynamic::{Desired, Kind, Spec},
};
use kraken_model::{
    in_place, ledger,
    observation::Target,
    outcome::Outcome,
    policy::{self, retention::adopted},
    secrecy::{self, Secrecy, SecretFields},
};
use kraken_options::{
    Dependencies, Path, Problem, ProblemKind, Resolution, Resolved, Resolver, ValueFrom, Values,
};
use kube::{Resource, core::object::HasStatus};

use crate::context::Reconcile;

/// The desired state, and what decides how a difference from it is treated.
pub(crate) fn resolve(
    reconcile: &Reconcile<'_>,
    dependencies: &Dependencies,
    values: &Values,
) -> Result<Target, Outcome> {
    let Reconcile { context, object, identity, memory, .. } = reconcile;
    let (desired, resolution) = desired(&*context.kind, object.spec(), values, context.rules.as_deref())?;
    let at_creation = context.kind.at_creation(&desired);
    let ignored = Ignored::new(&object.lifecycle().ignore_changes);
    let ledger = ledger::of(object);
    let recorded = secrecy::recorded(object.status(), ledger.as_ref());
    let former = recorded.into_iter().chain(memory.secrets.fields.iter().cloned());
    let is_compared = |field: &str| {
        !ignored.covers(field)
            && !at_creation.iter().any(|(path, _)| secrecy::top(path) == field)
            && secrecy::is_compared_as_whole(field, &object.spec().json())
    };
    let secret_fields = SecretFields::of(&resolution.secret_fields, former, is_compared);
    // Nor is it known which values of what a former resource left are secret.
    let is_taken_over = ledger.as_ref().is_some_and(|ledger| ledger.former.is_some());
    let is_adopted = is_taken_over
        || object.lifecycle().adopt.is_some()
        || !adopted(object.status(), ledger.as_ref()).is_empty();
    let secrets = memory.secrets_with(resolution.secrets);
    let secrecy = Secrecy::of(context.info(), &secret_fields, secrets, is_adopted);
    let before = object.status().and_then(|status| status.in_place.as_ref());
    let (spec, inputs) = (|| object.spec().json(), reconcile.inputs(values));
    let (generation, references) = (object.meta().generation, &values.resources);
    let in_place = in_place::current(&identity.uid, spec, generation, inputs, references, before);
    let is_edited = memory.changes.edit_under_way || in_place::is_edited(before, &in_place);
    Ok(Target {
        at_creation: secrecy.at_creation(at_creation),
        ignored,
        ledger,
        has_secrets: !dependencies.secrets.is_empty(),
        desired,
        secrecy,
        secret_fields,
        in_place,
        is_edited,
        following: resolution.following,
    })
}

/// The references of a spec. They are found by resolving the spec without values, so that the requested references
/// cannot differ from the ones that are used.
pub(crate) fn dependencies(kind: &dyn Kind, spec: &dyn Spec) -> Dependencies {
    let nothing = Values::default();
    let mut resolver = Resolver::new(&nothing);
    depends_on(spec.lifecycle(), &mut resolver);
    let _ = kind.desired(spec, &mut resolver);
    resolver.finish().dependencies
}

/// The fields of a spec that refer to Secrets, whether or not these exist.
pub(crate) fn secret_fields(kind: &dyn Kind, spec: &dyn Spec) -> SecretFields {
    let nothing = Values::default();
    let mut resolver = Resolver::new(&nothing);
    let _ = kind.desired(spec, &mut resolver);
    SecretFields::of(&resolver.finish().secret_fields, [], |_| false)
}

/// The problems that no value of a reference can solve, if there are any: they are reported without waiting for a
/// value.
pub(crate) fn certain(kind: &dyn Kind, spec: &dyn Spec) -> Option<Outcome> {
    let Err(Outcome::Invalid(mut problems)) = desired(kind, spec, &Values::default(), None) else {
        return None;
    };
    problems.retain(|problem| problem.kind != ProblemKind::Missing);
    Some(Outcome::Invalid(problems))
}

/// What these rules forbid of the literals of a spec and of its adoption. The values of references are not known here.
pub(crate) fn forbidden(kind: &dyn Kind, spec: &dyn Spec, rules: &dyn Rules) -> Vec<Problem> {
    let nothing = Values::default();
    let mut resolver = Resolver::governed(&nothing, rules.governed());
    let _ = kind.desired(spec, &mut resolver);
    rules.refused(&resolver.finish().taken, spec.lifecycle().adopt.as_ref())
}

/// The desired state, and what was resolved of the Secrets that it contains.
pub(crate) fn desired(
    kind: &dyn Kind,
    spec: &dyn Spec,
    values: &Values,
    rules: Option<&dyn Rules>,
) -> Result<(Desired, Resolution), Outcome> {
    let mut resolver = match rules {
        Some(rules) => Resolver::governed(values, rules.governed()),
        None => Resolver::new(values),
    };
    if let Some(Err(message)) = spec.lifecycle().resync_interval.as_ref().map(kraken_api::Interval::duration)
    {
        resolver.problem("lifecycle.resyncInterval", message);
    }
    for (index, path) in spec.lifecycle().ignore_changes.iter().enumerate() {
        if let Some(message) = kind.info().fault(path) {
            resolver.problem(&format!("lifecycle.ignoreChanges[{index}]"), message);
        }
    }
    for (index, path) in spec.lifecycle().share.iter().flat_map(|share| &share.include).enumerate() {
        if let Some(why) = not_a_path(path) {
            resolver.problem(&format!("lifecycle.share.include[{index}]"), why);
        }
    }
    depends_on(spec.lifecycle(), &mut resolver);
    let desired = kind.desired(spec, &mut resolver);
    let mut resolution = resolver.finish();
    let problems = std::mem::take(&mut resolution.problems);
    // A violation of the rules of the account is reported in addition to all other problems.
    let adopt = spec.lifecycle().adopt.as_ref();
    policy::account::permits(rules, &resolution.taken, adopt)?;
    match desired {
        Some(desired) if problems.is_empty() => Ok((desired, resolution)),
        _ if problems.is_empty() => {
            Err(Outcome::Internal("the spec was rejected without a reason: please report this".to_owned()))
        }
        _ if problems.iter().all(|problem| problem.kind == ProblemKind::Missing) => {
            Err(Outcome::Waiting(problems))
        }
        _ => Err(Outcome::Invalid(problems)),
    }
}

/// A `dependsOn` entry is a reference whose value is not used: the resource waits for it, and is deleted before it, as
/// with any other reference.
fn depends_on(lifecycle: &Lifecycle, resolver: &mut Resolver<'_>) {
    for (index, on) in lifecycle.depends_on.iter().enumerate() {
        let source = ValueFrom::KrakenResource(on.reference());
        let _: Option<Resolved<String>> =
            resolver.take_from(&format!("lifecycle.dependsOn[{index}]"), &source);
    }
}

fn not_a_path(text: &str) -> Option<String> {
    match text.parse::<Path>() {
        Ok(path) if path.segments().is_some() => None,
        Ok(_) => Some("must be a dotted path such as instances.InstanceId".to_owned()),
        Err(why) => Some(why.to_string()),
    }
}
