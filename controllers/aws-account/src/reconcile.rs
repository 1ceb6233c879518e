//! One check of one Account. Client required.

use kraken_aws::{Aws, account::Account};
use kraken_spoke::{
    api::conditions,
    runtime::{
        Manager, clock,
        events::EventType,
        patch::{ApiError, Version, replace_status},
        queue::Requeue,
        watch::ObjectKey,
    },
};
use kube::{Api, Resource};
use serde_json::json;
use tracing::{info, warn};

use crate::{outcome::CheckResult, publish::publish};

/// Checks an Account, and writes its status and state.
pub(crate) async fn reconcile(manager: &Manager, aws: &Aws, key: &ObjectKey) -> Requeue {
    let Some(account) = aws.account(key) else { return Requeue::Never };
    let result = CheckResult::of(aws.check_account(&key.namespace, &account).await);
    let written = match report(manager, key, &account, &result).await {
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
async fn report(
    manager: &Manager,
    key: &ObjectKey,
    account: &Account,
    result: &CheckResult,
) -> Result<(), ApiError> {
    let status = result.status(account, clock::now());
    if account.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let api: Api<Account> = Api::namespaced(manager.client.clone(), &key.namespace);
    let version = Version::of(account);
    let _: Account = replace_status(&api, manager.name, &key.name, &version, json!(status)).await?;
    let ready = |status: Option<&kraken_aws::account::AccountStatus>| {
        let ready = conditions::get(&status?.conditions, conditions::READY)?;
        Some((ready.status.clone(), ready.reason.clone(), ready.message.clone()))
    };
    let (before, after) = (ready(account.status.as_ref()), ready(Some(&status)));
    if let Some((_, reason, message)) = after.filter(|after| before.as_ref() != Some(after)) {
        let (namespace, name) = (&*key.namespace, &*key.name);
        info!(namespace, name, reason, message, "checked the Account");
        let kind = if result.is_ready() { EventType::Normal } else { EventType::Warning };
        manager.events.publish(&account.object_ref(&()), kind, &reason, "Check", &message).await;
    }
    Ok(())
}
