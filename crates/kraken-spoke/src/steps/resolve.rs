//! Step 2: options and values become what is desired, or all problems at once. No client required.

use kraken_api::HasLifecycle;
use kraken_options::{Dependencies, ProblemKind, Resolution, Resolver, Scrubber, Values};

use crate::{External, external::SpecOf, outcome::Outcome};

/// What a spec refers to. Found by resolving it against nothing, so that what is asked for can never differ from what
/// is used.
pub(crate) fn dependencies<E: External>(spec: &SpecOf<E>) -> Dependencies {
    let nothing = Values::default();
    let mut resolver = Resolver::new(&nothing);
    let _ = E::desired(spec, &mut resolver);
    resolver.finish().dependencies
}

/// What is desired, with a scrubber of every Secret that is in it.
pub(crate) fn desired<E: External>(
    spec: &SpecOf<E>,
    values: &Values,
) -> Result<(E::Desired, Scrubber), Outcome> {
    let mut resolver = Resolver::new(values);
    if let Some(Err(message)) = spec.lifecycle().resync_interval.as_ref().map(kraken_api::Interval::duration)
    {
        resolver.problem("lifecycle.resyncInterval", message);
    }
    let desired = E::desired(spec, &mut resolver);
    let Resolution { problems, secrets, .. } = resolver.finish();
    match desired {
        Some(desired) if problems.is_empty() => Ok((desired, Scrubber::new(&secrets))),
        _ if problems.is_empty() => {
            Err(Outcome::Internal("the spec was refused without a reason: please report this".to_owned()))
        }
        _ if problems.iter().all(|problem| problem.kind == ProblemKind::Missing) => {
            Err(Outcome::Waiting(problems))
        }
        _ => Err(Outcome::Invalid(problems)),
    }
}
