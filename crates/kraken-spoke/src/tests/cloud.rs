//! The scripted cloud, with one call for each object of a batch, and its accounts.

use std::sync::Arc;

use async_trait::async_trait;
use kraken_api::{Adopt, Location};
use kraken_options::{Governed, Problem, ProblemKind, Taken};
use serde_json::{Value, json};

use super::{
    disk::{id, objects, of},
    script::{Reply, Script},
};
use crate::{
    Candidate, Failure, Identity, Launch, ObserveRequest,
    account::{Connection, OnChange, Refusal, Rules},
    dynamic::{Change, Desired, DynExternal, Observed},
};

/// The scripted cloud.
pub(super) struct Cloud {
    pub script: Script,
    pub location: Option<Location>,
    /// The account of every resource, if the kind has accounts.
    pub account: Option<Account>,
}

/// An account, as far as a test needs one.
#[derive(Clone, Debug)]
pub(super) enum Account {
    /// It cannot be used, for this reason.
    NotReady(String),
    /// It forbids the spec, for this reason.
    Forbids(Forbidden),
}

/// Rules that forbid every spec.
#[derive(Clone, Debug)]
pub(super) struct Forbidden {
    governed: Governed,
    why: String,
}

impl Forbidden {
    pub(super) fn because(why: &str) -> Self {
        Self { governed: Governed::default(), why: why.to_owned() }
    }
}

impl Rules for Forbidden {
    fn governed(&self) -> &Governed {
        &self.governed
    }

    fn digest(&self) -> &'static str {
        ""
    }

    fn refused(&self, _: &[Taken], _: Option<&Adopt>) -> Vec<Problem> {
        vec![Problem { field: "size".into(), kind: ProblemKind::Invalid, message: self.why.clone() }]
    }

    fn misplaced(&self, _: &Location) -> Option<String> {
        None
    }

    fn name(&self) -> &'static str {
        "shop"
    }
}

impl Cloud {
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
        let ids: Vec<String> = objects(observed).iter().map(id).collect();
        self.call(&format!("{verb} {}", ids.join(","))).map(drop)
    }
}

#[async_trait]
impl DynExternal for Cloud {
    async fn connect(
        &self,
        _: &str,
        _: Option<&str>,
    ) -> Result<Option<Connection<Arc<dyn DynExternal>>>, Refusal> {
        match self.account.clone() {
            None => Ok(None),
            Some(Account::NotReady(why)) => Err(Refusal::NotReady(why)),
            Some(Account::Forbids(rules)) => Ok(Some(Connection { connected: None, rules: Arc::new(rules) })),
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
            self.call(&format!("observe {by}")).map(Observed::new)
        };
        requests.iter().map(one).collect()
    }

    async fn create(
        &self,
        _: &Identity,
        launch: &Launch,
        _: &Desired,
        _: &Observed,
    ) -> Result<Observed, Failure> {
        self.call(&format!("create epoch {}", launch.epoch)).map(Observed::new)
    }

    async fn update(&self, _: &Identity, change: &Change, _: &Desired, _: &Observed) -> Result<(), Failure> {
        self.call(&format!("update {}", change.get::<Value>().as_str().unwrap_or_default())).map(drop)
    }

    async fn resume(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.act("resume", observed)
    }

    async fn delete(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.act("delete", observed)
    }

    async fn unprotect(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.act("unprotect", observed)
    }

    async fn survey(&self, _: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        Ok(vec![])
    }

    async fn find(&self, _: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let found = self.call("find")?;
        let candidate = |object: &Value| {
            let owner = object["owner"].as_str().map(|uid| Identity {
                cluster: "cluster".into(),
                uid: uid.into(),
                owner: format!("Disk/ns/{uid}"),
            });
            Candidate { id: id(object), owner, observed: of(vec![object.clone()]) }
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
}
