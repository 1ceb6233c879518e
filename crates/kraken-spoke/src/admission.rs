//! The admission webhook of a kind: the same pure `desired` as in the reconcile, before anything is stored. What only an edit can
//! put right is refused, all of it at once; a reference without a value is no reason to refuse.

use std::{fmt, marker::PhantomData};

use futures::future::{BoxFuture, ready};
use kraken_api::HasLifecycle;
use kraken_options::{Problem, ProblemKind};
use kraken_runtime::webhook::{Hook, Operation, Subject, Validator, Verdict};
use kube::core::object::HasSpec;

use crate::{External, fields::Fields, outcome::Outcome, steps::resolve};

/// What is said of the deletion of a protected resource.
const PROTECTED: &str = "is true: the resource cannot be deleted; set lifecycle.protect to false first";

/// Reviews the resources of one kind.
pub struct Admission<E> {
    fields: Fields,
    kind: PhantomData<fn() -> E>,
}

impl<E: External> Default for Admission<E> {
    fn default() -> Self {
        Self { fields: Fields::of::<E>(), kind: PhantomData }
    }
}

impl<E> fmt::Debug for Admission<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

impl<E: External> Admission<E> {
    /// Its row in the table of webhooks.
    pub fn hook() -> Hook {
        Hook::of_kind::<E::Kind>()
    }

    fn verdict(&self, subject: &Subject) -> Verdict {
        let object: E::Kind = match serde_json::from_value((*subject.object).clone()) {
            Ok(object) => object,
            // A deletion needs no valid spec.
            Err(_) if subject.operation == Operation::Delete => return Verdict::default(),
            Err(error) => return refused(problem("", format!("cannot be read: {error}"))),
        };
        let spec = object.spec();
        if subject.operation == Operation::Delete {
            let protected = spec.lifecycle().protect.then(|| problem("lifecycle.protect", PROTECTED));
            return protected.map(refused).unwrap_or_default();
        }
        match resolve::certain::<E>(spec, &self.fields) {
            Some(Outcome::Invalid(problems)) => Verdict { problems, warnings: vec![] },
            _ => Verdict::default(),
        }
    }
}

impl<E: External> Validator for Admission<E> {
    fn review(&self, subject: Subject) -> BoxFuture<'_, Verdict> {
        Box::pin(ready(self.verdict(&subject)))
    }
}

fn problem(field: &str, message: impl Into<String>) -> Problem {
    Problem { field: field.to_owned(), kind: ProblemKind::Invalid, message: message.into() }
}

fn refused(problem: Problem) -> Verdict {
    Verdict { problems: vec![problem], warnings: vec![] }
}
