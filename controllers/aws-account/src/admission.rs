//! The admission webhook of Accounts: rejects errors that the schema cannot detect, as the reconcile would. Pure.

use std::{
    future::{Future, ready},
    pin::Pin,
};

use kraken_aws::account::{Account, AccountRules};
use kraken_kind::{
    options::Problem,
    runtime::webhook::{Operation, ReviewResult, Subject, Validator},
};

/// Reviews Accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission;

impl Validator for Admission {
    fn review(&self, subject: Subject) -> Pin<Box<dyn Future<Output = ReviewResult> + Send + '_>> {
        let verdict = match subject.operation {
            Operation::Delete => ReviewResult::default(),
            _ => verdict(&subject.object),
        };
        Box::pin(ready(verdict))
    }
}

fn verdict(object: &serde_json::Value) -> ReviewResult {
    let problem = match serde_json::from_value::<Account>(object.clone()) {
        Err(error) => Problem::invalid("", format!("cannot be read: {error}")),
        Ok(account) => match AccountRules::of("", &account.spec) {
            Ok(_) => return ReviewResult::default(),
            Err(why) => Problem::invalid("defaultTags", why),
        },
    };
    ReviewResult { problems: vec![problem], warnings: vec![] }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value)] // JSON reads better where it is passed
    fn problems(spec: serde_json::Value) -> Vec<String> {
        let object = json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Account",
            "metadata": {"name": "shop"}, "spec": spec,
        });
        verdict(&object).problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn default_tags_are_rejected_by_the_rules_of_aws() {
        assert!(problems(json!({"defaultTags": {"Team": "shop"}})).is_empty());
        assert_eq!(problems(json!({"defaultTags": {"AWS:x": "y"}})).len(), 1);
    }

    #[test]
    fn credentials_that_are_literals_cannot_be_read() {
        let credentials = json!({"accessKeyID": {"value": "AKIA"}, "secretAccessKey": {"value": "x"}});
        assert!(problems(json!({"credentials": credentials}))[0].contains("cannot be read"));
    }
}
