//! The admission webhook of a kind: the same pure `desired` as in the reconcile, before the object is stored. Problems
//! that only an edit can solve are rejected, all of them together; a reference without a value is not a reason to
//! reject.

use std::{fmt, sync::Arc};

use futures::future::{BoxFuture, ready};
use kraken_options::Problem;
use kraken_runtime::{
    watch::RawObject,
    webhook::{Operation, ReviewResult, Subject, Validator},
};

use kube::core::object::HasStatus;

use crate::{
    account::KnownAccounts,
    dynamic::{Object, SharedKind},
    model::{
        fields::Fields,
        ids::listed,
        intent::Intent,
        outcome::Outcome,
        release_policy::{ReleasePolicy, adopted},
    },
    steps::resolve,
};

/// The message for the deletion of a protected resource.
const PROTECTED: &str = "is true: the resource cannot be deleted; set lifecycle.protect to false first";

/// Reviews the resources of one kind.
pub struct Admission {
    fields: Fields,
    kind: SharedKind,
    accounts: Option<Arc<dyn KnownAccounts>>,
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

impl Admission {
    /// The webhook of this kind.
    pub fn new(kind: SharedKind) -> Self {
        Self { fields: Fields::of(kind.info()), kind, accounts: None }
    }

    /// The same with the rules of these accounts, which apply to the kind if it has accounts.
    #[must_use]
    pub fn with_accounts(self, accounts: Option<Arc<dyn KnownAccounts>>) -> Self {
        Self { accounts: accounts.filter(|_| self.kind.info().accounts.is_some()), ..self }
    }

    fn verdict(&self, subject: &Subject) -> ReviewResult {
        // Only text decodes as a `RawObject`.
        let read = serde_json::from_str::<RawObject>(&subject.object.to_string());
        let read = read.map_err(|error| error.to_string());
        let object = match read.and_then(|object| self.kind.decode(&object).map_err(|(_, error)| error)) {
            Ok(object) => object,
            // A deletion needs no valid spec.
            Err(_) if subject.operation == Operation::Delete => return ReviewResult::default(),
            Err(error) => return refused(undecoded(&error)),
        };
        let spec = object.spec();
        if subject.operation == Operation::Delete {
            let protected =
                spec.lifecycle().protect.then(|| Problem::invalid("lifecycle.protect", PROTECTED));
            let warnings = || kept(&object).into_iter().collect();
            return protected
                .map_or_else(|| ReviewResult { problems: vec![], warnings: warnings() }, refused);
        }
        let mut problems = match resolve::certain(&*self.kind, spec, &self.fields) {
            Some(Outcome::Invalid(problems)) => problems,
            _ => vec![],
        };
        problems.extend(self.forbidden(&subject.namespace, &object));
        ReviewResult { problems, warnings: vec![] }
    }

    /// What the account forbids that the resource uses. Without that account, or if it cannot be used, nothing: the resource
    /// waits for it, and a resource is never rejected because something is missing.
    fn forbidden(&self, namespace: &str, object: &Object) -> Vec<Problem> {
        let rules = self.accounts.as_ref().and_then(|known| known.rules(namespace, object.account()));
        rules.map(|rules| resolve::forbidden(&*self.kind, object.spec(), &*rules)).unwrap_or_default()
    }
}

/// The warning for a deletion that keeps objects in the cloud although the spec does not state it.
fn kept(object: &Object) -> Option<String> {
    let intent = Intent::of(object);
    let adopted = adopted(object.status(), intent.as_ref());
    let ids = object.status().map(|status| status.external_ids.as_slice()).unwrap_or_default();
    let kept = ReleasePolicy::of(object.lifecycle(), &adopted, intent.as_ref()).silently_kept(ids);
    (!kept.is_empty()).then(|| {
        format!(
            "{} is kept in the cloud, because it was adopted; to delete it, set spec.lifecycle.deletion to Delete before the deletion \
             is complete",
            listed(&kept)
        )
    })
}

impl Validator for Admission {
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult> {
        Box::pin(ready(self.verdict(&subject)))
    }
}

/// The error begins with the path of the field, if it is known.
fn undecoded(error: &str) -> Problem {
    match error.strip_prefix("spec.").and_then(|error| error.split_once(": ")) {
        Some((field, why)) => Problem::invalid(field, why),
        None => Problem::invalid("", format!("does not decode: {error}")),
    }
}

fn refused(problem: Problem) -> ReviewResult {
    ReviewResult { problems: vec![problem], warnings: vec![] }
}
