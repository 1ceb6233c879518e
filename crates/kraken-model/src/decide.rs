//! Decides on the next action from one comparison, as an enum whose variants are the vocabulary of logs, events and
//! tests.

use kraken_api::{FieldDiff, Lifecycle};
use kraken_kind::{
    Candidate, Comparison, Difference, Ignored, MISSING, Remedy,
    dynamic::{Change, Observed},
};
use strum::{IntoStaticStr, VariantNames};

use crate::{
    outcome::Outcome,
    policy::{disruption, drift, replacement},
};

/// What step 8 carries out.
#[derive(Debug)]
pub enum Action {
    /// Adopt this object.
    Adopt(Candidate<Observed>),
    /// Publish the state of what exists. The reconcile ends with this outcome.
    Publish(Outcome),
    /// Publish the state if it is due, and do what the comparison leads to.
    Apply(Decision<Change>),
}

/// What a comparison leads to.
#[derive(Debug, PartialEq, IntoStaticStr, VariantNames)]
pub enum Decision<C> {
    /// Observed equals desired.
    InPlace,
    /// An operation of the provider is in progress; observe again.
    Settle(String),
    /// Create the missing objects.
    Create(String),
    /// These changes in place, in this order.
    Change(Vec<Planned<C>>),
    /// The next step of a disruption that has started.
    Resume(FieldDiff, C),
    /// Fields cannot be changed in place, and the remote object may be replaced.
    Replace(Vec<FieldDiff>),
    /// Fields cannot be changed in place: each with the reason.
    Immutable(Vec<(FieldDiff, String)>),
    /// Fields differ and are only reported.
    Report(Vec<FieldDiff>),
}

/// Removes the differences that the resource ignores. `missing_path` is the path that [`Comparison::missing`] refers to
/// if an object exists already: if no object exists, the first one is created regardless of what is ignored.
pub fn remove_ignored<C>(
    mut comparison: Comparison<C>,
    ignored: &Ignored,
    missing_path: Option<&str>,
) -> Comparison<C> {
    comparison
        .differences
        .retain(|difference| difference.is_resumption() || !ignored.covers(&difference.field.path));
    if missing_path.is_some_and(|path| ignored.covers(path)) {
        comparison.missing = None;
    }
    comparison
}

/// Decides on a comparison without [ignored differences](remove_ignored). `edited` means that the spec or a referenced value is
/// not the one that was last in place: then a difference is an edit to apply, and not drift.
pub fn decide<C>(comparison: Comparison<C>, lifecycle: &Lifecycle, edited: bool) -> Decision<C> {
    let Comparison { missing, settling, mut differences } = comparison;

    // First in every case: no object stays stopped because of a disruption that this resource started.
    if let Some(index) = differences.iter().position(Difference::is_resumption)
        && let Difference { field, remedy: Remedy::Resume(change) } = differences.swap_remove(index)
    {
        return Decision::Resume(field, change);
    }

    if drift::is_reported(lifecycle, edited) && (missing.is_some() || !differences.is_empty()) {
        let gone = missing.map(|what| FieldDiff::new("", what, MISSING));
        return Decision::Report(gone.into_iter().chain(differences.into_iter().map(|d| d.field)).collect());
    }
    if let Some(what) = missing {
        return Decision::Create(what);
    }
    if let Some(what) = settling {
        return Decision::Settle(what);
    }
    let Remedies { changes, immutable } = remedies(differences, lifecycle);
    match replacement::permits(lifecycle, edited) {
        _ if !changes.is_empty() => Decision::Change(changes),
        _ if immutable.is_empty() => Decision::InPlace,
        Ok(()) => Decision::Replace(immutable.into_iter().map(|(field, _)| field).collect()),
        Err(why) => {
            Decision::Immutable(immutable.into_iter().map(|(f, text)| (f, format!("{text}{why}"))).collect())
        }
    }
}

/// A change in place.
#[derive(Debug, PartialEq)]
pub struct Planned<C> {
    /// The field that differs.
    pub field: FieldDiff,
    /// What the kind's `update` gets.
    pub change: C,
    /// Whether it stops an object that runs.
    pub is_disruptive: bool,
}

/// Differences by the way they can be removed.
#[derive(Debug)]
pub struct Remedies<C> {
    /// Changes in place, in their order.
    pub changes: Vec<Planned<C>>,
    /// Fields that cannot be changed in place, each with the reason.
    pub immutable: Vec<(FieldDiff, String)>,
}

/// How these differences can be removed under this lifecycle, without a replacement.
pub fn remedies<C>(differences: Vec<Difference<C>>, lifecycle: &Lifecycle) -> Remedies<C> {
    let (mut changes, mut immutable) = (vec![], vec![]);
    for Difference { field, remedy } in differences {
        match remedy {
            Remedy::Disruptive(change, takes) => match disruption::permits(lifecycle, &takes) {
                Ok(()) => changes.push(Planned { field, change, is_disruptive: true }),
                Err(why) => immutable.push((field, why)),
            },
            Remedy::Change(change) | Remedy::Resume(change) => {
                changes.push(Planned { field, change, is_disruptive: false });
            }
            Remedy::Immutable(why) => immutable.push((field, why)),
        }
    }
    Remedies { changes, immutable }
}

#[cfg(test)]
mod tests {
    use kraken_api::{Disruption, Drift, Replace};

    use super::*;

    fn difference(path: &str, remedy: Remedy<&'static str>) -> Difference<&'static str> {
        Difference { field: FieldDiff::new(path, "a", "b"), remedy }
    }

    fn image() -> Comparison<&'static str> {
        let differences = vec![difference("imageID", Remedy::Immutable("never".into()))];
        Comparison { differences, ..Comparison::default() }
    }

    fn tags_and_image() -> Comparison<&'static str> {
        let mut comparison = image();
        comparison.differences.push(difference("tags.Team", Remedy::Change("tag")));
        comparison
    }

    fn size() -> Comparison<&'static str> {
        let remedy = Remedy::Disruptive("stop", "it takes a stop: stop it".into());
        Comparison { differences: vec![difference("size", remedy)], ..Comparison::default() }
    }

    fn replacing(replace: Replace) -> Lifecycle {
        Lifecycle { replace, ..Lifecycle::default() }
    }

    /// The reasons of an `Immutable` decision.
    fn reasons(decision: Decision<&'static str>) -> String {
        let Decision::Immutable(fields) = decision else { panic!("{decision:?}") };
        fields.into_iter().map(|(_, why)| why).collect::<Vec<_>>().join("; ")
    }

    fn changes(decision: Decision<&'static str>) -> Vec<&'static str> {
        let Decision::Change(changes) = decision else { panic!("{decision:?}") };
        changes.into_iter().map(|planned| planned.change).collect()
    }

    #[test]
    fn mutable_fields_change_before_immutable_ones_are_reported() {
        let decision = decide(tags_and_image(), &Lifecycle::default(), true);
        assert_eq!(changes(decision), ["tag"]);
    }

    #[test]
    fn disruption_resumes_before_other_changes_regardless_of_the_lifecycle() {
        let differences = vec![
            difference("tags.Team", Remedy::Change("tag")),
            difference("state", Remedy::Resume("start")),
        ];
        let comparison = Comparison {
            missing: Some("1 instance of 2".into()),
            settling: Some("i-2 is pending".into()),
            differences,
        };
        let lifecycle = Lifecycle { drift: Drift::Report, ..Lifecycle::default() };
        let remaining = remove_ignored(comparison, &Ignored::new(&["state".to_owned()]), None);
        assert_eq!(
            decide(remaining, &lifecycle, false),
            Decision::Resume(FieldDiff::new("state", "a", "b"), "start")
        );
    }

    #[test]
    fn ignored_difference_is_removed() {
        let ignored = Ignored::new(&["tags".to_owned()]);
        let remaining = remove_ignored(tags_and_image(), &ignored, None);
        assert!(matches!(decide(remaining, &Lifecycle::default(), true), Decision::Immutable(_)));
    }

    #[test]
    fn ignored_count_creates_only_the_first_object() {
        let ignored = Ignored::new(&["maxCount".to_owned()]);
        let comparison = || Comparison::<()> { missing: Some("1 instance".into()), ..Comparison::default() };
        assert!(remove_ignored(comparison(), &ignored, None).missing.is_some());
        assert!(remove_ignored(comparison(), &ignored, Some("maxCount")).missing.is_none());
        assert!(remove_ignored(comparison(), &ignored, Some("")).missing.is_some());
    }

    #[test]
    fn reported_drift_is_not_reverted_and_an_edit_is_applied() {
        let lifecycle = Lifecycle { drift: Drift::Report, ..Lifecycle::default() };
        assert!(
            matches!(decide(tags_and_image(), &lifecycle, false), Decision::Report(diff) if diff.len() == 2)
        );
        assert!(matches!(decide(tags_and_image(), &lifecycle, true), Decision::Change(..)));
    }

    #[test]
    fn replacement_requires_the_lifecycle_option() {
        assert_eq!(reasons(decide(image(), &replacing(Replace::Never), true)), "never");
        for replace in [Replace::DeleteFirst, Replace::CreateFirst] {
            assert!(matches!(decide(image(), &replacing(replace), true), Decision::Replace(_)));
        }
    }

    #[test]
    fn drift_alone_does_not_cause_a_replacement() {
        let why = reasons(decide(image(), &replacing(Replace::CreateFirst), false));
        assert!(why.contains("drift alone does not cause a replacement"), "{why}");
    }

    #[test]
    fn protected_object_is_not_replaced() {
        let lifecycle = Lifecycle { protect: true, ..replacing(Replace::CreateFirst) };
        let why = reasons(decide(image(), &lifecycle, true));
        assert!(why.contains("spec.lifecycle.protect"), "{why}");
    }

    #[test]
    fn disruptive_change_requires_the_lifecycle_option() {
        let why = reasons(decide(size(), &Lifecycle::default(), true));
        assert_eq!(why, "it takes a stop: stop it, or set spec.lifecycle.disruption to Allow");
        let lifecycle = Lifecycle { disruption: Disruption::Allow, ..Lifecycle::default() };
        assert_eq!(changes(decide(size(), &lifecycle, true)), ["stop"]);
    }

    #[test]
    fn creation_precedes_settling_and_settling_precedes_changes() {
        let comparison = || Comparison { settling: Some("pending".into()), ..tags_and_image() };
        assert_eq!(decide(comparison(), &Lifecycle::default(), true), Decision::Settle("pending".into()));
        let missing = Comparison { missing: Some("1 instance".into()), ..comparison() };
        assert_eq!(decide(missing, &Lifecycle::default(), true), Decision::Create("1 instance".into()));
    }
}
