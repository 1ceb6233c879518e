//! What the remote objects say about a spec that is not stored: a dry run asks admission, so that a plan shows also what differs in the
//! cloud. It is a reconcile up to its decision, with a memory of its own: nothing is written, neither in the cluster nor in the cloud.
//! Client required.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use kraken_api::{
    Adopt,
    effect::{Effect, NOT_COMPARED},
};
use kraken_runtime::{queue::Lane, work::Slot};
use kube::core::object::HasStatus;
use parking_lot::Mutex;

use crate::{
    Comparison,
    context::{Context, Reconcile},
    dynamic::{Change, Object},
    model::{
        decide::{self, Decision, Planned},
        effects::{self, differing},
        ids::{listed, without},
        launch_plan::parameters_hash,
        memory::Memory,
        observation::{Parts, Target},
        outcome::Outcome,
        secrecy::{scrubbed, top},
    },
    policy::approval::Proposal,
    steps::{connect, decide::adopt, gather, observe, resolve},
};

/// The kinds of a process that can be compared, by their key. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Previews(Arc<Mutex<HashMap<String, Arc<Context>>>>);

impl Previews {
    /// Adds a kind, as long as the result exists.
    pub(crate) fn add(&self, context: Arc<Context>) -> Added {
        let key = context.info().key.clone();
        self.0.lock().insert(key.clone(), context);
        Added { previews: self.clone(), key }
    }

    pub(crate) fn of(&self, key: &str) -> Option<Arc<Context>> {
        self.0.lock().get(key).cloned()
    }
}

/// A kind that was added.
#[derive(Debug)]
pub(crate) struct Added {
    previews: Previews,
    key: String,
}

impl Drop for Added {
    fn drop(&mut self) {
        self.previews.0.lock().remove(&self.key);
    }
}

/// What is said if the comparison fails.
pub(crate) fn not_compared(why: &str) -> String {
    format!("{NOT_COMPARED}{why}")
}

/// What the remote objects say about the spec of this object, as effects. Those of the fields that the request edits, as paths below
/// `spec`, are known from both specs.
pub(crate) async fn preview(context: Arc<Context>, object: Object, edited: &BTreeSet<String>) -> Vec<String> {
    let (mut memory, mut slot) = (Memory::default(), Slot::of_its_own(Lane::Edit));
    let mut reconcile = Reconcile::new(context, Arc::new(object), &mut memory, &mut slot);
    let looked = look(&mut reconcile, edited).await;
    let texts = &reconcile.memory.secrets.texts;
    match looked {
        Ok(effects) => effects,
        Err(outcome) => match scrubbed(outcome, texts) {
            Outcome::Failed(failure) => vec![not_compared(&failure.to_string())],
            Outcome::AdoptionRefused(why) => {
                vec![format!("{} what the spec names: {why}", Effect::CannotAdopt.words())]
            }
            // What its values are is not known before others exist; or it is paused, or invalid, which admission says.
            _ => vec![],
        },
    }
}

async fn look(reconcile: &mut Reconcile<'_>, edited: &BTreeSet<String>) -> Result<Vec<String>, Outcome> {
    let status = reconcile.object.status();
    let exists = status.is_some_and(|status| !status.external_ids.is_empty());
    // Without a record of what was in place, an edit is under way, and its differences are no news.
    let is_settled = status.is_some_and(|status| status.in_place.is_some());
    let wanted = reconcile.lifecycle().adopt.clone().filter(|_| !exists);
    if reconcile.context.info().looks_up
        || reconcile.lifecycle().paused
        || reconcile.is_deleted()
        || !(is_settled && exists || wanted.is_some())
    {
        return Ok(vec![]);
    }
    connect::look(reconcile).await?;
    let dependencies = resolve::dependencies(&*reconcile.context.kind, reconcile.object.spec());
    let values = gather::known(reconcile, &dependencies).await?;
    let target = resolve::resolve(reconcile, &dependencies, &values)?;
    reconcile.remember_secrets(&target);
    match wanted {
        Some(wanted) => adoption(reconcile, &target, &wanted).await,
        None => differences(reconcile, &target, edited).await,
    }
}

/// What an adoption changes.
async fn adoption(
    reconcile: &Reconcile<'_>,
    target: &Target,
    wanted: &Adopt,
) -> Result<Vec<String>, Outcome> {
    let (candidate, comparison) = adopt::found(reconcile, target, wanted).await?;
    let missing_path = reconcile.context.info().missing_path;
    let lifecycle = reconcile.lifecycle();
    let hash = parameters_hash(&target.desired, "");
    let proposal = Proposal::of_adoption(&candidate.id, comparison, lifecycle, hash, missing_path);
    let changes = if proposal.changes.is_empty() {
        String::new()
    } else {
        format!(": {}", differing(&proposal.changes))
    };
    Ok(vec![format!("{} {}{changes}", Effect::Adopts.words(), proposal.what)])
}

/// What differs in the cloud.
async fn differences(
    reconcile: &Reconcile<'_>,
    target: &Target,
    edited: &BTreeSet<String>,
) -> Result<Vec<String>, Outcome> {
    let (context, identity) = (&reconcile.context, &reconcile.identity);
    let (kind, intent) = (&*context.kind, target.intent.as_ref());
    let recorded = reconcile.recorded(intent, reconcile.clock());
    let request = recorded.request(identity, false, false);
    let observed = context.observe(Lane::Edit, request).await.map_err(Outcome::Failed)?;
    let Parts { outgoing, mut current } = Parts::of(kind, intent, observed);
    if outgoing.is_some() {
        return Ok(vec![]);
    }
    let kept = if target.ignored.is_empty() {
        None
    } else {
        kind.without_ignored(&target.desired, &current, &target.ignored)
    };
    let ids = kind.ids(&current);
    if !ids.is_empty() {
        let desired = kept.as_ref().unwrap_or(&target.desired);
        current = context.external.examine(identity, desired, &current).await.map_err(Outcome::Failed)?;
    }
    let mut comparison = observe::compare(reconcile, target, kept.as_ref(), &current);
    // An edit of the number of objects, or of any field, is announced from both specs.
    let fields: BTreeSet<&str> = edited.iter().map(|path| top(path)).collect();
    comparison.differences.retain(|difference| {
        let path = &difference.field.path;
        let is_tag = top(path) == "tags";
        if is_tag { !edited.contains(path) } else { !fields.contains(top(path)) }
    });
    if fields.contains(top(context.info().missing_path)) {
        comparison.missing = None;
    }
    Ok(said(reconcile, target, (&recorded.ids, &ids), comparison))
}

/// The decision in the words of effects.
fn said(
    reconcile: &Reconcile<'_>,
    target: &Target,
    (recorded, found): (&[String], &[String]),
    comparison: Comparison<Change>,
) -> Vec<String> {
    let lifecycle = reconcile.lifecycle();
    let (ids, approval) = (listed(found), effects::approval(lifecycle));
    match decide::decide(comparison, lifecycle, target.is_edited) {
        Decision::InPlace | Decision::Settle(_) => vec![],
        // Of several objects, the others keep their ids.
        Decision::Create(what) => {
            let effect = if found.is_empty() { Effect::Recreates } else { Effect::Creates };
            let missing = listed(&without(recorded, found));
            vec![format!(
                "{} {what}{approval}, because it is missing in the cloud: {missing}",
                effect.words()
            )]
        }
        Decision::Change(changes) => {
            let (stops, corrects): (Vec<_>, Vec<_>) =
                changes.into_iter().partition(|change| change.is_disruptive);
            let fields = |changes: Vec<Planned<Change>>| {
                differing(&changes.into_iter().map(|change| change.field).collect::<Vec<_>>())
            };
            let mut lines = vec![];
            if !stops.is_empty() {
                let words = Effect::Stops.words();
                lines.push(format!("{words} {ids}{approval}, which differs in the cloud: {}", fields(stops)));
            }
            if !corrects.is_empty() {
                let words = Effect::Corrects.words();
                lines.push(format!("{words} {ids} in the cloud{approval}: {}", fields(corrects)));
            }
            lines
        }
        Decision::Resume(field, _) => {
            vec![format!("{} {ids} in the cloud: {}", Effect::Corrects.words(), differing(&[field]))]
        }
        Decision::Replace(fields) => {
            let with = effects::with(reconcile.context.info().contains);
            let words = Effect::Replaces.words();
            let replace = lifecycle.replace;
            vec![format!(
                "{words} {ids}{with} ({replace:?}){approval}, which differs in the cloud: {}",
                differing(&fields)
            )]
        }
        Decision::Immutable(fields) => {
            let fields: Vec<_> = fields.into_iter().map(|(field, _)| field).collect();
            let words = Effect::CannotChange.words();
            vec![format!("{words} {ids} in place, which differs in the cloud: {}", differing(&fields))]
        }
        Decision::Report(fields) => {
            let words = Effect::Keeps.words();
            vec![format!(
                "{words} what differs in {ids}, because lifecycle.drift is Report: {}",
                differing(&fields)
            )]
        }
    }
}
