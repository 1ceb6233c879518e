//! The location of the remote objects: in another account or region they are not visible, and all of them would be recreated.

use kraken_api::Location;
use kraken_kind::account::{AccountKind, Rules};

use crate::{outcome::Outcome, policy::Permit};

/// Whether the objects of a resource, which are `there`, may be changed by calls that are made `here`. `rules` are those of its account,
/// if it uses one.
pub fn permits(
    there: Option<&Location>,
    here: Option<&Location>,
    rules: Option<&dyn Rules>,
    accounts: Option<AccountKind>,
) -> Permit {
    match there.zip(here) {
        Some((there, here)) if there != here => {
            Err(Outcome::WrongLocation(mismatch(there, here, rules.map(Rules::name), accounts)))
        }
        _ => Ok(()),
    }
}

/// Why nothing is changed, `account` being the one that the resource uses. A resource without one may have lost it.
fn mismatch(
    there: &Location,
    here: &Location,
    account: Option<&str>,
    accounts: Option<AccountKind>,
) -> String {
    let start = format!("the remote objects of this resource are in {there}, and nothing is changed there:");
    let Some(AccountKind { kind, field, default_name, .. }) = accounts else {
        return format!(
            "{start} this controller works in {here}; configure it with the credentials and the region of {there}"
        );
    };
    match account {
        Some(account) => format!(
            "{start} {kind} {account} works in {here}; give it the credentials and the location of {there}, or name another {kind} \
             in spec.{field}"
        ),
        None => format!(
            "{start} this resource names no {kind}, {kind} {default_name} does not exist in its namespace, and the controller \
             works in {here}; create {kind} {default_name} with the credentials and the location of {there}, or name one in \
             spec.{field}, or configure the controller with that location"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_the_account_that_determines_the_location() {
        let at = |account: &str| Location { account: account.into(), region: "eu-west-1".into() };
        let accounts = AccountKind {
            group: "g",
            version: "v1",
            kind: "Account",
            plural: "accounts",
            field: "account",
            default_name: "default",
            description: "",
            name_description: "",
        };
        let message = |account, has_accounts: bool| {
            mismatch(&at("1"), &at("2"), account, has_accounts.then_some(accounts))
        };
        assert!(message(Some("shop"), true).contains("Account shop works in account 2"));
        assert!(message(None, true).contains("Account default does not exist in its namespace"));
        assert!(!message(None, false).contains("Account"));
        for message in [message(Some("shop"), true), message(None, true), message(None, false)] {
            assert!(message.starts_with("the remote objects of this resource are in account 1"), "{message}");
        }
    }
}
