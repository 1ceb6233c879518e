//! The admission webhook of a kind: the same pure `desired` as in the reconcile, before the object is stored. Problems
//! that only an edit can solve are rejected, all of them together; a reference without a value is not a reason to
//! reject.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use kraken_api::PREVIEW_ANNOTATION;
use kraken_kind::{
    account::KnownAccounts,
    dynamic::{Calls, Object, SharedKind},
};
use kraken_model::{
    effects::{EditedFields, OfDeletion, OfEdit, OfLookup},
    outcome::Outcome,
    policy::undecoded,
    spec,
};
use kraken_options::Problem;
use kraken_runtime::{
    Manager,
    watch::RawObject,
    webhook::{Operation, ReviewResult, Subject, Validator},
};
use kube::ResourceExt as _;

use crate::{
    preview::{Preview, Previews, preview},
    shared::blockers::References,
};

/// The message for the deletion of a protected resource.
const PROTECTED: &str = "is true: the resource cannot be deleted; set lifecycle.protect to false first";

/// How long a review waits for the dependents of a resource, which it only names.
const FOR_DEPENDENTS: Duration = Duration::from_millis(500);
/// How long a review waits for the provider, whose process may have to be started.
const FOR_PROVIDER: Duration = Duration::from_secs(3);

/// How long a review waits for what exists in the cloud.
const FOR_PREVIEW: Duration = Duration::from_secs(3);

/// Reviews the resources of one kind.
pub struct Admission {
    kind: SharedKind,
    accounts: Option<Arc<dyn KnownAccounts>>,
    references: Option<(Manager, References)>,
    external: Option<Arc<dyn Calls>>,
    previews: Previews,
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

impl Admission {
    /// The webhook of this kind.
    pub fn new(kind: SharedKind) -> Self {
        Self { kind, accounts: None, references: None, external: None, previews: Previews::default() }
    }

    /// The same with the rules of these accounts, which apply to the kind if it has accounts.
    #[must_use]
    pub fn with_accounts(self, accounts: Option<Arc<dyn KnownAccounts>>) -> Self {
        Self { accounts: accounts.filter(|_| self.kind.info().accounts.is_some()), ..self }
    }

    /// The same with the requests of this cluster, from which it names the dependents of a resource.
    pub(crate) fn with_references(self, manager: Manager, references: References) -> Self {
        Self { references: Some((manager, references)), ..self }
    }

    /// The same with what the provider says of a spec.
    pub(crate) fn with_external(self, external: Arc<dyn Calls>) -> Self {
        Self { external: Some(external), ..self }
    }

    /// The same with a look at the remote objects, if a dry run asks for it.
    #[must_use]
    pub(crate) fn with_previews(self, previews: Previews) -> Self {
        Self { previews, ..self }
    }

    async fn reviewed(&self, subject: &Subject) -> ReviewResult {
        let object = match self.decode(&subject.object) {
            Ok(object) => object,
            // A deletion needs no valid spec.
            Err(_) if subject.operation == Operation::Delete => return ReviewResult::default(),
            Err(error) => return refused(undecoded::problem(&error)),
        };
        let spec = object.spec();
        if subject.operation == Operation::Delete {
            let protected =
                spec.lifecycle().protect.then(|| Problem::invalid("lifecycle.protect", PROTECTED));
            if let Some(protected) = protected {
                return refused(protected);
            }
            if self.kind.info().looks_up {
                let warnings = OfLookup::of_deletion(&self.dependents(subject).await);
                return ReviewResult { problems: vec![], warnings };
            }
            let effects = OfDeletion::new(&*self.kind, &object);
            let dependents = if effects.deletes() { self.dependents(subject).await } else { vec![] };
            return ReviewResult { problems: vec![], warnings: effects.said(&dependents) };
        }
        let mut problems = match spec::certain(&*self.kind, spec) {
            Some(Outcome::Invalid(problems)) => problems,
            _ => vec![],
        };
        problems.extend(self.forbidden(&subject.namespace, &object));
        if !problems.is_empty() {
            return ReviewResult { problems, warnings: vec![] };
        }
        let (said, previewed) = tokio::join!(self.said(subject, &object), self.previewed(subject, &object));
        let ReviewResult { problems, mut warnings } = said;
        let is_compared = matches!(previewed, Preview::Compared(_));
        warnings.extend(self.effects(subject, &object, is_compared).await);
        match previewed {
            Preview::Compared(effects) => warnings.extend(effects),
            Preview::Failed(why) => warnings.push(why),
            // What is invalid is said by the review of the spec.
            Preview::Nothing | Preview::Invalid(_) => {}
        }
        ReviewResult { problems, warnings }
    }

    /// What the provider says of a new or edited spec. A stored one is not judged again: its metadata can always be written.
    async fn said(&self, subject: &Subject, object: &Object) -> ReviewResult {
        let is_stored =
            subject.before.as_ref().is_some_and(|before| before["spec"] == subject.object["spec"]);
        let Some(external) = self.external.as_ref().filter(|_| !is_stored) else {
            return ReviewResult::default();
        };
        tokio::time::timeout(FOR_PROVIDER, external.review(object.spec())).await.unwrap_or_default()
    }

    /// What an edit of the spec will do, without what a comparison with the cloud said. Most updates are of the metadata.
    async fn effects(&self, subject: &Subject, after: &Object, is_compared: bool) -> Vec<String> {
        let Some(before) = subject.before.as_ref().filter(|before| before["spec"] != subject.object["spec"])
        else {
            return vec![];
        };
        let Ok(before) = self.decode(before) else { return vec![] };
        if self.kind.info().looks_up {
            let effects = OfLookup::new(&before, after);
            let dependents = if effects.searches_anew() { self.dependents(subject).await } else { vec![] };
            return effects.said(&dependents);
        }
        let mut effects = OfEdit::new(&*self.kind, &before, after);
        if is_compared {
            effects = effects.without_decided();
        }
        let dependents = if effects.replaces() { self.dependents(subject).await } else { vec![] };
        effects.said(&dependents)
    }

    /// What the remote objects say about the spec, if a dry run asks for it.
    async fn previewed(&self, subject: &Subject, after: &Object) -> Preview {
        let is_asked = subject.dry_run && after.annotations().contains_key(PREVIEW_ANNOTATION);
        let Some(context) = self.previews.of(&self.kind.info().key).filter(|_| is_asked) else {
            return Preview::Nothing;
        };
        let before = subject.before.as_ref().and_then(|before| self.decode(before).ok());
        let edited = before.map(|before| EditedFields::between(&*self.kind, &before, after));
        let edited = edited.unwrap_or_default();
        preview(context, Arc::new(after.clone()), &edited, FOR_PREVIEW).await
    }

    /// The resources that refer to this one, as `kind name`; none if they cannot be read in time.
    async fn dependents(&self, subject: &Subject) -> Vec<String> {
        let Some((manager, references)) = &self.references else { return vec![] };
        let node = (self.kind.info().key.clone(), subject.name.clone());
        let read = references.blockers(manager, &subject.namespace, &node);
        let read = tokio::time::timeout(FOR_DEPENDENTS, read).await;
        read.ok().and_then(Result::ok).unwrap_or_default()
    }

    fn decode(&self, object: &serde_json::Value) -> Result<Object, String> {
        // Only text decodes as a `RawObject`.
        let read = serde_json::from_str::<RawObject>(&object.to_string());
        let read = read.map_err(|error| error.to_string());
        read.and_then(|object| self.kind.decode(&object))
    }

    /// What the account forbids that the resource uses. Without that account, or if it cannot be used, nothing: the resource
    /// waits for it, and a resource is never rejected because something is missing.
    fn forbidden(&self, namespace: &str, object: &Object) -> Vec<Problem> {
        let rules = self.accounts.as_ref().and_then(|known| known.rules(namespace, object.account()));
        rules.map(|rules| spec::forbidden(&*self.kind, object.spec(), &*rules)).unwrap_or_default()
    }
}

impl Validator for Admission {
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult> {
        Box::pin(async move { self.reviewed(&subject).await })
    }
}

fn refused(problem: Problem) -> ReviewResult {
    ReviewResult { problems: vec![problem], warnings: vec![] }
}
