//! `lifecycle.approval`: plans, which are the actions shown to a person before they are carried out, and whether that person has
//! approved them.
//!
//! The hash covers the actions, the desired state, and the plan carried out before, so that one approval is valid for
//! one plan. A plan of several steps is approved once: each further step must be part of it and lead to the same
//! desired state.

use kraken_api::{
    APPROVED_PLAN_ANNOTATION, Approval, FieldDiff, Lifecycle, Plan, PlanAction, ResourceStatus,
    reasons::Reason,
};
use kraken_kind::{
    Comparison, MISSING,
    dynamic::{Desired, Object},
};
use kube::{Resource, ResourceExt, core::object::HasStatus};
use sha2::{Digest, Sha256};

use crate::{
    decide::{Decision, Remedies, remedies},
    ids::listed,
    launch_plan::parameters_hash,
    outcome::Outcome,
    policy::{Permit, replacement, undecoded},
};

/// Whether the decision may be carried out. During a replacement, the action includes the deletion of the replaced objects, which are
/// `outgoing`, also if nothing else is to be done: the replacement may have begun before approvals were required, or lead to another
/// desired state than the approved one.
pub fn permits<C>(object: &Object, decision: &Decision<C>, desired: &Desired, outgoing: &[String]) -> Permit {
    let lifecycle = object.lifecycle();
    if lifecycle.approval != Approval::Manual {
        return Ok(());
    }
    let target = parameters_hash(desired, "");
    let proposal = Proposal::of(decision, &target);
    let is_due = replacement::is_deletion_due(lifecycle, matches!(decision, Decision::InPlace));
    // What the lifecycle protects is not deleted, approved or not.
    let is_next = is_due && !lifecycle.protect && !matches!(decision, Decision::Resume(..));
    let proposal = if !outgoing.is_empty() && (proposal.is_some() || is_next) {
        Some(Proposal::of_replacement(outgoing, decision, &target))
    } else {
        proposal
    };
    proposal.map_or(Ok(()), |proposal| proposal.approved(object))
}

/// Whether these objects of a resource that is being deleted may be deleted.
pub fn permits_deletion(object: &Object, ids: &[String]) -> Permit {
    if object.lifecycle().approval != Approval::Manual {
        return Ok(());
    }
    if undecoded::of(object).is_some() {
        let message = "the deletion requires approval, and an object that does not decode has no plan: \
                       correct it, or set spec.lifecycle.approval to Automatic";
        return Err(Outcome::InProgress(Reason::AwaitingApproval, message.to_owned()));
    }
    let (changes, target) = (vec![], String::new());
    Proposal { action: PlanAction::Delete, what: listed(ids), changes, target }.approved(object)
}

/// Whether the object with this id may be adopted. One that would have to be changed needs an approval under each policy.
pub fn permits_adoption<C>(
    object: &Object,
    id: &str,
    comparison: Comparison<C>,
    desired: &Desired,
    missing_path: &str,
) -> Permit {
    let differs = comparison.missing.is_some() || !comparison.differences.is_empty();
    if object.lifecycle().approval != Approval::Manual && !differs {
        return Ok(());
    }
    let target = parameters_hash(desired, "");
    Proposal::of_adoption(id, comparison, object.lifecycle(), target, missing_path).approved(object)
}

/// The proposed actions, not yet a plan of a particular resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What is done first.
    pub action: PlanAction,
    /// The objects that are created, adopted or deleted.
    pub what: String,
    /// The fields that change, with their old and new values.
    pub changes: Vec<FieldDiff>,
    /// A digest of the whole desired state.
    pub target: String,
}

/// Whether a proposal is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PlanApproval {
    /// Approved and recorded: continue.
    Granted,
    /// Approved, and to be recorded first, so that its further steps are known to be part of it.
    ToRecord(Plan),
    /// Not approved, or changed since the approval.
    Awaited(Plan),
}

impl Proposal {
    /// The remote action of a decision, if it has one.
    fn of<C>(decision: &Decision<C>, target: &str) -> Option<Self> {
        let (action, what, changes) = match decision {
            Decision::Create(what) => (PlanAction::Create, what.clone(), vec![]),
            Decision::Change(changes) => {
                let fields = changes.iter().map(|planned| planned.field.clone()).collect();
                (PlanAction::Change, String::new(), fields)
            }
            Decision::Replace(fields) => (PlanAction::Replace, String::new(), fields.clone()),
            // The completion of a disruption was approved with the change that started it.
            Decision::InPlace
            | Decision::Settle(_)
            | Decision::Resume(..)
            | Decision::Immutable(_)
            | Decision::Report(_) => {
                return None;
            }
        };
        Some(Self { action, what, changes, target: target.to_owned() })
    }

    /// The next step of a replacement in progress, which ends with the deletion of these objects. It includes a decision that has a
    /// remote action: one approval is valid for the whole replacement.
    fn of_replacement<C>(outgoing: &[String], decision: &Decision<C>, target: &str) -> Self {
        let changes = Self::of(decision, target).map(|proposal| proposal.changes).unwrap_or_default();
        Self { action: PlanAction::Replace, what: listed(outgoing), changes, target: target.to_owned() }
    }

    /// All fields that would change, and those that cannot, so that the plan shows every consequence of the adoption.
    pub fn of_adoption<C>(
        id: &str,
        comparison: Comparison<C>,
        lifecycle: &Lifecycle,
        target: String,
        missing_path: &str,
    ) -> Self {
        let missing = comparison.missing.map(|what| FieldDiff::new(missing_path, what, MISSING));
        let Remedies { changes, immutable } = remedies(comparison.differences, lifecycle);
        let changes: Vec<FieldDiff> = changes.into_iter().map(|planned| planned.field).collect();
        let what = match replacement::permits(lifecycle, true) {
            _ if immutable.is_empty() && changes.is_empty() && missing.is_none() => {
                format!("{id}{}", Plan::WITHOUT_CHANGES)
            }
            _ if immutable.is_empty() => id.to_owned(),
            Ok(()) => {
                let each = |(field, _): &(FieldDiff, String)| {
                    format!("spec.{} from {} to {}", field.path, field.have, field.want)
                };
                let fields: Vec<String> = immutable.iter().map(each).collect();
                format!("{id}, then replace it to change {}", fields.join("; "))
            }
            Err(_) => {
                let each =
                    |(field, _): &(FieldDiff, String)| format!("spec.{} (stays {})", field.path, field.have);
                let fields: Vec<String> = immutable.iter().map(each).collect();
                format!(
                    "{id}; cannot change {}, so that Ready stays False until the spec matches",
                    fields.join(", ")
                )
            }
        };
        let changes = missing.into_iter().chain(changes).collect();
        Self { action: PlanAction::Adopt, what, changes, target }
    }

    /// Whether the actions may be carried out on this object now; otherwise the outcome of the reconcile.
    pub fn approved(self, object: &Object) -> Permit {
        let approved = object.annotations().get(APPROVED_PLAN_ANNOTATION).map(String::as_str);
        match self.evaluate(object.meta().uid.as_deref(), object.status(), approved) {
            PlanApproval::Granted => Ok(()),
            PlanApproval::ToRecord(plan) => Err(Outcome::Approved(plan.into())),
            PlanApproval::Awaited(plan) => Err(Outcome::AwaitingApproval(plan.into())),
        }
    }

    /// `owner` is the UID of the resource: an approval that is copied to another one, with the rest of a manifest, does not count.
    fn evaluate(
        self,
        owner: Option<&str>,
        status: Option<&ResourceStatus>,
        approved: Option<&str>,
    ) -> PlanApproval {
        let completed = status.and_then(|status| status.completed_plan.as_deref());
        // Permission to write a status must not imply permission to approve: a plan counts only if its hash matches its
        // content.
        let is_genuine = |plan: &&Plan| plan.hash == hash_of(owner, plan, completed);
        let stored = status.and_then(|status| status.plan.as_ref()).filter(is_genuine);
        let mut plan = self.into_plan(owner, completed);
        match (stored, approved) {
            (Some(stored), Some(hash)) if stored.hash == hash && is_remainder_of(&plan, stored) => {
                PlanApproval::Granted
            }
            (_, Some(hash)) if plan.hash == hash => PlanApproval::ToRecord(plan),
            (stored, Some(hash)) if Some(hash) != completed => {
                plan.stale = Some(stale(&plan, stored, hash));
                PlanApproval::Awaited(plan)
            }
            _ => PlanApproval::Awaited(plan),
        }
    }

    fn into_plan(self, owner: Option<&str>, completed: Option<&str>) -> Plan {
        let Self { action, what, changes, target } = self;
        let plan = Plan { hash: String::new(), action, what, changes, target, stale: None };
        Plan { hash: hash_of(owner, &plan, completed), ..plan }
    }
}

/// The hash of a plan: of its resource, its content, and of the plan that was carried out before it.
fn hash_of(owner: Option<&str>, plan: &Plan, completed: Option<&str>) -> String {
    let Plan { action, what, target, .. } = plan;
    let fields: Vec<_> = plan.changes.iter().map(|c| (&c.path, &c.want, &c.have)).collect();
    let text = format!("{owner:?}/{action:?}/{what:?}/{fields:?}/{target:?}/{completed:?}");
    hex::encode(Sha256::digest(text).get(..8).unwrap_or_default())
}

/// Whether a plan is the remainder of an approved one. Creation and replacement include all steps to the same desired
/// state; changes include only themselves.
fn is_remainder_of(plan: &Plan, approved: &Plan) -> bool {
    use PlanAction::{Adopt, Change, Create, Delete, Replace};
    if plan.hash == approved.hash {
        return true;
    }
    let is_part = || plan.changes.iter().all(|change| approved.changes.iter().any(|c| same(c, change)));
    plan.target == approved.target
        && match (approved.action, plan.action) {
            (Create, Create | Change) | (Replace, Create | Change | Replace) | (Delete, Delete) => true,
            (Change, Change) | (Adopt, Adopt | Change) => is_part(),
            _ => false,
        }
}

fn same(a: &FieldDiff, b: &FieldDiff) -> bool {
    (&a.path, &a.want, &a.have) == (&b.path, &b.want, &b.have)
}

/// Why an approval does not count, for the person who gave it.
fn stale(plan: &Plan, stored: Option<&Plan>, approved: &str) -> String {
    match stored {
        Some(stored) if stored.hash == approved => {
            let news: Vec<_> = plan
                .changes
                .iter()
                .filter(|change| !stored.changes.iter().any(|c| same(c, change)))
                .map(|c| format!("spec.{} would become {}, currently {}", c.path, c.want, c.have))
                .collect();
            let what = match (news.is_empty(), plan.action == stored.action) {
                (false, _) => format!("now {}", news.join("; ")),
                (true, false) => format!("the action was {:?} and is now {:?}", stored.action, plan.action),
                (true, true) => "the desired state has changed".to_owned(),
            };
            format!("the approval of {approved} is stale: {what}")
        }
        // The approval was reported as stale before, and the plan since then is the one shown: the first reason is
        // kept.
        Some(stored)
            if stored.hash == plan.hash && stored.stale.as_ref().is_some_and(|s| s.contains(approved)) =>
        {
            stored.stale.clone().unwrap_or_default()
        }
        // Usually that of an earlier plan, which was carried out.
        _ => format!("the annotation has {approved}, which is not the hash of this plan"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, have: &str, want: &str) -> FieldDiff {
        FieldDiff::new(path, want, have)
    }

    fn proposal(action: PlanAction, changes: Vec<FieldDiff>, target: &str) -> Proposal {
        Proposal { action, what: String::new(), changes, target: target.to_owned() }
    }

    fn resize() -> Proposal {
        proposal(PlanAction::Change, vec![change("size", "3", "5"), change("colour", "red", "blue")], "t")
    }

    /// The status after a proposal was shown.
    fn shown(proposal: Proposal, completed: Option<&str>) -> (ResourceStatus, String) {
        let plan = proposal.into_plan(None, completed);
        let hash = plan.hash.clone();
        let completed_plan = completed.map(str::to_owned);
        (ResourceStatus { plan: Some(plan), completed_plan, ..ResourceStatus::default() }, hash)
    }

    fn stale_reason(verdict: PlanApproval) -> String {
        let PlanApproval::Awaited(plan) = verdict else { panic!("{verdict:?}") };
        plan.stale.unwrap_or_default()
    }

    #[test]
    fn plan_requires_approval() {
        assert!(
            matches!(resize().evaluate(None, None, None), PlanApproval::Awaited(plan) if plan.stale.is_none())
        );
        let (status, hash) = shown(resize(), None);
        assert_eq!(resize().evaluate(None, Some(&status), Some(&hash)), PlanApproval::Granted);
    }

    #[test]
    fn approval_given_before_the_plan_was_shown_is_recorded_first() {
        let (_, hash) = shown(resize(), None);
        assert!(
            matches!(resize().evaluate(None, None, Some(&hash)), PlanApproval::ToRecord(plan) if plan.hash == hash)
        );
    }

    #[test]
    fn further_steps_of_an_approved_plan_need_no_approval() {
        let (status, hash) = shown(resize(), None);
        let rest = proposal(PlanAction::Change, vec![change("colour", "red", "blue")], "t");
        assert_eq!(rest.evaluate(None, Some(&status), Some(&hash)), PlanApproval::Granted);
        let (status, hash) =
            shown(proposal(PlanAction::Replace, vec![change("colour", "a", "b")], "t"), None);
        let create = proposal(PlanAction::Create, vec![], "t");
        assert_eq!(create.evaluate(None, Some(&status), Some(&hash)), PlanApproval::Granted);
    }

    #[test]
    fn change_outside_the_plan_is_not_approved() {
        let (status, hash) = shown(resize(), None);
        let more = proposal(PlanAction::Change, vec![change("size", "4", "5")], "t");
        assert!(
            stale_reason(more.evaluate(None, Some(&status), Some(&hash)))
                .contains("spec.size would become 5, currently 4")
        );
        let other_end = proposal(PlanAction::Change, vec![change("size", "3", "5")], "other");
        assert!(stale_reason(other_end.evaluate(None, Some(&status), Some(&hash))).contains("stale"));
        let replace = proposal(PlanAction::Replace, vec![change("size", "3", "5")], "t");
        assert!(matches!(replace.evaluate(None, Some(&status), Some(&hash)), PlanApproval::Awaited(_)));
    }

    #[test]
    fn message_of_a_stale_approval_is_stable() {
        let (mut status, hash) = shown(resize(), None);
        let edited = || proposal(PlanAction::Change, vec![change("size", "3", "7")], "other");
        let PlanApproval::Awaited(plan) = edited().evaluate(None, Some(&status), Some(&hash)) else {
            panic!()
        };
        status.plan = Some(plan.clone());
        assert_eq!(edited().evaluate(None, Some(&status), Some(&hash)), PlanApproval::Awaited(plan));
    }

    #[test]
    fn forged_plan_is_not_approved_by_the_hash_of_another() {
        let (mut status, hash) = shown(resize(), None);
        // A client with permission to write the status stores another plan under the hash that a person approved.
        let forged = || proposal(PlanAction::Delete, vec![], "t");
        status.plan = Some(Plan { hash: hash.clone(), ..forged().into_plan(None, None) });
        assert!(matches!(forged().evaluate(None, Some(&status), Some(&hash)), PlanApproval::Awaited(_)));
        // Or the client extends the approved plan.
        let (mut status, hash) = shown(resize(), None);
        let wider = || proposal(PlanAction::Change, vec![change("size", "3", "99")], "t");
        status.plan.as_mut().unwrap().changes.push(change("size", "3", "99"));
        assert!(matches!(wider().evaluate(None, Some(&status), Some(&hash)), PlanApproval::Awaited(_)));
    }

    #[test]
    fn approval_is_valid_for_one_resource() {
        let hash = |owner: &str| resize().into_plan(Some(owner), None).hash;
        let verdict = |owner: &str| resize().evaluate(Some(owner), None, Some(&hash("u-1")));
        assert!(matches!(verdict("u-1"), PlanApproval::ToRecord(_)));
        assert!(matches!(verdict("u-2"), PlanApproval::Awaited(plan) if plan.stale.is_some()));
    }

    #[test]
    fn approval_is_valid_for_one_plan() {
        let (_, hash) = shown(resize(), None);
        let later = ResourceStatus { completed_plan: Some(hash.clone()), ..ResourceStatus::default() };
        let verdict = resize().evaluate(None, Some(&later), Some(&hash));
        assert!(matches!(verdict, PlanApproval::Awaited(plan) if plan.hash != hash && plan.stale.is_none()));
    }
}
