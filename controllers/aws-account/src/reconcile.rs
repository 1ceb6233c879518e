//! One check of one Account. Client required.

use kraken_aws::{Aws, account::Account};
use kraken_kind::runtime::{
    Manager, clock, patch::ApiError, queue::Requeue, report::report, watch::ObjectKey,
};
use kube::Api;
use tracing::warn;

use crate::{outcome::CheckResult, publish::publish};

/// Checks an Account, and writes its status and state.
pub(crate) async fn reconcile(manager: &Manager, aws: &Aws, key: &ObjectKey) -> Requeue {
    let Some(account) = aws.account(key) else { return Requeue::Never };
    let result = CheckResult::of(aws.check_account(&key.namespace, &account).await);
    let written = match write(manager, key, &account, &result).await {
        Ok(()) => match result.caller.as_ref().filter(|_| result.is_ready()) {
            Some(caller) => publish(manager, &account, caller).await,
            None => Ok(()),
        },
        Err(error) => Err(error),
    };
    match written {
        Ok(()) => result.requeue(manager.args.resync()),
        Err(error) if error.is_not_found() || error.is_namespace_terminating() => Requeue::Never,
        Err(error) => {
            if !error.is_conflict() {
                let (namespace, name) = (&*key.namespace, &*key.name);
                warn!(namespace, name, %error, "failed to report on an Account; the check is repeated");
            }
            Requeue::Backoff
        }
    }
}

/// Writes the status if it changed, with an event if Ready or its reason did.
async fn write(
    manager: &Manager,
    key: &ObjectKey,
    account: &Account,
    result: &CheckResult,
) -> Result<(), ApiError> {
    let status = result.status(account, clock::now());
    let api: Api<Account> = Api::namespaced(manager.client.clone(), &key.namespace);
    report(manager, &api, account, account.status.as_ref(), &status, "Check").await
}
