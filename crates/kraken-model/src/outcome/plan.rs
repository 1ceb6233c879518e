//! The text of a plan.

use kraken_api::{APPROVED_PLAN_ANNOTATION, FieldDiff, Plan, PlanAction};
use kraken_kind::MISSING;

/// A plan in one line.
fn description(plan: &Plan) -> String {
    let (missing, changed): (Vec<_>, Vec<_>) = plan.changes.iter().partition(|c| c.have == MISSING);
    let each = |c: &&FieldDiff| format!("spec.{} from {} to {}", c.path, c.have, c.want);
    let changes = changed.iter().map(each).collect::<Vec<_>>().join("; ");
    let mut also: String = missing.iter().map(|c| format!("; would create {}", c.want)).collect();
    if !changes.is_empty() {
        also.push_str("; would change ");
        also.push_str(&changes);
    }
    match plan.action {
        PlanAction::Create => format!("would create {}", plan.what),
        PlanAction::Change => format!("would change {changes}"),
        PlanAction::Replace if plan.what.is_empty() => {
            format!("would replace the remote objects to change {changes}")
        }
        PlanAction::Replace => format!("would complete a replacement and delete {}{also}", plan.what),
        PlanAction::Adopt => format!("would adopt {}{also}", plan.what),
        PlanAction::Delete => format!("would delete {}", plan.what),
        PlanAction::Publish => {
            let former: Vec<&str> = plan.changes.iter().map(|change| change.have.as_str()).collect();
            format!("would publish {} instead of {}", plan.what, former.join(", "))
        }
    }
}

/// How to approve a plan that awaits approval.
pub(super) fn awaited(plan: &Plan) -> String {
    let stale = plan.stale.as_ref().map(|stale| format!("; {stale}")).unwrap_or_default();
    format!(
        "{}{stale}; to approve, annotate the resource with {APPROVED_PLAN_ANNOTATION}={}",
        description(plan),
        plan.hash
    )
}
