//! Decide, then do: what one comparison leads to, as an enum whose variants are the words of logs, events and tests.

use kraken_api::{Drift, FieldDiff, Lifecycle, Replace};

use crate::{Comparison, Difference, Remedy};

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
    /// Fields cannot be changed in place, and the thing may be replaced.
    Replace(Vec<FieldDiff>),
    /// A field cannot be changed in place: each with the reason.
    Immutable(Vec<(FieldDiff, String)>),
    /// It differs, and is to be reported only.
    Report(Vec<FieldDiff>),
}

/// Takes out what the resource says to ignore.
pub(crate) fn heed<C>(mut comparison: Comparison<C>, lifecycle: &Lifecycle) -> Comparison<C> {
    comparison
        .differences
        .retain(|difference| !is_ignored(&difference.field.path, &lifecycle.ignore_changes));
    comparison
}

/// Decides. `edited` says that the spec or a referenced value is newer than what was last in place: then a difference
/// is an order to carry out, and not drift.
pub(crate) fn decide<C>(comparison: Comparison<C>, lifecycle: &Lifecycle, edited: bool) -> Decision<C> {
    let Comparison { missing, settling, differences } = heed(comparison, lifecycle);

    if !edited && lifecycle.drift == Drift::Report && (missing.is_some() || !differences.is_empty()) {
        let gone = missing.map(|what| FieldDiff::new("", what, "missing"));
        return Decision::Report(gone.into_iter().chain(differences.into_iter().map(|d| d.field)).collect());
    }
    if let Some(what) = missing {
        return Decision::Create(what);
    }
    if let Some(what) = settling {
        return Decision::Settle(what);
    }
    let (mut changes, mut first, mut immutable) = (vec![], None, vec![]);
    for Difference { field, remedy } in differences {
        match remedy {
            Remedy::Change(change) => {
                changes.push(field);
                first.get_or_insert(change);
            }
            Remedy::Immutable(why) => immutable.push((field, why)),
        }
    }
    match (first, immutable.is_empty(), lifecycle.replace) {
        (Some(change), ..) => Decision::Change(changes, change),
        (None, true, _) => Decision::InPlace,
        (None, false, Replace::Never) => Decision::Immutable(immutable),
        (None, false, _) => Decision::Replace(immutable.into_iter().map(|(field, _)| field).collect()),
    }
}

/// A path is ignored if it, or what it is part of, is listed: `tags` covers `tags.Team`.
fn is_ignored(path: &str, ignored: &[String]) -> bool {
    ignored.iter().any(|prefix| {
        path.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(path: &str, remedy: Remedy<&'static str>) -> Difference<&'static str> {
        Difference { field: FieldDiff::new(path, "a", "b"), remedy }
    }

    fn tags_and_image() -> Comparison<&'static str> {
        Comparison {
            differences: vec![
                difference("imageID", Remedy::Immutable("never".into())),
                difference("tags.Team", Remedy::Change("tag")),
            ],
            ..Comparison::default()
        }
    }

    #[test]
    fn what_can_be_changed_is_changed_before_what_cannot_is_told() {
        let decision = decide(tags_and_image(), &Lifecycle::default(), true);
        assert!(matches!(decision, Decision::Change(_, "tag")));
    }

    #[test]
    fn an_ignored_path_covers_what_is_below_it_and_nothing_beside_it() {
        let lifecycle = Lifecycle { ignore_changes: vec!["tags".into()], ..Lifecycle::default() };
        assert!(matches!(decide(tags_and_image(), &lifecycle, true), Decision::Immutable(_)));
        assert!(!is_ignored("tagsets", &lifecycle.ignore_changes));
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
        let ignoring =
            |replace| Lifecycle { ignore_changes: vec!["tags".into()], replace, ..Lifecycle::default() };
        assert!(matches!(decide(tags_and_image(), &ignoring(Replace::Never), true), Decision::Immutable(_)));
        assert!(matches!(
            decide(tags_and_image(), &ignoring(Replace::DeleteFirst), true),
            Decision::Replace(_)
        ));
    }

    #[test]
    fn creation_comes_before_waiting_and_waiting_before_changes() {
        let comparison = || Comparison { settling: Some("pending".into()), ..tags_and_image() };
        assert_eq!(decide(comparison(), &Lifecycle::default(), true), Decision::Settle("pending".into()));
        let missing = Comparison { missing: Some("1 instance".into()), ..comparison() };
        assert_eq!(decide(missing, &Lifecycle::default(), true), Decision::Create("1 instance".into()));
    }
}
