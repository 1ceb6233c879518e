//! Whose credentials calls are made with: there is one account.

use super::answer::{Answer, Handler};
use super::instance::ACCOUNT;

/// Who carries an action out.
pub(super) fn handler(action: &str) -> Option<Handler> {
    (action == "GetCallerIdentity").then_some(|_, _| {
        Ok(Answer::about(ACCOUNT, |xml| {
            xml.text("Arn", format!("arn:aws:iam::{ACCOUNT}:user/kraken"));
            xml.text("UserId", "AIDAEXAMPLE");
            xml.text("Account", ACCOUNT);
        }))
    })
}
