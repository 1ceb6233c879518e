//! STS: all credentials belong to one account.

use super::answer::{Answer, Handler};

/// The implementation of an action.
pub(super) fn handler(action: &str) -> Option<Handler> {
    (action == "GetCallerIdentity").then_some(|cloud, _| {
        let account = cloud.options.account.as_str();
        Ok(Answer::about(account, |xml| {
            xml.text("Arn", format!("arn:aws:iam::{account}:user/kraken"));
            xml.text("UserId", "AIDAEXAMPLE");
            xml.text("Account", &cloud.options.account);
        }))
    })
}
