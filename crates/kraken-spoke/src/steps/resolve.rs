//! Step 5: resolves options and values to the desired state, or reports all problems together. No client required.

use kraken_kind::Ignored;
use kraken_model::{
    in_place, ledger,
    observation::Target,
    outcome::Outcome,
    policy::retention::adopted,
    secrecy::{self, Secrecy, SecretFields},
    spec,
};
use kraken_options::{Dependencies, Values};
use kube::{Resource, core::object::HasStatus};

use crate::context::Reconcile;

/// The desired state, and what decides how a difference from it is treated.
pub(crate) fn resolve(
    reconcile: &Reconcile<'_>,
    dependencies: &Dependencies,
    values: &Values,
) -> Result<Target, Outcome> {
    let Reconcile { context, object, identity, memory, .. } = reconcile;
    let (desired, resolution) =
        spec::desired(&*context.kind, object.spec(), values, context.rules.as_deref())?;
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
