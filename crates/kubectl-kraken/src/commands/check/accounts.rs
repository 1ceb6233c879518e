//! Whether the credentials of each Account work, as its controller reports.

use anyhow::Result;
use kraken_api::ResourceStatus;

use super::{Finding, Level};
use crate::{
    cluster::Cluster,
    graph::Node,
    resource::{Ready, Resource},
};

/// The kind with the credentials.
const ACCOUNT: &str = "Account";

/// One finding for each Account of the cluster, or of the namespace without the right to list all.
pub(super) async fn credentials(cluster: &Cluster) -> Result<Vec<Finding>> {
    let kinds: Vec<_> = cluster.kinds.users().filter(|kind| kind.resource.kind == ACCOUNT).collect();
    if kinds.is_empty() {
        return Ok(vec![]);
    }
    let mut of_all = cluster.clone();
    of_all.scope = None;
    let mut listed = of_all.list(&kinds).await?;
    if !listed.forbidden.is_empty() {
        of_all.scope = Some(cluster.namespace.clone());
        listed = of_all.list(&kinds).await?;
    }
    if !listed.forbidden.is_empty() {
        let text = format!("not checked: you may not list Accounts in namespace {}", cluster.namespace);
        return Ok(vec![Finding::new(Level::Note, "Accounts", text)]);
    }
    let accounts: Vec<Resource> = listed.objects.into_iter().filter_map(Resource::of).collect();
    Ok(judged(&accounts))
}

fn judged(accounts: &[Resource]) -> Vec<Finding> {
    if accounts.is_empty() {
        let text =
            "none: the controllers use their own credentials, which the conditions of resources report on";
        return vec![Finding::new(Level::Ok, "Accounts", text)];
    }
    accounts.iter().map(judge).collect()
}

fn judge(account: &Resource) -> Finding {
    let Node { namespace, name, .. } = &account.node;
    let part = format!("Account {namespace}/{name}");
    match account.ready {
        Ready::Yes => Finding::new(Level::Ok, part, place(&account.status)),
        Ready::No => Finding::new(Level::Fails, part, format!("{}: {}", account.reason, account.message)),
        Ready::Unknown => Finding::new(Level::Note, part, account.message.clone()),
    }
}

/// Which account the credentials are of.
fn place(status: &ResourceStatus) -> String {
    match &status.location {
        Some(location) => location.to_string(),
        None => "the credentials work".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::graph::fixtures::{not_ready, object, ready};

    fn level(status: Value) -> Level {
        judged(&[Resource::of(object("Account", "prod", json!({}), status)).unwrap()])[0].level
    }

    #[test]
    fn an_account_whose_credentials_do_not_work_fails_the_check() {
        assert_eq!(level(ready()), Level::Ok);
        assert_eq!(level(not_ready("AccountNotReady", "the token is expired")), Level::Fails);
        assert_eq!(level(json!({})), Level::Note);
        assert_eq!(judged(&[])[0].level, Level::Ok);
    }
}
