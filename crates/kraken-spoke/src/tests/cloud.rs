//! The scripted cloud, with one call for each object of a batch, and its accounts.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use kraken_api::{Adopt, Location};
use kraken_kind::{
    Candidate, Failure, Identity, Launch, ObserveRequest,
    account::{Connected, Connection, KnownAccount, KnownAccounts, OnChange, Refusal, Rules},
    dynamic::{Calls, Change, Desired, Observed},
};
use kraken_options::{Problem, RestrictedValue};
use kraken_runtime::watch::ObjectKey;
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::{
    disk::{id, of},
    script::{Reply, Script},
};

/// The scripted cloud.
pub(super) struct Cloud {
    pub script: Script,
    pub location: Option<Location>,
    /// The account of every resource, if the kind has accounts.
    pub account: Option<Account>,
    /// Whether a replaced object may have what its successor needs and can exist only once.
    pub hands_over: bool,
    /// The number of batches that were observed.
    pub batches: Arc<AtomicUsize>,
}

/// An account, as far as a test needs one.
#[derive(Clone, Debug)]
pub(super) enum Account {
    /// It cannot be used, for this reason.
    NotReady(String),
    /// It forbids the spec, for this reason.
    Forbids(Forbidden),
    /// It has other credentials.
    Other(Other),
}

/// The connection of an account with other credentials.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub key: &'static str,
    pub script: Script,
    pub location: Location,
    /// Why the account must not be used there, if so.
    pub location_violation: Option<String>,
}

impl Other {
    /// One of an account and a region.
    pub(super) fn at(key: &'static str, account: &str) -> Self {
        let location = Location { account: account.to_owned(), region: "r".to_owned() };
        Self { key, script: Script::default(), location, location_violation: None }
    }

    fn connect(self) -> Connection {
        let Self { key, script, location, location_violation } = self;
        let external = Cloud { location: Some(location), ..Cloud::of(script) };
        let connected = Some(Connected { external: Arc::new(external) as Arc<dyn Calls>, key: key.into() });
        Connection { connected, rules: Arc::new(Place { location_violation }) }
    }
}

/// Rules about the place only.
#[derive(Debug)]
struct Place {
    location_violation: Option<String>,
}

impl Rules for Place {
    fn location_violation(&self, _: &Location) -> Option<String> {
        self.location_violation.clone()
    }

    fn name(&self) -> &'static str {
        "shop"
    }
}

/// The accounts that the watch shows.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub all: Vec<ObjectKey>,
    /// The rules of the account `shop` of the namespace `ns`.
    pub rules: Option<Arc<dyn Rules>>,
    pub is_required: bool,
}

impl KnownAccounts for Known {
    fn all(&self) -> Vec<ObjectKey> {
        self.all.clone()
    }

    fn known(&self, key: &ObjectKey) -> Option<KnownAccount> {
        let meta = ObjectMeta { name: Some(key.name.to_string()), ..ObjectMeta::default() };
        self.all.contains(key).then(|| KnownAccount { meta, secrets: vec![] })
    }

    fn rules(&self, namespace: &str, account: Option<&str>) -> Option<Arc<dyn Rules>> {
        self.rules.clone().filter(|_| (namespace, account) == ("ns", Some("shop")))
    }

    fn is_required(&self) -> bool {
        self.is_required
    }
}

/// Rules that forbid every spec.
#[derive(Clone, Debug)]
pub(super) struct Forbidden {
    why: String,
}

impl Forbidden {
    pub(super) fn because(why: &str) -> Self {
        Self { why: why.to_owned() }
    }
}

impl Rules for Forbidden {
    fn refused(&self, _: &[RestrictedValue], _: Option<&Adopt>) -> Vec<Problem> {
        vec![Problem::invalid("size", self.why.clone())]
    }

    fn name(&self) -> &'static str {
        "shop"
    }
}

impl Cloud {
    /// One without accounts and places.
    pub(super) fn of(script: Script) -> Self {
        Self { script, location: None, account: None, hands_over: false, batches: Arc::default() }
    }

    fn call(&self, name: &str) -> Result<Value, Failure> {
        match self.script.reply(name, Value::Null) {
            Reply::Accepted => Ok(json!([])),
            Reply::Returned(value) => Ok(value),
            Reply::Failed(failure) => Err(failure),
            Reply::Panicked => panic!("scripted panic"),
            Reply::Rejected(_) | Reply::Terminating => panic!("{name} is not expected"),
        }
    }

    fn act(&self, verb: &str, observed: &Observed) -> Result<(), Failure> {
        self.call(&format!("{verb} {}", observed.shown().join(","))).map(drop)
    }
}

/// The disks of a response.
fn observed(response: Value) -> Observed {
    of(response.as_array().cloned().unwrap_or_default())
}

#[async_trait]
impl Calls for Cloud {
    async fn connect(&self, _: &str, _: Option<&str>) -> Result<Option<Connection>, Refusal> {
        match self.account.clone() {
            None => Ok(None),
            Some(Account::NotReady(why)) => Err(Refusal::NotReady(why)),
            Some(Account::Forbids(rules)) => Ok(Some(Connection { connected: None, rules: Arc::new(rules) })),
            Some(Account::Other(other)) => Ok(Some(other.connect())),
        }
    }

    fn on_account_change(&self, _: OnChange) {}

    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(self.location.clone())
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let one = |request: &ObserveRequest| {
            let by_tag = if request.search { ["by tag".to_owned()].to_vec() } else { vec![] };
            let by = [request.ids.clone(), by_tag].concat().join(",");
            let deeply = if request.deep { " deeply" } else { "" };
            self.call(&format!("observe {by}{deeply}")).map(observed)
        };
        self.batches.fetch_add(1, Ordering::Relaxed);
        requests.iter().map(one).collect()
    }

    async fn create(
        &self,
        _: &Identity,
        launch: &Launch,
        _: &Desired,
        _: &Observed,
    ) -> Result<Observed, Failure> {
        self.call(&format!("create epoch {}", launch.epoch)).map(observed)
    }

    async fn update(&self, _: &Identity, change: &Change, _: &Desired, _: &Observed) -> Result<(), Failure> {
        self.call(&format!("update {}", change.get::<Value>().as_str().unwrap_or_default())).map(drop)
    }

    /// The response is what was taken from the replaced objects, if they had something.
    async fn hand_over(
        &self,
        _: &Identity,
        _: &Desired,
        replaced: &Observed,
    ) -> Result<Option<String>, Failure> {
        if !self.hands_over {
            return Ok(None);
        }
        let taken = self.call(&format!("hand over {}", replaced.shown().join(",")))?;
        Ok(taken.as_str().map(str::to_owned))
    }

    async fn resume(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.act("resume", observed)
    }

    /// The response is the list of the ids that are not found.
    async fn delete(&self, _: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        let unkept = |disk: &Value| disk["archive"] == false;
        let archive = if observed.all().into_iter().any(unkept) { " without archive" } else { "" };
        let unknown = self.call(&format!("delete {}{archive}", observed.shown().join(",")))?;
        Ok(unknown.as_array().into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect())
    }

    async fn unprotect(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.act("unprotect", observed)
    }

    async fn list_owned(&self, _: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        let found = self.call("list_owned")?;
        let owned = |object: &Value| {
            let uid = object["owner"].as_str().unwrap_or_default();
            let name = object["name"].as_str().unwrap_or(uid);
            let identity =
                Identity { cluster: "cluster".into(), uid: uid.into(), owner: format!("Disk/ns/{name}") };
            (identity, of([object.clone()]))
        };
        Ok(found.as_array().into_iter().flatten().map(owned).collect())
    }

    async fn find(&self, _: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let found = self.call("find")?;
        let candidate = |object: &Value| {
            let owner = object["owner"].as_str().map(|uid| Identity {
                cluster: "cluster".into(),
                uid: uid.into(),
                owner: format!("Disk/ns/{uid}"),
            });
            let created_by = object["createdBy"].as_str().map(str::to_owned);
            Candidate { id: id(object), owner, created_by, observed: of([object.clone()]) }
        };
        Ok(found.as_array().into_iter().flatten().map(candidate).collect())
    }

    async fn claim(&self, _: &Identity, _: i64, found: &Observed) -> Result<(), Failure> {
        self.act("claim", found)
    }

    async fn reclaim(
        &self,
        _: &Identity,
        _: i64,
        _: Option<&Desired>,
        bare: &Observed,
    ) -> Result<(), Failure> {
        self.act("reclaim", bare)
    }

    async fn release(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.act("release", observed)
    }

    async fn forget(&self, _: &Identity) -> Result<(), Failure> {
        if self.script.expects("forget") { self.call("forget").map(drop) } else { Ok(()) }
    }

    async fn mark_created(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }
}
