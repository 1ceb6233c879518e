//! What a spec asks for: its references, its problems, and the desired state once the values of the references are known. Pure.

use kraken_api::Lifecycle;
use kraken_kind::{
    account::Rules,
    dynamic::{Desired, Kind, Spec},
};
use kraken_options::{
    Dependencies, Path, Problem, ProblemKind, Resolution, Resolved, Resolver, ValueFrom, Values,
};

use crate::{outcome::Outcome, policy, secrecy::SecretFields};

/// The references of a spec. They are found by resolving the spec without values, so that the requested references
/// cannot differ from the ones that are used.
pub fn dependencies(kind: &dyn Kind, spec: &dyn Spec) -> Dependencies {
    let nothing = Values::default();
    let mut resolver = Resolver::new(&nothing);
    depends_on(spec.lifecycle(), &mut resolver);
    let _ = kind.desired(spec, &mut resolver);
    resolver.finish().dependencies
}

/// The fields of a spec that refer to Secrets, whether or not these exist.
pub fn secret_fields(kind: &dyn Kind, spec: &dyn Spec) -> SecretFields {
    let nothing = Values::default();
    let mut resolver = Resolver::new(&nothing);
    let _ = kind.desired(spec, &mut resolver);
    SecretFields::of(&resolver.finish().secret_fields, [], |_| false)
}

/// The problems that no value of a reference can solve, if there are any: they are reported without waiting for a
/// value.
pub fn certain(kind: &dyn Kind, spec: &dyn Spec) -> Option<Outcome> {
    let Err(Outcome::Invalid(mut problems)) = desired(kind, spec, &Values::default(), None) else {
        return None;
    };
    problems.retain(|problem| problem.kind != ProblemKind::Missing);
    Some(Outcome::Invalid(problems))
}

/// What these rules forbid of the literals of a spec and of its adoption. The values of references are not known here.
pub fn forbidden(kind: &dyn Kind, spec: &dyn Spec, rules: &dyn Rules) -> Vec<Problem> {
    let nothing = Values::default();
    let mut resolver = Resolver::governed(&nothing, rules.governed());
    let _ = kind.desired(spec, &mut resolver);
    rules.refused(&resolver.finish().taken, spec.lifecycle().adopt.as_ref())
}

/// The desired state, and what was resolved of the Secrets that it contains.
pub fn desired(
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
