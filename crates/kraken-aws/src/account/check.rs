//! The check of an Account as a whole, for its own controller: the same steps by which a resource uses it.

use std::sync::Arc;

use kraken_kind::{
    Failure, Location,
    account::{Refusal, Rules as _},
    runtime::watch::ObjectKey,
};

use super::{Account, AccountRules};
use crate::Aws;

/// The identity with which the calls of an Account are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account and the region.
    pub location: Location,
    /// The ARN of the user or role.
    pub arn: String,
}

/// Why an Account cannot be used.
#[derive(Debug)]
pub enum CheckError {
    /// The Account or one of its Secrets is invalid.
    Refused(Refusal),
    /// AWS did not respond, or rejects the credentials.
    Failed(Failure),
}

impl Aws {
    /// All Accounts according to the watch.
    pub fn accounts(&self) -> Vec<Arc<Account>> {
        self.known_accounts().map(|accounts| accounts.known.all()).unwrap_or_default()
    }

    /// The Account of this namespace and name.
    pub fn account(&self, key: &ObjectKey) -> Option<Arc<Account>> {
        self.known_accounts()?.known.get(key)
    }

    /// The identity with which calls are made. Makes a call each time.
    ///
    /// # Errors
    /// The failure of that call.
    pub async fn caller(&self) -> Result<Caller, Failure> {
        let answer = self.identify().await?;
        let (account, region) = (answer.account.unwrap_or_default(), self.region().unwrap_or_default());
        let location = Location { account, region: region.to_owned() };
        Ok(Caller { location, arn: answer.arn.unwrap_or_default() })
    }

    /// Checks an Account: its rules, its Secrets, its role, and the owner of its credentials. Makes a call each time.
    ///
    /// # Errors
    /// If resources cannot use it.
    pub async fn check_account(&self, namespace: &str, account: &Account) -> Result<Caller, CheckError> {
        let name = account.metadata.name.as_deref().unwrap_or_default();
        let not_ready = |why| CheckError::Refused(Refusal::NotReady(why));
        let rules = AccountRules::of(name, &account.spec)
            .map_err(|why| not_ready(format!("Account {name}: {why}")))?;
        let Some(accounts) = self.known_accounts() else {
            return Err(not_ready("this controller does not watch Accounts".to_owned()));
        };
        let connection = self.connect_to(accounts, namespace, account).await.map_err(CheckError::Refused)?;
        let aws = connection.connected.map_or_else(|| self.clone(), |connected| connected.external);
        let caller = aws.caller().await.map_err(CheckError::Failed)?;
        match rules.location_violation(&caller.location) {
            Some(why) => Err(not_ready(why)),
            None => Ok(caller),
        }
    }
}
