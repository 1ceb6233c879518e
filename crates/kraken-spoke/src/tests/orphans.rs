//! The orphan sweep, in the controller's own account and in those of accounts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kraken_api::Location;
use kraken_kind::{FailureClass, account::KnownAccounts};
use kraken_runtime::{Manager, watch::ObjectKey};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    cloud::{Account, Cloud, Known, Other},
    disk::Disks,
    fixtures::{disk, remote, with},
    scene::run_args,
    script::{Call, Script, call},
    server::{self, Stored},
};
use crate::{OrphanArgs, orphans::Sweeper};

/// A sweeper in a cluster with the Disk `u-1`, and the scripts of its connections.
struct Sweeps {
    /// The reads of single resources.
    kube: Script,
    own: Script,
    other: Script,
    sweeper: Sweeper,
    /// The resources that were passed on with the epochs of their objects.
    owned: Arc<Mutex<Vec<(ObjectKey, String, i64)>>>,
}

/// Without an account, or with one that this connection belongs to.
fn sweeps(other: Option<Other>, is_required: bool) -> Sweeps {
    sweeps_of(other, is_required, vec![disk().json()])
}

/// The same with these Disks in the cluster.
fn sweeps_of(other: Option<Other>, is_required: bool, disks: Vec<Value>) -> Sweeps {
    let stored = Stored::new(disk().json());
    let kube = Script::default();
    let client = server::client(&kube, &stored, vec![("disks", disks)]);
    let manager = Manager::detached("kraken-test", client, run_args(), "cluster".to_owned());
    let (own, script) = (Script::default(), other.as_ref().map(|other| other.script.clone()));
    let all = other.iter().map(|_| ObjectKey::new("ns", "shop")).collect();
    let accounts: Arc<dyn KnownAccounts> = Arc::new(Known { all, is_required, ..Known::default() });
    let location = Some(Location { account: "own".to_owned(), region: "r".to_owned() });
    let owned = Arc::<Mutex<Vec<_>>>::default();
    let cloud = Cloud { location, account: other.map(Account::Other), ..Cloud::of(own.clone()) };
    let sweeper = Sweeper {
        manager,
        args: OrphanArgs { remove_orphans: true, ..OrphanArgs::default() },
        kind: Arc::new(Disks::new(true)),
        own: Arc::new(cloud),
        accounts: Some(accounts),
        first_after: Duration::ZERO,
        former: Arc::default(),
        on_owned: Box::new({
            let owned = owned.clone();
            move |key, uid, epoch| owned.lock().push((key.clone(), uid.to_owned(), epoch))
        }),
        before: BTreeMap::new(),
    };
    Sweeps { kube, own, other: script.unwrap_or_default(), sweeper, owned }
}

impl Sweeps {
    /// One sweep, in which exactly these calls are made with the controller's own credentials and with those of the account.
    /// Before each deletion, the owner does not exist.
    async fn sweep(&mut self, own: Vec<Call>, other: Vec<Call>) {
        let deleted = own.iter().chain(&other).filter_map(|call| call.name.strip_prefix("delete "));
        let owners =
            deleted.map(|id| call(&format!("GET disks/{}", id.replace("disk-", "u-"))).rejected(404));
        self.kube.begin(owners.collect::<Vec<_>>());
        self.own.begin(own);
        self.other.begin(other);
        self.sweeper.sweep().await.unwrap();
        self.own.end();
        self.other.end();
        self.kube.end();
    }

    /// The count of orphans in the metrics.
    fn count(&self) -> String {
        let metrics = self.sweeper.manager.metrics.encode();
        let line = metrics.lines().find_map(|line| line.strip_prefix("kraken_orphans{kind=\"Disk\"} "));
        line.unwrap_or("none").to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn owners_beyond_the_first_page_are_owners() {
    let disk_of = |number: usize| {
        let disk = with(disk().json(), "metadata", json!({"namespace": "ns", "name": format!("d{number}")}));
        let mut disk = disk;
        disk["metadata"]["uid"] = json!(format!("u-{number}"));
        disk
    };
    let mut sweeps = sweeps_of(None, false, (0..2500).map(disk_of).collect());
    let owned = [owned("disk-1", "u-0"), owned("disk-2", "u-1000"), owned("disk-3", "u-2499")];
    for _ in 0..2 {
        sweeps.sweep(vec![list_owned(&owned)], vec![]).await;
    }
    assert_eq!(sweeps.count(), "0", "none is an orphan");
}

/// An object that carries the tags of a resource with this UID.
fn owned(id: &str, uid: &str) -> Value {
    with(remote(id), "owner", json!(uid))
}

fn list_owned(objects: &[Value]) -> Call {
    call("list_owned").returns(json!(objects))
}

#[tokio::test(start_paused = true)]
async fn an_orphan_in_the_account_of_an_account_is_deleted_by_the_second_sweep() {
    let mut sweeps = sweeps(Some(Other::at("key", "shop")), false);
    let objects = [owned("disk-1", "u-1"), owned("disk-9", "u-9")];
    sweeps.sweep(vec![list_owned(&[])], vec![list_owned(&objects)]).await;
    assert_eq!(sweeps.count(), "1");
    sweeps.sweep(vec![list_owned(&[])], vec![list_owned(&objects), call("delete disk-9")]).await;
    sweeps.sweep(vec![list_owned(&[])], vec![list_owned(&objects[..1])]).await;
    assert_eq!(sweeps.count(), "0");
}

#[tokio::test(start_paused = true)]
async fn a_failure_with_the_credentials_of_an_account_does_not_stop_the_others() {
    let mut sweeps = sweeps(Some(Other::at("key", "shop")), false);
    let (own, other) = ([owned("disk-8", "u-8")], [owned("disk-9", "u-9")]);
    sweeps.sweep(vec![list_owned(&own)], vec![list_owned(&other)]).await;
    let throttled = call("list_owned").fails(FailureClass::Throttled);
    sweeps.sweep(vec![list_owned(&own), call("delete disk-8")], vec![throttled]).await;
    assert_eq!(sweeps.count(), "2", "what was found before the failure still counts");
    sweeps.sweep(vec![list_owned(&[])], vec![list_owned(&other), call("delete disk-9")]).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_listed_in_an_account_that_must_not_be_used() {
    let location_violation = Some("not in allowedAccountIDs".to_owned());
    let mut sweeps = sweeps(Some(Other { location_violation, ..Other::at("key", "shop") }), false);
    sweeps.sweep(vec![list_owned(&[])], vec![]).await;
}

#[tokio::test(start_paused = true)]
async fn where_an_account_is_required_nothing_is_listed_with_the_controllers_credentials() {
    let mut with_one = sweeps(Some(Other::at("key", "shop")), true);
    with_one.sweep(vec![], vec![list_owned(&[])]).await;
    let mut without = sweeps(None, true);
    without.sweep(vec![], vec![]).await;
    let mut optional = sweeps(None, false);
    optional.sweep(vec![list_owned(&[])], vec![]).await;
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_two_credentials_can_see_is_deleted_once() {
    let mut sweeps = sweeps(Some(Other::at("key", "own")), false);
    let objects = [owned("disk-9", "u-9")];
    sweeps.sweep(vec![list_owned(&objects)], vec![list_owned(&objects)]).await;
    assert_eq!(sweeps.count(), "1");
    sweeps.sweep(vec![list_owned(&objects), call("delete disk-9")], vec![list_owned(&objects)]).await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_one_owner_in_two_accounts_are_deleted_in_both() {
    let mut sweeps = sweeps(Some(Other::at("key", "shop")), false);
    let (own, other) = ([owned("disk-9", "u-9")], [owned("disk-9", "u-9")]);
    sweeps.sweep(vec![list_owned(&own)], vec![list_owned(&other)]).await;
    let own = vec![list_owned(&own), call("delete disk-9")];
    sweeps.sweep(own, vec![list_owned(&other), call("delete disk-9")]).await;
}

#[tokio::test(start_paused = true)]
async fn live_objects_of_existing_resources_are_passed_on_with_their_epochs() {
    let mut sweeps = sweeps(None, false);
    let deleted = with(with(owned("disk-3", "u-1"), "epoch", json!(3)), "state", json!("deleted"));
    let objects = [owned("disk-1", "u-1"), with(owned("disk-2", "u-1"), "epoch", json!(2)), deleted];
    sweeps.sweep(vec![list_owned(&objects)], vec![]).await;
    let of = |epoch| (ObjectKey::new("ns", "a"), "u-1".to_owned(), epoch);
    assert_eq!(*sweeps.owned.lock(), [of(1), of(2)]);
}

#[tokio::test(start_paused = true)]
async fn objects_of_an_owner_that_was_applied_again_during_the_sweep_are_kept() {
    let mut sweeps = sweeps(None, false);
    let objects = [owned("disk-9", "u-9")];
    sweeps.sweep(vec![list_owned(&objects)], vec![]).await;
    let again = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": {"name": "u-9", "namespace": "ns", "uid": "another"}});
    sweeps.own.begin(vec![list_owned(&objects)]);
    sweeps.kube.begin(vec![call("GET disks/u-9").returns(again)]);
    sweeps.sweeper.sweep().await.unwrap();
    sweeps.own.end();
    sweeps.kube.end();
}
