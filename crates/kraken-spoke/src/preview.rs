//! What the remote objects say about a spec that is not stored: a dry run asks admission, so that a plan shows also what differs in the
//! cloud. It is a reconcile up to its decision, with a memory of its own: nothing is written, neither in the cluster nor in the cloud.
//! Client required.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use kraken_api::{
    Adopt, FieldDiff,
    effect::{Effect, NO_ANSWER, NOT_COMPARED},
};
use kraken_kind::{
    Comparison,
    dynamic::{Calls, Change, Object, SharedKind},
};
use kraken_model::{
    decide::{self, Decision, Planned},
    effects::{self, EditedFields, differing},
    ids::{listed, without},
    launch_plan::parameters_hash,
    memory::Memory,
    observation::{Parts, Target},
    outcome::Outcome,
    policy::{approval::Proposal, undecoded},
    secrecy::{scrubbed, top},
    spec,
};
use kraken_options::summary;
use kraken_runtime::{hash::HashMap, queue::Lane, watch::ObjectKey, work::Slot};
use kube::core::object::HasStatus;
use parking_lot::Mutex;

use crate::{
    actions::{
        compare::{Compared, compared},
        location,
    },
    context::{Context, Reconcile},
    shared::connections::Link,
    steps::{connect, decide::adopt, gather, resolve},
};

/// How many resources are compared at the same time, of those of a kind.
const AT_ONCE: usize = 16;

/// How long one of them may take.
const FOR_ONE: Duration = Duration::from_secs(30);

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
fn not_compared(why: &str) -> String {
    format!("{NOT_COMPARED}{why}")
}

/// What a comparison with the cloud tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// The effects, in the words of [`kraken_api::effect::Effect`]; none if nothing differs.
    Compared(Vec<String>),
    /// There is nothing to compare: no object exists, an edit is under way, or a value is not known before others exist.
    Nothing,
    /// The spec is invalid.
    Invalid(String),
    /// The provider was asked, and there is no answer: what is said about that.
    Failed(String),
}

/// What the remote objects say about the spec of this object, if they do within this time. The effects of fields that the request edits
/// are known from both specs, unless only a comparison tells.
pub(crate) async fn preview(
    context: Arc<Context>,
    object: Arc<Object>,
    edited: &EditedFields,
    limit: Duration,
) -> Preview {
    let late = |_| Preview::Failed(not_compared(&format!("{NO_ANSWER} in {} s", limit.as_secs())));
    tokio::time::timeout(limit, previewed(context, object, edited)).await.unwrap_or_else(late)
}

/// What each resource of the kind would have after its calls are made in another form, such as by a newer program; in the order of
/// their keys.
pub(crate) async fn previews_of(
    context: &Context,
    kind: SharedKind,
    external: Arc<dyn Calls>,
) -> Vec<(ObjectKey, Preview)> {
    let link = Link::new(external, context.link.vanished.clone());
    let other = Arc::new(Context { kind, link, ..context.clone() });
    let mut resources = context.objects.all();
    resources.retain(|object| undecoded::of(object).is_none());
    resources.sort_by_cached_key(|object| ObjectKey::of(&object.metadata));
    let looks = resources.into_iter().map(|object| {
        let other = other.clone();
        async move {
            let edited = EditedFields { are_all: true, ..EditedFields::default() };
            let key = ObjectKey::of(&object.metadata);
            (key, preview(other, object, &edited, FOR_ONE).await)
        }
    });
    stream::iter(looks).buffered(AT_ONCE).collect().await
}

async fn previewed(context: Arc<Context>, object: Arc<Object>, edited: &EditedFields) -> Preview {
    let (mut memory, mut slot) = (Memory::default(), Slot::of_its_own(Lane::Edit));
    let mut reconcile = Reconcile::new(context, object, &mut memory, &mut slot);
    let looked = look(&mut reconcile, edited).await;
    let texts = &reconcile.memory.secrets.texts;
    match looked.map_err(|outcome| scrubbed(outcome, texts)) {
        Ok(Some(effects)) => Preview::Compared(effects),
        Err(Outcome::AdoptionRefused(why)) => {
            Preview::Compared(vec![format!("{} what the spec names: {why}", Effect::CannotAdopt.words())])
        }
        Err(Outcome::Failed(failure)) => Preview::Failed(not_compared(&failure.to_string())),
        Err(Outcome::Invalid(problems)) => Preview::Invalid(summary(&problems)),
        Ok(None) | Err(_) => Preview::Nothing,
    }
}

async fn look(reconcile: &mut Reconcile<'_>, edited: &EditedFields) -> Result<Option<Vec<String>>, Outcome> {
    let status = reconcile.object.status();
    let exists = status.is_some_and(|status| !status.external_ids.is_empty());
    // Without a record of what was in place, an edit is under way, and its differences are no news.
    let is_settled = status.is_some_and(|status| status.in_place.is_some());
    let wanted = reconcile.lifecycle().adopt.clone().filter(|_| !exists);
    let is_comparable = (is_settled && exists) || wanted.is_some();
    if reconcile.context.info().looks_up
        || reconcile.lifecycle().paused
        || reconcile.is_deleted()
        || !is_comparable
    {
        return Ok(None);
    }
    connect::look(reconcile).await?;
    let dependencies = spec::dependencies(&*reconcile.context.kind, reconcile.object.spec());
    let values = gather::known(reconcile, &dependencies).await?;
    let target = resolve::resolve(reconcile, &dependencies, &values)?;
    reconcile.remember_secrets(&target);
    // Nothing is read in another account than that of the objects.
    location::here(reconcile, target.ledger.as_ref()).await?;
    match wanted {
        Some(wanted) => adoption(reconcile, &target, &wanted).await.map(Some),
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

/// What differs in the cloud. What a read by id does not return is missing only if a search by tag does not find it either, as in step 6.
async fn differences(
    reconcile: &mut Reconcile<'_>,
    target: &Target,
    edited: &EditedFields,
) -> Result<Option<Vec<String>>, Outcome> {
    let Some(mut attempt) = attempt(reconcile, target, false).await? else { return Ok(None) };
    if attempt.comparison.missing.is_some() {
        let Some(searched) = self::attempt(reconcile, target, true).await? else { return Ok(None) };
        attempt = searched;
    }
    let Attempt { recorded, found, mut comparison } = attempt;
    // What both specs tell is announced already.
    comparison.differences.retain(|difference| !contains(&edited.announced, &difference.field.path));
    if contains(&edited.announced, reconcile.context.info().missing_path) {
        comparison.missing = None;
    }
    let seen = Seen { recorded: &recorded, found: &found, edited };
    Ok(Some(seen.said(reconcile, target, comparison)))
}

/// One observation, compared with the target.
struct Attempt {
    recorded: Vec<String>,
    found: Vec<String>,
    comparison: Comparison<Change>,
}

/// Observes by id, and by tag if `search` is set; `None` during a replacement.
async fn attempt(
    reconcile: &mut Reconcile<'_>,
    target: &Target,
    search: bool,
) -> Result<Option<Attempt>, Outcome> {
    let ledger = target.ledger.as_ref();
    let recorded = reconcile.recorded(ledger, reconcile.clock());
    let observed = reconcile.observe(&recorded, search, false).await.map_err(Outcome::Failed)?;
    let Parts { outgoing: None, current } = Parts::of(ledger, observed) else { return Ok(None) };
    let found = current.ids();
    let Compared { comparison, .. } = compared(reconcile, target, current).await?;
    Ok(Some(Attempt { recorded: recorded.ids, found, comparison }))
}

/// Whether one of these paths is the field of a difference: of a tag the whole, otherwise the part that a spec has at its top.
fn contains(edited: &BTreeSet<String>, path: &str) -> bool {
    if top(path) == "tags" {
        edited.contains(path)
    } else {
        edited.iter().any(|field| top(field) == top(path))
    }
}

/// What exists, and what the request edits besides what is announced.
struct Seen<'a> {
    recorded: &'a [String],
    found: &'a [String],
    edited: &'a EditedFields,
}

impl Seen<'_> {
    /// The decision in the words of effects.
    fn said(
        &self,
        reconcile: &Reconcile<'_>,
        target: &Target,
        comparison: Comparison<Change>,
    ) -> Vec<String> {
        let lifecycle = reconcile.lifecycle();
        let (ids, approval) = (listed(self.found), effects::approval(lifecycle));
        let EditedFields { decided, are_all, .. } = self.edited;
        let is_edited = |field: &FieldDiff| *are_all || contains(decided, &field.path);
        let why = |fields: &[FieldDiff]| {
            if fields.iter().any(is_edited) { "" } else { ", which differs in the cloud" }
        };
        match decide::decide(comparison, lifecycle, target.is_edited) {
            Decision::InPlace | Decision::Settle(_) => vec![],
            // Of several objects, the others keep their ids.
            Decision::Create(what) => {
                let effect = if self.found.is_empty() { Effect::Recreates } else { Effect::Creates };
                let missing = listed(&without(self.recorded, self.found));
                let words = effect.words();
                vec![format!("{words} {what}{approval}, because it is missing in the cloud: {missing}")]
            }
            Decision::Change(changes) => {
                let (stops, others): (Vec<_>, Vec<_>) =
                    changes.into_iter().partition(|change| change.is_disruptive);
                let fields = |changes: Vec<Planned<Change>>| -> Vec<FieldDiff> {
                    changes.into_iter().map(|change| change.field).collect()
                };
                let (stops, others) = (fields(stops), fields(others));
                let (changes, corrects): (Vec<_>, Vec<_>) = others.into_iter().partition(is_edited);
                let line = |effect: Effect, rest: String, fields: &[FieldDiff]| {
                    let line = || format!("{} {ids}{rest}: {}", effect.words(), differing(fields));
                    (!fields.is_empty()).then(line)
                };
                let lines = [
                    line(Effect::Stops, format!("{approval}{}", why(&stops)), &stops),
                    line(Effect::Changes, format!(" in place{approval}"), &changes),
                    line(Effect::Corrects, format!(" in the cloud{approval}"), &corrects),
                ];
                lines.into_iter().flatten().collect()
            }
            Decision::Resume(field, _) => {
                let fields = differing(&[field]);
                vec![format!("{} {ids} in the cloud: {fields}", Effect::Corrects.words())]
            }
            Decision::Replace(fields) => {
                let with = effects::with(&reconcile.context.kind.contains(reconcile.object.spec()));
                let (words, replace) = (Effect::Replaces.words(), lifecycle.replace);
                let (why, fields) = (why(&fields), differing(&fields));
                vec![format!("{words} {ids}{with} ({replace:?}){approval}{why}: {fields}")]
            }
            Decision::Immutable(fields) => {
                let fields: Vec<_> = fields.into_iter().map(|(field, _)| field).collect();
                let (words, why, fields) = (Effect::CannotChange.words(), why(&fields), differing(&fields));
                vec![format!("{words} {ids} in place{why}, so that Ready becomes False: {fields}")]
            }
            Decision::Report(fields) => {
                let (words, fields) = (Effect::Keeps.words(), differing(&fields));
                vec![format!("{words} what differs in {ids}, because lifecycle.drift is Report: {fields}")]
            }
        }
    }
}
