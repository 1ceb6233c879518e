//! The outcome of a check of an Account, and the resulting status. Pure.

use std::time::Duration;

use jiff::Timestamp;
use kraken_aws::account::{Account, AccountStatus, Caller, CheckError};
use kraken_kind::{
    Failure, FailureClass,
    account::Refusal,
    api::{conditions, reasons::Reason},
    runtime::queue::Requeue,
};

/// When an Account that cannot be used is checked again: a Secret is not watched, and a role may be changed in AWS.
const RETRY: Duration = Duration::from_secs(30);

/// The Ready condition, and when the Account is checked again, `resync` being the interval of resyncs.
#[derive(Debug, PartialEq)]
pub(crate) struct CheckResult {
    pub(crate) reason: Reason,
    pub(crate) message: String,
    pub(crate) caller: Option<Caller>,
}

impl CheckResult {
    /// From the result of a check.
    pub(crate) fn of(checked: Result<Caller, CheckError>) -> Self {
        let not = |reason, message| Self { reason, message, caller: None };
        match checked {
            Ok(caller) => {
                let message = format!("calls are made as {} in {}", caller.arn, caller.location);
                Self { reason: Reason::Available, message, caller: Some(caller) }
            }
            Err(CheckError::Refused(Refusal::NotFound(why) | Refusal::NotReady(why))) => {
                not(Reason::AccountNotReady, why)
            }
            Err(CheckError::Refused(Refusal::Unreadable(error))) => {
                not(Reason::KubernetesError, error.to_string())
            }
            Err(CheckError::Failed(failure)) => not(reason_of(&failure), failure.to_string()),
        }
    }

    /// Whether the outcome contains no result for the Account, so that the previous result remains.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.reason, Reason::Throttled | Reason::CloudUnavailable | Reason::KubernetesError)
    }

    /// Whether resources can use the Account.
    pub(crate) fn is_ready(&self) -> bool {
        self.reason == Reason::Available
    }

    /// When the Account is checked again.
    pub(crate) fn requeue(&self, resync: Option<Duration>) -> Requeue {
        match self.reason {
            Reason::Available => resync.map_or(Requeue::Never, Requeue::Tick),
            _ if self.is_passing() => Requeue::Backoff,
            _ => Requeue::After(RETRY),
        }
    }

    /// The status of the Account.
    pub(crate) fn status(&self, account: &Account, now: Timestamp) -> AccountStatus {
        let generation = account.metadata.generation;
        let before = account.status.clone().unwrap_or_default();
        if self.is_passing() && before.observed_generation == generation && is_ready(&before) {
            return before;
        }
        let mut conditions = before.conditions;
        let state = if self.is_ready() { conditions::State::True } else { conditions::State::False };
        let reason = self.reason.as_str();
        conditions::set(&mut conditions, conditions::READY, state, reason, &self.message, generation, now);
        let caller = self.caller.as_ref();
        AccountStatus {
            observed_generation: generation,
            account_id: caller.map(|caller| caller.location.account.clone()),
            arn: caller.map(|caller| caller.arn.clone()),
            region: caller.map(|caller| caller.location.region.clone()),
            conditions,
        }
    }
}

fn is_ready(status: &AccountStatus) -> bool {
    let ready = conditions::get(&status.conditions, conditions::READY);
    ready.is_some_and(|ready| ready.status == conditions::State::True.as_str())
}

fn reason_of(failure: &Failure) -> Reason {
    match failure.class {
        FailureClass::Throttled => Reason::Throttled,
        FailureClass::Transient => Reason::CloudUnavailable,
        FailureClass::NotConfigured => Reason::ControllerNotConfigured,
        _ => Reason::AccountNotReady,
    }
}

#[cfg(test)]
mod tests {
    use kraken_aws::account::AccountSpec;
    use kraken_kind::Location;

    use super::*;

    fn caller() -> Caller {
        let location = Location { account: "111111111111".into(), region: "eu-west-1".into() };
        Caller { location, arn: "arn:aws:iam::111111111111:user/shop".into() }
    }

    fn failed(class: FailureClass) -> CheckResult {
        let failure = Failure { class, action: "a".into(), code: "C".into(), message: "m".into() };
        CheckResult::of(Err(CheckError::Failed(failure)))
    }

    fn account(status: Option<AccountStatus>) -> Account {
        let mut account = Account::new("shop", AccountSpec::default());
        account.metadata.generation = Some(3);
        account.status = status;
        account
    }

    #[test]
    fn usable_credentials_are_shown_with_their_identity() {
        let result = CheckResult::of(Ok(caller()));
        let status = result.status(&account(None), Timestamp::UNIX_EPOCH);
        assert_eq!(status.account_id.as_deref(), Some("111111111111"));
        assert_eq!(status.region.as_deref(), Some("eu-west-1"));
        assert!(is_ready(&status));
        let resync = Duration::from_mins(5);
        assert_eq!(result.requeue(Some(resync)), Requeue::Tick(resync));
        assert_eq!(
            result.status(&account(Some(status.clone())), Timestamp::now()),
            status,
            "no second write"
        );
    }

    #[test]
    fn rejected_credentials_are_not_ready_and_are_checked_again() {
        let before = CheckResult::of(Ok(caller())).status(&account(None), Timestamp::UNIX_EPOCH);
        let result = failed(FailureClass::Credentials);
        let status = result.status(&account(Some(before)), Timestamp::now());
        assert!(!is_ready(&status));
        assert_eq!((status.account_id, status.conditions[0].reason.as_str()), (None, "AccountNotReady"));
        assert_eq!(result.requeue(None), Requeue::After(RETRY));
    }

    #[test]
    fn an_outage_does_not_change_an_account_that_was_ready() {
        let before = CheckResult::of(Ok(caller())).status(&account(None), Timestamp::UNIX_EPOCH);
        let result = failed(FailureClass::Transient);
        assert_eq!(result.status(&account(Some(before.clone())), Timestamp::now()), before);
        assert_eq!(result.requeue(None), Requeue::Backoff);
        let edited = AccountStatus { observed_generation: Some(2), ..before };
        assert!(!is_ready(&result.status(&account(Some(edited)), Timestamp::now())));
    }
}
