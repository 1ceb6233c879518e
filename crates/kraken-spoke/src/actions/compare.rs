//! Compares the current objects of a resource with its target: what step 6 and a dry run have in common. Client required only for kinds
//! whose external examines the objects first.

use kraken_kind::{
    Comparison,
    dynamic::{Change, Desired, Observed},
};
use kraken_model::{decide::remove_ignored, in_place, observation::Target, outcome::Outcome};
use kube::core::object::HasStatus;

use crate::context::Reconcile;

/// The current objects, compared with the target.
pub(crate) struct Compared {
    pub current: Observed,
    /// The desired state with the observed value in every ignored field, if that differs.
    pub kept: Option<Desired>,
    pub comparison: Comparison<Change>,
}

/// Compares these objects with the target, once the external has examined them: the differences that are not ignored, without secret
/// values.
pub(crate) async fn compared(
    reconcile: &mut Reconcile<'_>,
    target: &Target,
    mut current: Observed,
) -> Result<Compared, Outcome> {
    let Reconcile { context, object, identity, slot, .. } = reconcile;
    let kind = &*context.kind;
    let kept = if target.ignored.is_empty() {
        None
    } else {
        kind.without_ignored(&target.desired, &current, &target.ignored)
    };
    if !current.ids().is_empty() {
        let desired = kept.as_ref().unwrap_or(&target.desired);
        let examined = context.link.external.examine(identity, desired, &current);
        // Of most kinds, there is nothing to wait for.
        let examined = if context.info().slow { slot.release_while(examined).await } else { examined.await };
        current = examined.map_err(Outcome::Failed)?;
    }
    let ids = current.ids();
    let mut comparison = kind.compare(kept.as_ref().unwrap_or(&target.desired), &current);
    let fixed = in_place::edits_at_creation(&identity.uid, target.at_creation.clone(), object.status(), &ids);
    comparison.differences.extend(fixed);
    let missing_path = (!ids.is_empty()).then_some(context.info().missing_path);
    let comparison = remove_ignored(target.secrecy.mask(comparison), &target.ignored, missing_path);
    Ok(Compared { current, kept, comparison })
}
