//! `kraken-aws-account`: the controller of Accounts. It checks each Account with the code that resources use, and publishes
//! the identity of its credentials.
//!
//! No spoke waits for it: each reads the Accounts itself, and checks the credentials before it observes anything.
//! [`outcome`] decides (pure); [`publish`] writes the state that other resources can refer to.

mod admission;
mod outcome;
mod publish;
mod reconcile;

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_aws::{
    Aws, AwsArgs,
    account::{ACCOUNTS, Account},
};
use kraken_kind::{
    api::crd::hub_kind_with,
    runtime::{
        Manager, Program,
        queue::{Lane, Queue},
        rbac::rule,
        watch::ObjectKey,
        webhook::Hook,
        work,
    },
};

/// The kind, for logs and metrics.
const KIND: &str = "Account";
/// The maximum number of Accounts in progress.
const IN_FLIGHT: usize = 32;

/// The controller of Accounts.
#[derive(Clone, Copy, Debug)]
pub struct AccountController;

impl Program for AccountController {
    const NAME: &'static str = "kraken-aws-account";
    const ABOUT: &'static str = "Checks the AWS Accounts of Kraken";
    type Args = AwsArgs;

    fn crds() -> Vec<CustomResourceDefinition> {
        let columns = [("Account ID", ".status.accountID", "string"), ("Region", ".status.region", "string")];
        vec![hub_kind_with::<Account>(&columns)]
    }

    fn rules() -> Vec<PolicyRule> {
        vec![
            rule(&[ACCOUNTS.group], &[ACCOUNTS.plural], &["get", "list", "watch"]),
            rule(&[ACCOUNTS.group], &["accounts/status"], &["patch"]),
            rule(&[ACCOUNTS.group], &["accounts/finalizers"], &["update"]),
            rule(&["core.kraken-iac.eoinfennessy.com"], &["statedeclarations"], &["get", "create", "patch"]),
            // The Secrets that Accounts name, one by one; Secrets cannot be listed.
            rule(&[""], &["secrets"], &["get"]),
        ]
    }

    fn hub_rules() -> Vec<PolicyRule> {
        let schemas = rule(&["apiextensions.k8s.io"], &["customresourcedefinitions"], &["get"]);
        let names = Self::crds().into_iter().filter_map(|crd| crd.metadata.name).collect();
        vec![
            // While no state is published, the hub checks whether a referenced Account exists.
            rule(&[ACCOUNTS.group], &[ACCOUNTS.plural], &["get"]),
            PolicyRule { resource_names: Some(names), ..schemas },
        ]
    }

    fn webhooks() -> Vec<Hook> {
        vec![Hook::of_kind::<Account>()]
    }

    async fn run(manager: Manager, args: AwsArgs) -> Result<()> {
        manager.webhooks.mount(&Hook::of_kind::<Account>(), admission::Admission);
        let queue: Queue<ObjectKey> = Queue::new(IN_FLIGHT);
        let aws = Aws::for_accounts(&args, &manager).await;
        aws.on_account_change(Arc::new({
            let queue = queue.clone();
            move |key: &ObjectKey| queue.add(key.clone(), Lane::Edit)
        }));
        manager.watches_registered();
        let synced = manager.shutdown.run_until_cancelled(manager.health.ready()).await.is_some();
        if !synced || !manager.leading().await {
            return Ok(());
        }
        // Registered only now: of several replicas, only the leader reports the count.
        let counted = aws.clone();
        manager.metrics.count_resources(KIND, move |tally| {
            for account in counted.accounts() {
                let conditions = account.status.as_ref().map_or(&[][..], |status| &status.conditions);
                tally.add(account.metadata.namespace.as_deref(), conditions);
            }
        });
        // The Accounts that the watch delivered before the listener was registered.
        for account in aws.accounts() {
            queue.add(ObjectKey::of(&account.metadata), Lane::Edit);
        }
        let (metrics, shutdown, concurrency) =
            (manager.metrics.clone(), manager.shutdown.clone(), manager.args.concurrency);
        work::run(queue, concurrency, KIND, metrics, shutdown, move |key, _| {
            let (manager, aws) = (manager.clone(), aws.clone());
            async move { reconcile::reconcile(&manager, &aws, &key).await }
        })
        .await;
        Ok(())
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_kind::runtime::main::<AccountController>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_show_the_identity_of_the_credentials() {
        let crd = &AccountController::crds()[0];
        let columns = crd.spec.versions[0].additional_printer_columns.iter().flatten();
        let names: Vec<_> = columns.map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["Ready", "Reason", "Account ID", "Region", "Age", "Message"]);
    }

    #[test]
    fn the_schema_has_no_field_for_a_literal_of_credentials() {
        let crd = serde_json::to_value(&AccountController::crds()[0]).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let credentials = &spec["properties"]["credentials"]["properties"];
        for part in ["accessKeyID", "secretAccessKey", "sessionToken"] {
            let fields =
                |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(fields(&credentials[part]["properties"]), ["valueFrom"], "{part}");
            assert_eq!(fields(&credentials[part]["properties"]["valueFrom"]["properties"]), ["secret"]);
        }
    }
}
