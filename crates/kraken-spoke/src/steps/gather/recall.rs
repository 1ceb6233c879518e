//! Learns which fields once came from a Secret, if neither the status nor the ledger tells.
//!
//! A client may remove both while no process runs, and edit such a field to a literal. The remote object still has the Secret's
//! value. The DependencyRequest of the former spec shows that there was a reference, and the published state names the field.

use kraken_api::{DependencyRequest, DependencyRequestSpec, ResourceStatus};
use kraken_kind::state::is_of;
use kraken_model::{ledger, outcome::Outcome, secrecy, spec};
use kube::{Resource, core::object::HasStatus};

use crate::{context::Reconcile, steps::act::declare};

/// Records every field that can come from a Secret if the request still names Secrets that the spec does not refer to, and nothing
/// else is on record. No client required.
pub(crate) fn learn_secret_fields_from_request(reconcile: &mut Reconcile<'_>) {
    if reconcile.memory.secrets.recalled || is_known(&*reconcile.object) {
        return;
    }
    let key = reconcile.context.owned_key(&reconcile.key());
    let Reconcile { context, object, identity, memory, .. } = reconcile;
    let has_secrets = |request: &DependencyRequest| !request.spec.secret_dependencies.is_empty();
    let request = context.requests.get(&key).filter(|request| has_secrets(request));
    let Some(request) = request.filter(|request| is_of(request.meta(), &identity.uid)) else { return };
    if !secrecy::recorded(object.status(), ledger::of(object).as_ref()).is_empty() {
        return;
    }
    let now = DependencyRequestSpec::from(&spec::dependencies(&*context.kind, object.spec()));
    if request.spec.secret_dependencies.iter().any(|key| !now.secret_dependencies.contains(key)) {
        let fields = context.info().secret_field_paths.iter().map(|(field, _)| (*field).to_owned());
        memory.secrets.fields.extend(fields);
    }
}

/// Reads the state of a resource once for each process, and records the fields that it withholds. Client required.
pub(super) async fn recall(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    if reconcile.memory.secrets.recalled {
        return Ok(());
    }
    if !is_known(&*reconcile.object) && declare::is_declared(reconcile) {
        let state = declare::stored(reconcile).await.map_err(Outcome::Kubernetes)?;
        let withheld = state.iter().flat_map(|state| &state.withheld);
        let fields = withheld.flat_map(|withheld| withheld.fields().map(ToOwned::to_owned));
        reconcile.memory.secrets.fields.extend(fields);
    }
    reconcile.memory.secrets.recalled = true;
    Ok(())
}

/// Whether the status has the secret fields: those of the last spec that was in place, and those that were recorded since.
fn is_known(object: &impl HasStatus<Status = ResourceStatus>) -> bool {
    object.status().is_some_and(|status| status.in_place.is_some())
}
