//! Compares the controller's location with that of a resource's remote objects: in another account or region they are
//! not visible, and all of them would be recreated. Client required.

use kraken_api::{Location, ResourceStatus, reasons::Reason};
use kraken_runtime::mutants::{self, Mutant};
use kube::{Resource, core::object::HasStatus};

use crate::{
    account::DEFAULT_ACCOUNT,
    context::Reconcile,
    model::{intent::Intent, outcome::Outcome},
};

/// The location of this controller; fails if the resource's objects are in another one.
pub(crate) async fn here(
    reconcile: &Reconcile<'_>,
    intent: Option<&Intent>,
) -> Result<Option<Location>, Outcome> {
    let context = &reconcile.context;
    let there = recorded(&*reconcile.object, intent);
    let here = context.external.location().await.map_err(Outcome::Failed)?;
    if let (Some(rules), Some(here)) = (&context.rules, &here)
        && let Some(why) = rules.location_violation(here)
    {
        return Err(Outcome::Account(Reason::AccountNotReady, why));
    }
    match (there, here) {
        (Some(there), Some(here)) if there != here && !mutants::active(Mutant::LocationIgnored) => {
            let account = context.rules.as_ref().map(|rules| rules.name());
            Err(Outcome::Elsewhere(mismatch(&there, &here, account, context.info().accounts.is_some())))
        }
        (_, here) => Ok(here),
    }
}

/// Why nothing is changed, `account` being the one that the resource uses. A resource without one may have lost it. Pure.
fn mismatch(there: &Location, here: &Location, account: Option<&str>, has_accounts: bool) -> String {
    let start = format!("the remote objects of this resource are in {there}, and nothing is changed there:");
    match account {
        Some(account) => format!(
            "{start} Account {account} works in {here}; give it the credentials and the region of {there}, or name another Account \
             in spec.account"
        ),
        None if has_accounts => format!(
            "{start} this resource names no Account, Account {DEFAULT_ACCOUNT} does not exist in its namespace, and the controller \
             works in {here}; create Account {DEFAULT_ACCOUNT} with the credentials and the region of {there}, or name an Account in \
             spec.account, or configure the controller with that location"
        ),
        None => format!(
            "{start} this controller works in {here}; configure it with the credentials and the region of {there}"
        ),
    }
}

/// The location of the first launch, from the status or the intent.
fn recorded<K: Resource + HasStatus<Status = ResourceStatus>>(
    object: &K,
    intent: Option<&Intent>,
) -> Option<Location> {
    let status = object.status().and_then(|status| status.location.clone());
    status.or_else(|| intent.and_then(|intent| intent.location.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_the_account_that_determines_the_location() {
        let at = |account: &str| Location { account: account.into(), region: "eu-west-1".into() };
        let message = |account, has_accounts| mismatch(&at("1"), &at("2"), account, has_accounts);
        assert!(message(Some("shop"), true).contains("Account shop works in account 2"));
        assert!(message(None, true).contains("Account default does not exist in its namespace"));
        assert!(!message(None, false).contains("Account"));
        for message in [message(Some("shop"), true), message(None, true), message(None, false)] {
            assert!(message.starts_with("the remote objects of this resource are in account 1"), "{message}");
        }
    }
}
