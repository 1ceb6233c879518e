//! Accounts: what belongs to one connection, and what admission rejects.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::join3;
use kraken_kind::{
    Identity, ObserveRequest,
    account::{Connected, KEPT},
    dynamic::{Calls, SharedKind},
};
use kraken_runtime::{
    queue::Lane,
    webhook::{Operation, Subject, Validator as _},
};
use serde_json::json;

use super::{
    cloud::{Account, Cloud, Forbidden, Known},
    disk::{Disks, GROUP},
    fixtures::{disk, remote},
    scene::Setup,
    script::{Call, EVENT, STATUS, Script, call},
};
use crate::{
    admission::Admission,
    shared::{
        connections::{Connections, Link},
        vanished::Vanished,
    },
};

/// A cloud that expects these observations, its script and its number of batches.
fn cloud(ids: &[&str]) -> (Arc<dyn Calls>, Script, Arc<AtomicUsize>) {
    let script = Script::default();
    let observation = |id: &&str| -> Call { call(&format!("observe {id}")).returns(json!([remote(id)])) };
    script.begin(ids.iter().map(observation));
    let cloud = Cloud::of(script.clone());
    let batches = cloud.batches.clone();
    (Arc::new(cloud), script, batches)
}

fn link(connections: &Connections, key: &str, external: &Arc<dyn Calls>) -> Link {
    let connected = Connected { external: external.clone(), key: key.into() };
    connections.link(connected, || Vanished::new(100, 1))
}

fn request(id: &str) -> ObserveRequest {
    let identity = Identity { cluster: "cluster".into(), uid: id.into(), owner: format!("Disk/ns/{id}") };
    ObserveRequest {
        identity,
        ids: vec![id.to_owned()],
        search: false,
        deep: false,
        launched: 0,
        is_own_record: false,
        wanted: None,
    }
}

#[tokio::test(start_paused = true)]
async fn resources_of_one_connection_share_a_batch_and_those_of_another_do_not() {
    let connections = Connections::default();
    let (one, its_script, its_batches) = cloud(&["disk-1", "disk-2"]);
    let (other, other_script, other_batches) = cloud(&["disk-3"]);
    let first = link(&connections, "one", &one);
    let second = link(&connections, "one", &one);
    let third = link(&connections, "other", &other);
    let of = |link: &Link| link.batchers.of(Lane::Resync).clone();
    let (first, second, third) = (of(&first), of(&second), of(&third));
    let answers = join3(
        first.observe(request("disk-1")),
        second.observe(request("disk-2")),
        third.observe(request("disk-3")),
    );
    let (first, second, third) = answers.await;
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    for script in [its_script, other_script] {
        script.end();
    }
    let count = |batches: &AtomicUsize| batches.load(Ordering::Relaxed);
    assert_eq!((count(&its_batches), count(&other_batches)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_ends_an_hour_after_its_last_use() {
    let connections = Connections::default();
    let (external, _, _) = cloud(&[]);
    drop(link(&connections, "old", &external));
    let ended = Arc::downgrade(&external);
    drop(external);
    tokio::time::sleep(KEPT.saturating_sub(Duration::from_secs(1))).await;
    connections.expire();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(ended.upgrade().is_some());
    tokio::time::sleep(Duration::from_mins(1)).await;
    connections.expire();
    // The tasks that collect its batches end too: nothing holds the clients and their credentials.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(ended.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_of_any_resource_ends_the_unused_connections() {
    let account = Some(Account::NotReady("no Secret".to_owned()));
    let scene = Setup { account, ..Setup::of(disk()) }.start().await;
    let (external, _, _) = cloud(&[]);
    drop(link(&scene.context.connections, "old", &external));
    let ended = Arc::downgrade(&external);
    drop(external);
    tokio::time::advance(KEPT).await;
    scene.reconcile([call(STATUS), call(EVENT)]).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(ended.upgrade().is_none());
}

/// The problems for which a Disk is rejected that names this account.
async fn rejected(account: &str, has_accounts: bool) -> Vec<String> {
    let rules = Forbidden::because("at most 0");
    let known = Known { rules: Some(Arc::new(rules)), ..Known::default() };
    let kind: SharedKind = Arc::new(Disks::new(has_accounts));
    let admission = Admission::new(kind).with_accounts(Some(Arc::new(known)));
    let subject = Subject {
        operation: Operation::Create,
        group: GROUP.to_owned(),
        kind: "Disk".to_owned(),
        plural: "disks".to_owned(),
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        object: Arc::new(disk().spec("account", json!({"name": account})).json()),
        before: None,
        dry_run: false,
    };
    admission.review(subject).await.problems.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn admission_rejects_what_the_account_forbids() {
    assert_eq!(rejected("shop", true).await, ["spec.size: at most 0"]);
}

#[tokio::test]
async fn admission_rejects_nothing_for_an_account_that_does_not_exist() {
    assert!(rejected("absent", true).await.is_empty());
}

#[tokio::test]
async fn admission_applies_no_rules_to_a_kind_without_accounts() {
    assert!(rejected("shop", false).await.is_empty());
}
