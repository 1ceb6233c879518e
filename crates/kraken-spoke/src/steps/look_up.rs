//! Steps 6 to 8 of a look-up, which has no remote objects of its own: reads what it searches for, through the batched reader, and
//! publishes what it found. It writes only the state, and the report the status. Client required.

use kraken_api::{Plan, ResourceStatus, reasons::Reason};
use kraken_kind::{Finding, ObserveRequest, Unanswered, dynamic::Observed};
use kraken_model::{
    ids::{listed, without},
    lookup::{Published, Verdict, decide, proposal},
    observation::Target,
    outcome::{Lookup, Outcome},
    policy::account,
    status::Answered,
    summary::summary,
};
use kraken_options::RestrictedValue;
use kube::core::object::HasStatus;
use serde_json::{Value, json};

use crate::{actions::location, context::Reconcile, steps::act::declare};

/// The member of the state for the column with a newer answer; it is not published.
const NEWER: &str = "newer";

/// Looks up, and publishes the answer.
pub(crate) async fn look_up(reconcile: &mut Reconcile<'_>, target: &Target) -> Result<Outcome, Outcome> {
    let location = location::here(reconcile, None).await?;
    let former = former(reconcile.object.status());
    let request = ObserveRequest {
        identity: reconcile.identity.clone(),
        ids: former.clone(),
        search: false,
        deep: false,
        launched: 0,
        is_own_record: false,
        wanted: Some(target.desired.clone()),
    };
    let observed = reconcile.context.observe(reconcile.slot.lane(), Some(request));
    let observed = reconcile.slot.release_while(observed).await.map_err(Outcome::Failed)?;
    let kind = reconcile.context.kind.clone();
    let Some(finding) = kind.finding(&target.desired, &observed) else {
        return Err(Outcome::Internal(format!("{} finds nothing: please report this", kind.info().name)));
    };
    let lost = without(&former, &observed.ids());
    let published = Published { ids: former.clone(), exists: lost.is_empty(), is_edited: target.is_edited };
    let facts = &mut reconcile.facts;
    (facts.in_place, facts.secret_fields) =
        (Some(target.in_place.clone()), Some(target.secret_fields.clone()));
    facts.location = location;
    let found = Found { target, finding: &finding, observed, former };
    let outcome = match decide(&finding, &published) {
        Verdict::Answer(ids) => {
            found.publish(reconcile, ids, vec![]).await?;
            return Ok(Outcome::InPlace);
        }
        Verdict::Newer(newer) => {
            let Some(plan) = awaited(reconcile, &newer, &found.former) else {
                found.publish(reconcile, newer, vec![]).await?;
                return Ok(Outcome::InPlace);
            };
            let message = format!(
                "found {}, and keeps {}",
                listed(&finding.named(&newer)),
                listed(&finding.named(&found.former))
            );
            found.publish(reconcile, found.former.clone(), newer).await?;
            Outcome::Keeps(Lookup { reason: Reason::NewerAnswer, message, plan: Some(plan) }.into())
        }
        Verdict::Kept(Unanswered { reason, message }) => {
            found.publish(reconcile, found.former.clone(), vec![]).await?;
            let message = format!("{message}; keeps {}", listed(&finding.named(&found.former)));
            Outcome::Keeps(Lookup { reason, message, plan: None }.into())
        }
        Verdict::Lost(newer) => {
            let start = format!("{} is not found any more, and stays published", listed(&lost));
            let (message, plan) = match newer {
                Ok(newer) => {
                    let Some(plan) = awaited(reconcile, &newer, &found.former) else {
                        found.publish(reconcile, newer, vec![]).await?;
                        return Ok(Outcome::InPlace);
                    };
                    let found = listed(&finding.named(&newer));
                    (format!("{start}; the search now finds {found}"), Some(plan))
                }
                Err(Unanswered { message, .. }) => (format!("{start}; {message}"), None),
            };
            Outcome::Unanswered(Lookup { reason: Reason::AnswerLost, message, plan }.into())
        }
        Verdict::Unanswered(Unanswered { reason, message }) => {
            let kept = match found.former.as_slice() {
                [] => String::new(),
                former => format!("; {} stays published until then", listed(former)),
            };
            let message = format!("{message}{kept}");
            Outcome::Unanswered(Lookup { reason, message, plan: None }.into())
        }
    };
    Ok(outcome)
}

/// The ids that are published.
fn former(status: Option<&ResourceStatus>) -> Vec<String> {
    status.and_then(|status| status.answer.as_ref()).map(|answer| answer.ids.clone()).unwrap_or_default()
}

/// The plan to publish a newer answer, unless it is approved. It has one step, so that its approval need not be recorded before.
fn awaited(reconcile: &Reconcile<'_>, newer: &[String], former: &[String]) -> Option<Box<Plan>> {
    match proposal(newer, former).approved(&reconcile.object) {
        Err(Outcome::AwaitingApproval(plan)) => Some(plan),
        _ => None,
    }
}

/// What was found, and what it was found for.
struct Found<'a> {
    target: &'a Target,
    finding: &'a Finding,
    observed: Observed,
    /// The ids that are published.
    former: Vec<String>,
}

impl Found<'_> {
    /// Publishes the objects with these ids, if the account allows them.
    async fn publish(
        &self,
        reconcile: &mut Reconcile<'_>,
        ids: Vec<String>,
        newer: Vec<String>,
    ) -> Result<(), Outcome> {
        allowed(reconcile, &ids)?;
        let kind = reconcile.context.kind.clone();
        let answer = self.observed.in_order(&ids);
        let state = self.target.secrecy.published(kind.state(&self.target.desired, &answer));
        let shown = with_newer(&state, &self.finding.named(&newer));
        let facts = &mut reconcile.facts;
        facts.summary = Some(summary(kind.info().summary, &shown));
        facts.answer = Some(Answered { words: listed(&self.finding.named(&ids)), ids, newer });
        declare::publish(reconcile, self.target, &answer, state).await.map_err(Outcome::Kubernetes)
    }
}

/// The state with what the column for a newer answer shows.
fn with_newer(state: &Value, newer: &[String]) -> Value {
    let mut shown = state.clone();
    if let (Some(newer), Some(members)) = (newer.first(), shown.as_object_mut()) {
        members.insert(NEWER.to_owned(), json!(newer));
    }
    shown
}

/// Whether the account of the look-up allows that these objects are used. What uses them is checked, too.
fn allowed(reconcile: &Reconcile<'_>, ids: &[String]) -> Result<(), Outcome> {
    let (context, field) = (&reconcile.context, reconcile.context.info().answers);
    let Some(rules) = context.rules.as_ref().filter(|_| !field.is_empty()) else { return Ok(()) };
    let taken = RestrictedValue {
        field: String::new(),
        name: field,
        texts: Some(ids.to_vec()),
        is_main_id: false,
        is_default: false,
    };
    account::permits(Some(&**rules), &[taken], None)
}
