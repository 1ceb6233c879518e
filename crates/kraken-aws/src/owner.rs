//! The owner of credentials that change while the controller runs: a mounted file, EKS Pod Identity, or an instance profile.
//!
//! Resources are pinned to the account of their creation, which is identified before they are observed. Credentials of another account
//! must not be used before that: nothing would be found there, and everything would be created a second time. So whenever the access
//! key changes, its account is identified before the SDK gets it.

use std::sync::Arc;

use aws_config::{SdkConfig, identity::IdentityCache};
use aws_credential_types::provider::{error::CredentialsError, future};
use aws_sdk_ec2::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use parking_lot::Mutex;

/// What is known about the owner of the credentials. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The access key that the SDK has.
    key: Option<String>,
    /// The account that it was identified with.
    account: Option<String>,
    /// How often the account changed, or may have.
    changes: u64,
}

impl Owner {
    /// How often the account changed, or may have: what was identified before another number is outdated.
    pub(crate) fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// The credentials were identified as those of this account.
    pub(crate) fn identified(&self, account: &str) {
        self.state.lock().account = Some(account.to_owned()).filter(|account| !account.is_empty());
    }

    /// Whether the credentials have another access key than before, whose account must be the returned one.
    fn must_be(&self, key: &str) -> Option<String> {
        let mut state = self.state.lock();
        match &state.key {
            Some(before) if before == key => None,
            before => {
                if let (Some(_), Some(account)) = (before, state.account.clone()) {
                    return Some(account);
                }
                // Nothing was identified with the former key.
                state.changes += u64::from(before.is_some());
                state.key = Some(key.to_owned());
                None
            }
        }
    }

    fn verified(&self, key: &str) {
        self.state.lock().key = Some(key.to_owned());
    }

    fn changed(&self, key: &str) {
        let mut state = self.state.lock();
        state.key = Some(key.to_owned());
        state.account = None;
        state.changes += 1;
    }
}

/// The configuration with credentials whose owner is verified, and that owner.
pub(crate) fn verified(config: SdkConfig, endpoint: Option<&str>) -> (SdkConfig, Owner) {
    let owner = Owner::default();
    let Some(provider) = config.credentials_provider() else { return (config, owner) };
    let mut sts = aws_sdk_sts::config::Builder::from(&config).identity_cache(IdentityCache::no_cache());
    sts.set_endpoint_url(endpoint.map(str::to_owned));
    let provider = SharedCredentialsProvider::new(Verified { provider, sts, owner: owner.clone() });
    (config.into_builder().credentials_provider(provider).build(), owner)
}

/// Credentials of the SDK's chain.
#[derive(Debug)]
struct Verified {
    provider: SharedCredentialsProvider,
    sts: aws_sdk_sts::config::Builder,
    owner: Owner,
}

impl Verified {
    async fn provide(&self) -> Result<Credentials, CredentialsError> {
        let credentials = self.provider.provide_credentials().await?;
        let key = credentials.access_key_id();
        let Some(account) = self.owner.must_be(key) else { return Ok(credentials) };
        let sts = self.sts.clone().credentials_provider(SharedCredentialsProvider::new(credentials.clone()));
        let call = aws_sdk_sts::Client::from_conf(sts.build()).get_caller_identity();
        // Boxed, because it is large, and rare.
        let answer = Box::pin(call.send()).await.map_err(|error| {
            CredentialsError::provider_error(format!(
                "failed to identify the owner of new credentials: {error}"
            ))
        })?;
        if answer.account() == Some(account.as_str()) {
            self.owner.verified(key);
            return Ok(credentials);
        }
        // Once: the call in progress belongs to a reconcile that has identified the former account.
        self.owner.changed(key);
        tracing::warn!(
            before = account,
            now = answer.account().unwrap_or_default(),
            "the credentials changed to another account"
        );
        Err(CredentialsError::provider_error("the credentials changed to those of another account"))
    }
}

impl ProvideCredentials for Verified {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.provide())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_verified_once_the_account_of_another_one_is_known() {
        let owner = Owner::default();
        assert_eq!(owner.must_be("a"), None, "the first key");
        assert_eq!((owner.must_be("b"), owner.changes()), (None, 1), "no account was identified");
        owner.identified("");
        assert_eq!((owner.must_be("c"), owner.changes()), (None, 2), "the endpoint has no accounts");
        owner.identified("1");
        assert_eq!(owner.must_be("c"), None);
        assert_eq!(owner.must_be("d").as_deref(), Some("1"));
        owner.verified("d");
        assert_eq!((owner.must_be("d"), owner.changes()), (None, 2));
        owner.changed("e");
        assert_eq!((owner.must_be("e"), owner.changes()), (None, 3));
    }
}
