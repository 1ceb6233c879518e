//! The location of the controller: the account of its credentials, and its region. Resources are pinned to the location
//! of their creation, so that a controller in another location does not create all remote objects a second time.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use aws_sdk_sts::{Client, operation::get_caller_identity::GetCallerIdentityOutput};
use kraken_kind::{Failure, FailureClass, Location};
use tokio::{sync::Mutex, time::Instant};

use crate::owner::Owner;

/// The time for which an account is cached: credentials may be replaced while the controller runs.
const ACCOUNT_TTL: Duration = Duration::from_hours(1);
/// The time for which a failure is cached: a thousand resources must not wait for a timeout each.
const FAILURE_TTL: Duration = Duration::from_secs(5);

/// The account, read when it is first needed and then periodically. Clones share the same state.
#[derive(Clone, Debug)]
pub(crate) struct LocationCache {
    sts: Client,
    region: Option<String>,
    /// Whether the endpoint is not AWS's default endpoint.
    is_other: bool,
    known: Arc<Mutex<CachedAccount>>,
    /// The owner of the credentials, if they can change.
    owner: Owner,
    /// The account that was identified first.
    first: Arc<OnceLock<String>>,
}

/// The cached account or failure, each with its time.
#[derive(Debug, Default)]
struct CachedAccount {
    account: Option<(String, Instant)>,
    failure: Option<(Failure, Instant)>,
    /// The number of changes of the owner before the account was identified.
    changes: u64,
}

impl CachedAccount {
    /// The cached result, if it is fresh.
    fn fresh(&self, changes: u64) -> Option<Result<String, Failure>> {
        if changes != self.changes {
            return None;
        }
        let account = self.account.as_ref().filter(|(_, since)| since.elapsed() < ACCOUNT_TTL);
        let failure = self.failure.as_ref().filter(|(_, since)| since.elapsed() < FAILURE_TTL);
        let account = account.map(|(account, _)| Ok(account.clone()));
        account.or_else(|| failure.map(|(failure, _)| Err(failure.clone())))
    }

    /// The result after a call. After a failure, the outdated account is used, so that reconciles continue.
    fn update(&mut self, answer: Result<String, Failure>, changes: u64) -> Result<String, Failure> {
        let now = Instant::now();
        if changes != self.changes {
            *self = Self { changes, ..Self::default() };
        }
        match (answer, &mut self.account) {
            (Ok(account), _) => {
                self.account = Some((account.clone(), now));
                Ok(account)
            }
            (Err(failure), Some((account, since)))
                if matches!(failure.class, FailureClass::Transient | FailureClass::Throttled) =>
            {
                *since = now;
                Ok(account.clone())
            }
            (Err(failure), _) => {
                self.account = None;
                self.failure = Some((failure.clone(), now));
                Err(failure)
            }
        }
    }
}

impl LocationCache {
    pub(crate) fn new(sts: Client, region: Option<String>, is_other: bool, owner: Owner) -> Self {
        Self { sts, region, is_other, known: Arc::default(), owner, first: Arc::default() }
    }

    /// The region, if it is known.
    pub(crate) fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// The account that was identified first, if one was.
    pub(crate) fn first(&self) -> Option<&str> {
        self.first.get().map(String::as_str)
    }

    /// Whether a region is known, which every call requires.
    pub(crate) fn has_region(&self) -> bool {
        self.region.is_some()
    }

    /// The client of the call that identifies the account.
    pub(crate) fn sts(&self) -> &Client {
        &self.sts
    }

    /// The account and the region of calls. `identify` is the call for it, which is made only if the
    /// account is not known, or may have changed.
    ///
    /// # Errors
    /// The failure of that call.
    pub(crate) async fn location(
        &self,
        identify: impl Future<Output = Result<GetCallerIdentityOutput, Failure>>,
    ) -> Result<Location, Failure> {
        // One call at a time, shared by all waiting resources.
        let mut known = self.known.lock().await;
        let account = if let Some(answer) = known.fresh(self.owner.changes()) {
            answer?
        } else {
            let answer = self.account_id(identify.await);
            // Read after the call, which may be the first one with new credentials.
            let changes = self.owner.changes();
            if let Ok(account) = &answer {
                self.owner.identified(account);
            }
            known.update(answer, changes)?
        };
        self.first.get_or_init(|| account.clone());
        Ok(Location { account, region: self.region.clone().unwrap_or_default() })
    }

    fn account_id(&self, answer: Result<GetCallerIdentityOutput, Failure>) -> Result<String, Failure> {
        match answer {
            Ok(answer) => Ok(answer.account.unwrap_or_default()),
            // The endpoint has no accounts: resources are pinned to the region only.
            Err(failure) if self.is_other && failure.class == FailureClass::Terminal => {
                tracing::warn!(%failure, "the endpoint does not support STS; resources are pinned to the region only");
                Ok(String::new())
            }
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: FailureClass) -> Failure {
        Failure { class, action: "a".into(), code: String::new(), message: "m".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_known_account_is_kept_during_an_outage_and_replaced_with_new_credentials() {
        let mut known = CachedAccount::default();
        assert!(known.fresh(0).is_none());
        assert_eq!(known.update(Ok("1".into()), 0), Ok("1".into()));
        assert_eq!(known.fresh(0), Some(Ok("1".into())));
        tokio::time::advance(ACCOUNT_TTL).await;
        assert!(known.fresh(0).is_none());
        assert_eq!(known.update(Err(failure(FailureClass::Transient)), 0), Ok("1".into()));
        tokio::time::advance(ACCOUNT_TTL).await;
        assert!(known.update(Err(failure(FailureClass::Credentials)), 0).is_err());
        assert!(matches!(known.fresh(0), Some(Err(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_known_account_is_outdated_when_the_owner_of_the_credentials_changes() {
        let mut known = CachedAccount::default();
        assert_eq!(known.update(Ok("1".into()), 0), Ok("1".into()));
        assert_eq!(known.fresh(1), None);
        let failed = known.update(Err(failure(FailureClass::Transient)), 1);
        assert!(failed.is_err(), "the former account is not used during an outage");
        assert_eq!(known.update(Ok("2".into()), 1), Ok("2".into()));
        assert_eq!(known.fresh(1), Some(Ok("2".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_cached_briefly() {
        let mut known = CachedAccount::default();
        assert!(known.update(Err(failure(FailureClass::Transient)), 0).is_err());
        assert!(matches!(known.fresh(0), Some(Err(_))));
        tokio::time::advance(FAILURE_TTL).await;
        assert!(known.fresh(0).is_none());
    }
}
