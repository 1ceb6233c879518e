//! Decide, then do: what one comparison leads to, as an enum whose variants are the words of logs, events and tests.

use kraken_api::{Disruption, Drift, FieldDiff, Lifecycle, Replace};
use kraken_runtime::mutants::{self, Mutant};

use crate::{Comparison, Difference, Ignored, Remedy};

/// What the loop does next.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision<C> {
    /// Everything is as wanted.
    InPlace,
    /// The cloud is at work; look again.
    Settle(String),
    /// Create what is missing.
    Create(String),
    /// These fields can be changed in place, and this changes the first.
    Change(Vec<FieldDiff>, C),
    /// This follows on a disruption that was begun, and finishes it.
    Resume(FieldDiff, C),
    /// Fields cannot be changed in place, and the thing may be replaced.
    Replace(Vec<FieldDiff>),
    /// A field cannot be changed in place: each with the reason.
    Immutable(Vec<(FieldDiff, String)>),
    /// It differs, and is to be reported only.
    Report(Vec<FieldDiff>),
}

/// Removes what the resource ignores. `missing_path` is what [`Comparison::missing`] speaks of if something exists already:
/// what does not exist at all is created whatever is ignored.
pub(crate) fn heed<C>(
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

/// Decides on a comparison that was [heeded](heed). `edited` says that the spec or a referenced value is not what was last
/// in place: then a difference is an order to carry out, and not drift.
pub(crate) fn decide<C>(comparison: Comparison<C>, lifecycle: &Lifecycle, edited: bool) -> Decision<C> {
    let Comparison { missing, settling, mut differences } = comparison;

    // Whatever else is to be done or to be left alone: nothing stays down because of what this resource began.
    if let Some(index) = differences.iter().position(Difference::is_resumption)
        && let Difference { field, remedy: Remedy::Resume(change) } = differences.swap_remove(index)
    {
        return Decision::Resume(field, change);
    }

    let is_reported = lifecycle.drift == Drift::Report && !mutants::active(Mutant::ReportReverts);
    if !edited && is_reported && (missing.is_some() || !differences.is_empty()) {
        let gone = missing.map(|what| FieldDiff::new("", what, "missing"));
        return Decision::Report(gone.into_iter().chain(differences.into_iter().map(|d| d.field)).collect());
    }
    if let Some(what) = missing {
        return Decision::Create(what);
    }
    if let Some(what) = settling {
        return Decision::Settle(what);
    }
    let Remedies { changes, first, immutable } = remedies(differences, lifecycle);
    match (first, immutable.is_empty(), may_replace(lifecycle, edited)) {
        (Some(change), ..) => Decision::Change(changes, change),
        (None, true, _) => Decision::InPlace,
        (None, false, Ok(())) => Decision::Replace(immutable.into_iter().map(|(field, _)| field).collect()),
        (None, false, Err(why)) => {
            Decision::Immutable(immutable.into_iter().map(|(f, text)| (f, format!("{text}{why}"))).collect())
        }
    }
}

/// Differences by what can be done about them.
pub(crate) struct Remedies<C> {
    /// What is changed in place.
    pub changes: Vec<FieldDiff>,
    /// The change to make first.
    pub first: Option<C>,
    /// What cannot be changed in place, each with the reason.
    pub immutable: Vec<(FieldDiff, String)>,
}

/// What can be done about these differences under this lifecycle, short of replacing.
pub(crate) fn remedies<C>(differences: Vec<Difference<C>>, lifecycle: &Lifecycle) -> Remedies<C> {
    let (mut changes, mut first, mut immutable) = (vec![], None, vec![]);
    for Difference { field, remedy } in differences {
        match remedy {
            Remedy::Disruptive(_, takes) if lifecycle.disruption == Disruption::Forbid => {
                immutable.push((field, format!("{takes}, or set spec.lifecycle.disruption to Allow")));
            }
            Remedy::Change(change) | Remedy::Disruptive(change, _) | Remedy::Resume(change) => {
                changes.push(field);
                first.get_or_insert(change);
            }
            Remedy::Immutable(why) => immutable.push((field, why)),
        }
    }
    Remedies { changes, first, immutable }
}

/// Whether what cannot be changed in place may be replaced; if not, what is added to the reason.
pub(crate) fn may_replace(lifecycle: &Lifecycle, edited: bool) -> Result<(), &'static str> {
    if lifecycle.replace == Replace::Never {
        Err("")
    } else if !edited && !mutants::active(Mutant::DriftReplaces) {
        Err("; it was changed outside, and drift alone replaces nothing: edit the spec to have it replaced")
    } else if lifecycle.protect && !mutants::active(Mutant::ReplaceIgnoresProtect) {
        Err("; it is not replaced while spec.lifecycle.protect is true")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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

    /// The reasons of a decision that says that a field cannot be changed.
    fn reasons(decision: Decision<&'static str>) -> String {
        let Decision::Immutable(fields) = decision else { panic!("{decision:?}") };
        fields.into_iter().map(|(_, why)| why).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_can_be_changed_is_changed_before_what_cannot_is_reported() {
        let decision = decide(tags_and_image(), &Lifecycle::default(), true);
        assert!(matches!(decision, Decision::Change(_, "tag")));
    }

    #[test]
    fn a_disruption_is_finished_before_anything_else_and_whatever_the_lifecycle_says() {
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
        let heeded = heed(comparison, &Ignored::new(&["state".to_owned()]), None);
        assert_eq!(
            decide(heeded, &lifecycle, false),
            Decision::Resume(FieldDiff::new("state", "a", "b"), "start")
        );
    }

    #[test]
    fn an_ignored_difference_is_none() {
        let ignored = Ignored::new(&["tags".to_owned()]);
        let heeded = heed(tags_and_image(), &ignored, None);
        assert!(matches!(decide(heeded, &Lifecycle::default(), true), Decision::Immutable(_)));
    }

    #[test]
    fn a_number_that_is_ignored_creates_the_first_and_no_more() {
        let ignored = Ignored::new(&["maxCount".to_owned()]);
        let comparison = || Comparison::<()> { missing: Some("1 instance".into()), ..Comparison::default() };
        assert!(heed(comparison(), &ignored, None).missing.is_some());
        assert!(heed(comparison(), &ignored, Some("maxCount")).missing.is_none());
        assert!(heed(comparison(), &ignored, Some("")).missing.is_some());
    }

    #[test]
    fn reported_drift_is_left_alone_and_an_edit_is_carried_out() {
        let lifecycle = Lifecycle { drift: Drift::Report, ..Lifecycle::default() };
        assert!(
            matches!(decide(tags_and_image(), &lifecycle, false), Decision::Report(diff) if diff.len() == 2)
        );
        assert!(matches!(decide(tags_and_image(), &lifecycle, true), Decision::Change(..)));
    }

    #[test]
    fn nothing_is_replaced_unless_the_resource_allows_it() {
        assert_eq!(reasons(decide(image(), &replacing(Replace::Never), true)), "never");
        for replace in [Replace::DeleteFirst, Replace::CreateFirst] {
            assert!(matches!(decide(image(), &replacing(replace), true), Decision::Replace(_)));
        }
    }

    #[test]
    fn drift_alone_replaces_nothing() {
        let why = reasons(decide(image(), &replacing(Replace::CreateFirst), false));
        assert!(why.contains("drift alone replaces nothing"), "{why}");
    }

    #[test]
    fn what_is_protected_is_not_replaced() {
        let lifecycle = Lifecycle { protect: true, ..replacing(Replace::CreateFirst) };
        let why = reasons(decide(image(), &lifecycle, true));
        assert!(why.contains("spec.lifecycle.protect"), "{why}");
    }

    #[test]
    fn a_change_that_interrupts_waits_until_it_is_allowed() {
        let why = reasons(decide(size(), &Lifecycle::default(), true));
        assert_eq!(why, "it takes a stop: stop it, or set spec.lifecycle.disruption to Allow");
        let lifecycle = Lifecycle { disruption: Disruption::Allow, ..Lifecycle::default() };
        assert!(matches!(decide(size(), &lifecycle, true), Decision::Change(_, "stop")));
    }

    #[test]
    fn creation_comes_before_waiting_and_waiting_before_changes() {
        let comparison = || Comparison { settling: Some("pending".into()), ..tags_and_image() };
        assert_eq!(decide(comparison(), &Lifecycle::default(), true), Decision::Settle("pending".into()));
        let missing = Comparison { missing: Some("1 instance".into()), ..comparison() };
        assert_eq!(decide(missing, &Lifecycle::default(), true), Decision::Create("1 instance".into()));
    }
}
