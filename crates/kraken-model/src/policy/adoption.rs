//! `lifecycle.adopt`: which object is adopted. It is certain that exactly one matches, and that no other resource owns it.

use kraken_api::{Adopt, reasons::Reason};
use kraken_kind::{
    Candidate, Identity,
    dynamic::{Kind, Observed},
};
use kraken_runtime::watch::ObjectKey;

use crate::{ids::listed, outcome::Outcome, policy::Permit};

/// Whether a resource that adopted these objects may name another id: it keeps managing those of them that are `live`.
pub fn permits_id(wanted: &str, adopted: &[String], live: &[String]) -> Permit {
    let live: Vec<&String> = adopted.iter().filter(|id| live.contains(id)).collect();
    if live.is_empty() || live.iter().any(|id| *id == wanted) {
        return Ok(());
    }
    let id = listed(&live.into_iter().cloned().collect::<Vec<_>>());
    Err(Outcome::AdoptionRefused(format!(
        "spec.lifecycle.adopt.id: this resource adopted {id}, and does not change to {wanted}: restore {id}, or create another \
         resource that adopts {wanted}, and delete this one (with lifecycle.deletion Retain, {id} is kept)"
    )))
}

/// The outcome for an object that another resource is about to own, until the provider shows its owner, or that resource is gone.
pub fn in_progress(id: &str) -> Outcome {
    Outcome::NotYet(
        Reason::Creating,
        format!(
            "spec.lifecycle.adopt: another resource of this cluster has just adopted {id}: waiting until the provider shows its owner, or that \
             resource is gone"
        ),
    )
}

/// The one object that matches, or why there is none.
pub fn only(
    kind: &dyn Kind,
    found: Vec<Candidate<Observed>>,
    wanted: &Adopt,
) -> Result<Candidate<Observed>, Outcome> {
    let name = kind.info().name;
    let (mut alive, gone): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|candidate| !candidate.observed.ids().is_empty());
    if alive.len() > 1 {
        let ids: Vec<String> = alive.into_iter().map(|candidate| candidate.id).collect();
        return Err(Outcome::AdoptionRefused(format!(
            "spec.lifecycle.adopt: {} objects match {wanted}: {}; specify an id, or tags that match only one",
            ids.len(),
            listed(&ids)
        )));
    }
    alive.pop().ok_or_else(|| {
        Outcome::AdoptionRefused(match gone.first() {
            Some(candidate) => format!(
                "spec.lifecycle.adopt: {} is already deleted: specify another, or remove adopt to create one",
                candidate.id
            ),
            None => format!(
                "spec.lifecycle.adopt: no {name} has {wanted}: check the value and the region, or remove adopt to create one"
            ),
        })
    })
}

/// The outcome for an object of another resource.
pub fn owned_by(id: &str, owner: &Identity, cluster: &str) -> Outcome {
    let start =
        format!("spec.lifecycle.adopt: {id} is owned by {} of cluster {}:", owner.owner, owner.cluster);
    Outcome::AdoptionRefused(match owner.resource() {
        Some((kind, ObjectKey { namespace, name })) if owner.cluster == cluster => {
            let resource = format!("{} {name} -n {namespace}", kind.to_lowercase());
            format!(
                "{start} delete that resource with lifecycle.deletion Retain first (kubectl patch {resource} --type merge -p \
                 '{{\"spec\":{{\"lifecycle\":{{\"deletion\":\"Retain\"}}}}}}', then kubectl delete {resource}), or specify another \
                 object"
            )
        }
        _ => format!(
            "{start} delete that resource there with lifecycle.deletion Retain first, or specify another object"
        ),
    })
}
