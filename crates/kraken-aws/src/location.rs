//! Where the controller works: the account that its credentials belong to, and its region. Resources are pinned to where
//! they were created, so that a controller that was started for elsewhere does not create everything a second time.

use std::{sync::Arc, time::Duration};

use aws_sdk_sts::Client;
use kraken_spoke::{Failure, FailureClass, Location};
use tokio::{sync::Mutex, time::Instant};

use crate::Aws;

/// How long an account is believed: credentials may be exchanged for others while the controller runs.
const BELIEVED: Duration = Duration::from_hours(1);
/// How long a failure to learn it is the answer to all who ask: a thousand resources must not wait for a timeout each.
const FAILED: Duration = Duration::from_secs(5);

/// The account, asked for when it is first needed and then now and then. Cloning gives another handle.
#[derive(Clone, Debug)]
pub(crate) struct Whereabouts {
    sts: Client,
    region: Option<String>,
    /// Whether the endpoint is not AWS itself.
    is_other: bool,
    known: Arc<Mutex<Known>>,
}

/// What is known of the account, each with since when.
#[derive(Debug, Default)]
struct Known {
    account: Option<(String, Instant)>,
    failure: Option<(Failure, Instant)>,
}

impl Known {
    /// The answer, if it is fresh enough to be given again.
    fn fresh(&self) -> Option<Result<String, Failure>> {
        let account = self.account.as_ref().filter(|(_, since)| since.elapsed() < BELIEVED);
        let failure = self.failure.as_ref().filter(|(_, since)| since.elapsed() < FAILED);
        let account = account.map(|(account, _)| Ok(account.clone()));
        account.or_else(|| failure.map(|(failure, _)| Err(failure.clone())))
    }

    /// The answer that a call leads to. What was true an hour ago is a better one than to stop everything.
    fn learn(&mut self, answer: Result<String, Failure>) -> Result<String, Failure> {
        let now = Instant::now();
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

impl Whereabouts {
    pub(crate) fn new(sts: Client, region: Option<String>, is_other: bool) -> Self {
        Self { sts, region, is_other, known: Arc::default() }
    }

    /// Whether a region is known, without which no call is possible.
    pub(crate) fn has_region(&self) -> bool {
        self.region.is_some()
    }
}

impl Aws {
    /// The account and the region that calls go to. Costs a call now and then.
    ///
    /// # Errors
    /// The failure of that call.
    pub async fn location(&self) -> Result<Location, Failure> {
        let whereabouts = self.whereabouts();
        // One at a time: a thousand resources that want to know ask once.
        let mut known = whereabouts.known.lock().await;
        let account = match known.fresh() {
            Some(answer) => answer?,
            None => known.learn(self.account(whereabouts).await)?,
        };
        Ok(Location { account, region: whereabouts.region.clone().unwrap_or_default() })
    }

    async fn account(&self, whereabouts: &Whereabouts) -> Result<String, Failure> {
        let call = whereabouts.sts.get_caller_identity();
        let answer = self.call("GetCallerIdentity", "failed to identify the AWS account", call.send()).await;
        match answer {
            Ok(answer) => Ok(answer.account.unwrap_or_default()),
            // It knows no accounts: the region alone tells where resources are.
            Err(failure) if whereabouts.is_other && failure.class == FailureClass::Terminal => {
                tracing::warn!(%failure, "the endpoint does not tell the account; resources are pinned to the region alone");
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
    async fn a_known_account_outlives_an_outage_and_not_other_credentials() {
        let mut known = Known::default();
        assert!(known.fresh().is_none());
        assert_eq!(known.learn(Ok("1".into())), Ok("1".into()));
        assert_eq!(known.fresh(), Some(Ok("1".into())));
        tokio::time::advance(BELIEVED).await;
        assert!(known.fresh().is_none());
        assert_eq!(known.learn(Err(failure(FailureClass::Transient))), Ok("1".into()));
        tokio::time::advance(BELIEVED).await;
        assert!(known.learn(Err(failure(FailureClass::Credentials))).is_err());
        assert!(matches!(known.fresh(), Some(Err(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_the_answer_for_a_moment() {
        let mut known = Known::default();
        assert!(known.learn(Err(failure(FailureClass::Transient))).is_err());
        assert!(matches!(known.fresh(), Some(Err(_))));
        tokio::time::advance(FAILED).await;
        assert!(known.fresh().is_none());
    }
}
