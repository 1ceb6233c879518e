//! The calls to the cloud.

use std::sync::Arc;

use async_trait::async_trait;
use kraken_kind::{
    Adopt, Calls, Candidate, Failure, FromContext, Identity, Kind, Launch, Location, ObserveRequest,
    dynamic::{Change, Desired, Observed},
};

use super::{
    api::Gadget,
    cloud::{Cloud, RemoteObject},
    desired,
    kind::{self, GadgetKind},
};

/// The calls of gadgets.
#[derive(Debug)]
pub struct Gadgets {
    cloud: Cloud,
}

impl FromContext<Cloud> for Gadgets {
    type Resource = Gadget;

    fn kind() -> Arc<dyn Kind> {
        Arc::new(GadgetKind::default())
    }

    fn from_context(cloud: &Cloud) -> Self {
        Self { cloud: cloud.clone() }
    }
}

#[async_trait]
impl Calls for Gadgets {
    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(self.cloud.here())
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        self.cloud.searched(requests.iter().filter(|request| request.search).count());
        let here = self.cloud.here();
        self.cloud.call("describe", |objects, _| {
            let find = |request: &ObserveRequest| {
                let is_requested = |t: &RemoteObject| {
                    let is_known = request.ids.contains(&t.id);
                    let is_own = t.owner == request.identity.uid && (request.search || is_known);
                    t.at == here && (is_own || t.owner.is_empty() && is_known)
                };
                let own = objects.values_mut().filter(|object| is_requested(object));
                let shown = own.filter_map(RemoteObject::read).filter(|shown| is_requested(shown));
                kind::observed(shown)
            };
            requests.iter().map(find).collect()
        })
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        let desired = desired.get::<desired::Desired>();
        let live = observed.ids().len();
        let number = self.cloud.capacity(desired.count.saturating_sub(live));
        let here = self.cloud.here();
        self.cloud.call("create", |objects, tokens| {
            let made = tokens.values().flatten().count();
            let new = || (1..=number).map(|index| format!("g-{}", made + index)).collect();
            let ids = tokens.entry(launch.token.clone()).or_insert_with(new).clone();
            let object = |id: String| RemoteObject {
                id,
                owner: identity.uid.clone(),
                epoch: launch.epoch,
                size: desired.size,
                colour: desired.colour.clone(),
                note: desired.password.as_ref().map(|p| p.expose().clone()).unwrap_or_default(),
                gone: false,
                lag: 0,
                stale: None,
                at: here.clone(),
            };
            let made =
                ids.into_iter().map(|id| objects.entry(id.clone()).or_insert_with(|| object(id)).clone());
            kind::observed(made)
        })
    }

    async fn update(
        &self,
        _: &Identity,
        change: &Change,
        _: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        let observed = observed.all::<RemoteObject>();
        match change.get() {
            desired::Change::Resize(size) => {
                self.cloud.each("resize", &observed, |object| object.size = *size)
            }
            desired::Change::Remove(id) => {
                let surplus: Vec<_> = observed.into_iter().filter(|object| object.id == *id).collect();
                self.cloud.each("remove", &surplus, |object| object.gone = true)
            }
        }
    }

    async fn delete(&self, _: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        self.cloud.each("delete", &observed.all(), |object| object.gone = true)?;
        Ok(vec![])
    }

    async fn list_owned(&self, cluster: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        self.cloud.call("list_owned", |objects, _| {
            objects
                .values()
                .filter(|object| !object.owner.is_empty())
                .map(|t| (owner_identity(t, cluster), kind::observed([t.clone()])))
                .collect()
        })
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        self.cloud.call("find", |objects, _| {
            let is_meant = |object: &RemoteObject| match wanted {
                Adopt::Id(by) => object.id == by.id,
                Adopt::Tags(by) => by.tags.get("Colour") == Some(&object.colour),
            };
            let candidate = |object: &RemoteObject| Candidate {
                id: object.id.clone(),
                owner: (!object.owner.is_empty()).then(|| owner_identity(object, "the cluster of its owner")),
                created_by: None,
                observed: kind::observed([object.clone()]),
            };
            objects.values().filter(|object| is_meant(object)).map(candidate).collect()
        })
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        self.cloud.each("claim", &found.all(), |object| {
            object.owner.clone_from(&identity.uid);
            object.epoch = epoch;
        })
    }

    async fn release(&self, _: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.cloud.each("release", &observed.all(), |object| object.owner.clear())
    }
}

fn owner_identity(object: &RemoteObject, cluster: &str) -> Identity {
    let owner = format!("the owner of gadget {}", object.id);
    Identity { cluster: cluster.to_owned(), uid: object.owner.clone(), owner }
}
