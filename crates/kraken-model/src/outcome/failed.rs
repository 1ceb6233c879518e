//! The outcomes of failed calls. Pure.

use kraken_api::{Lifecycle, reasons::Reason};
use kraken_kind::{
    Failure,
    account::{Refusal, Rules},
};
use kraken_runtime::patch::ApiError;

use crate::outcome::{FailureRow, Outcome, Rejects};

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(why) => Self::Account(Reason::AccountNotFound, why),
            Refusal::NotReady(why) => Self::Account(Reason::AccountNotReady, why),
            Refusal::Unreadable(error) => Self::Kubernetes(error),
        }
    }
}

/// In a namespace that is being deleted, the reconcile can only wait for the deletion of the resource itself. Kubernetes requests the
/// deletions of a kind in one go and stops at the first one that is rejected: a protected resource keeps others, too.
pub fn in_namespace(error: ApiError, lifecycle: &Lifecycle) -> Outcome {
    if !error.is_namespace_terminating() {
        return Outcome::Kubernetes(error);
    }
    let start = "the namespace is being deleted: no object is created or changed in it";
    if lifecycle.protect {
        return Outcome::Protected(format!(
            "{start}; spec.lifecycle.protect is true and keeps this resource, and with it the namespace: set it to false to allow the \
             deletion"
        ));
    }
    let waits = "if Kubernetes does not delete this resource soon, another one holds the deletion, for example by lifecycle.protect: the \
                 conditions of the namespace name it (kubectl get namespace -o yaml)";
    Outcome::InProgress(Reason::Deleting, format!("{start}; {waits}"))
}

/// The outcome of a rejected call: not possible yet, with the reason of the operation, or else a failure.
pub fn refused(failure: Failure, reason: Reason) -> Outcome {
    if FailureRow::of(failure.class).is_not_yet() {
        Outcome::NotYet(reason, failure.to_string())
    } else {
        Outcome::Failed(failure)
    }
}

/// The outcome of a reconcile: credentials of an account that the provider rejects are reported as a problem of the account, and not
/// of the controller's settings.
pub fn attributed(outcome: Outcome, rules: Option<&dyn Rules>) -> Outcome {
    match (outcome, rules) {
        (Outcome::Failed(failure), Some(rules))
            if FailureRow::of(failure.class).rejects == Rejects::Account =>
        {
            Outcome::Account(Reason::AccountNotReady, format!("{} {}: {failure}", rules.kind(), rules.name()))
        }
        (outcome, _) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use kraken_api::{Adopt, Location};
    use kraken_kind::FailureClass;
    use kraken_options::{Governed, Problem, RestrictedValue};

    use super::*;

    #[derive(Debug)]
    struct Shop(Governed);

    impl Rules for Shop {
        fn governed(&self) -> &Governed {
            &self.0
        }

        fn digest(&self) -> &'static str {
            ""
        }

        fn refused(&self, _: &[RestrictedValue], _: Option<&Adopt>) -> Vec<Problem> {
            vec![]
        }

        fn location_violation(&self, _: &Location) -> Option<String> {
            None
        }

        fn name(&self) -> &'static str {
            "shop"
        }
    }

    #[test]
    fn rejected_credentials_are_reported_for_the_account_that_has_them() {
        let failed = |class| {
            let failure = kraken_kind::Failure {
                class,
                action: "failed".into(),
                code: "C".into(),
                message: "m".into(),
            };
            Outcome::Failed(failure)
        };
        let shop = Shop(Governed::default());
        let (_, reason, message) = attributed(failed(FailureClass::Credentials), Some(&shop)).ready();
        assert_eq!((reason, message.as_str()), (Reason::AccountNotReady, "Account shop: failed: m (C)"));
        let (_, reason, _) = attributed(failed(FailureClass::Credentials), None).ready();
        assert_eq!(reason, Reason::CredentialsMissing);
        let (_, reason, _) = attributed(failed(FailureClass::Terminal), Some(&shop)).ready();
        assert_eq!(reason, Reason::CloudRefused);
    }

    #[test]
    fn a_refusal_is_a_condition_with_its_reason() {
        let ready = |refusal: Refusal| Outcome::from(refusal).ready();
        assert_eq!(ready(Refusal::NotFound("x".into())).1, Reason::AccountNotFound);
        let (_, reason, message) = ready(Refusal::NotReady("no Secret".into()));
        assert_eq!((reason, message.as_str()), (Reason::AccountNotReady, "no Secret"));
    }
}
