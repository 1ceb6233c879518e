//! The calls to the cloud.

use kraken_spoke::{
    Adopt, Candidate, Comparison, External, Failure, Features, FromContext, Identity, Launch, Location,
    ObserveRequest, Resolver, external::SpecOf,
};
use serde_json::Value;

use super::{
    api::Gadget,
    cloud::{Cloud, RemoteObject},
    desired::{self, Change, Desired},
};

/// Manages gadgets.
#[derive(Debug)]
pub struct Gadgets {
    cloud: Cloud,
}

impl FromContext<Cloud> for Gadgets {
    fn from_context(cloud: &Cloud) -> Self {
        Self { cloud: cloud.clone() }
    }
}

impl External for Gadgets {
    type Kind = Gadget;
    type Desired = Desired;
    type Observed = Vec<RemoteObject>;
    type Change = Change;
    const FEATURES: Features = Features {
        is_idempotent: true,
        secret_field_paths: &[
            ("size", &["gadget.Size"]),
            ("colour", &["gadget.Colour"]),
            ("password", &["gadget.Note"]),
        ],
        ..Features::NONE
    };

    fn desired(spec: &SpecOf<Self>, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn compare(desired: &Desired, observed: &Vec<RemoteObject>) -> Comparison<Change> {
        desired::compare(desired, observed)
    }

    fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        vec![("password", desired::password_shown(desired))]
    }

    fn ids(observed: &Vec<RemoteObject>) -> Vec<String> {
        observed.iter().filter(|object| !object.gone).map(|object| object.id.clone()).collect()
    }

    fn shown(observed: &Vec<RemoteObject>) -> Vec<String> {
        observed.iter().map(|object| object.id.clone()).collect()
    }

    fn select(observed: Vec<RemoteObject>, ids: &[String]) -> (Vec<RemoteObject>, Vec<RemoteObject>) {
        observed.into_iter().partition(|object| ids.contains(&object.id))
    }

    fn untagged(observed: &Vec<RemoteObject>) -> Vec<String> {
        let bare = observed.iter().filter(|object| !object.gone && object.owner.is_empty());
        bare.map(|object| object.id.clone()).collect()
    }

    fn max_objects(desired: &Desired) -> usize {
        desired.count
    }

    fn is_gone(observed: &Vec<RemoteObject>) -> bool {
        observed.iter().all(|object| object.gone)
    }

    fn epoch(observed: &Vec<RemoteObject>) -> i64 {
        observed.iter().map(|object| object.epoch).max().unwrap_or_default()
    }

    fn split(observed: Vec<RemoteObject>, epoch: i64) -> (Vec<RemoteObject>, Vec<RemoteObject>) {
        observed.into_iter().partition(|object| object.epoch < epoch)
    }

    fn state(_: &Desired, observed: &Vec<RemoteObject>) -> Value {
        observed.iter().find(|object| !object.gone).map(desired::state).unwrap_or_default()
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(self.cloud.here())
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Vec<RemoteObject>>, Failure> {
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
                own.filter_map(RemoteObject::read).filter(|shown| is_requested(shown)).collect()
            };
            requests.iter().map(find).collect()
        })
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Vec<RemoteObject>,
    ) -> Result<Vec<RemoteObject>, Failure> {
        let live = observed.iter().filter(|object| !object.gone).count();
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
            ids.into_iter()
                .map(|id| objects.entry(id.clone()).or_insert_with(|| object(id)).clone())
                .collect()
        })
    }

    async fn update(
        &self,
        _: &Identity,
        change: &Change,
        _: &Desired,
        observed: &Vec<RemoteObject>,
    ) -> Result<(), Failure> {
        match change {
            Change::Resize(size) => self.cloud.each("resize", observed, |object| object.size = *size),
            Change::Remove(id) => {
                let surplus: Vec<RemoteObject> =
                    observed.iter().filter(|object| object.id == *id).cloned().collect();
                self.cloud.each("remove", &surplus, |object| object.gone = true)
            }
        }
    }

    async fn delete(&self, _: &Identity, observed: &Vec<RemoteObject>) -> Result<Vec<String>, Failure> {
        self.cloud.each("delete", observed, |object| object.gone = true)?;
        Ok(vec![])
    }

    async fn list_owned(&self, cluster: &str) -> Result<Vec<(Identity, Vec<RemoteObject>)>, Failure> {
        self.cloud.call("list_owned", |objects, _| {
            objects
                .values()
                .filter(|object| !object.owner.is_empty())
                .map(|t| (owner_identity(t, cluster), vec![t.clone()]))
                .collect()
        })
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Vec<RemoteObject>>>, Failure> {
        self.cloud.call("find", |objects, _| {
            let is_meant = |object: &RemoteObject| match wanted {
                Adopt::Id(by) => object.id == by.id,
                Adopt::Tags(by) => by.tags.get("Colour") == Some(&object.colour),
            };
            let candidate = |object: &RemoteObject| Candidate {
                id: object.id.clone(),
                owner: (!object.owner.is_empty()).then(|| owner_identity(object, "the cluster of its owner")),
                created_by: None,
                observed: vec![object.clone()],
            };
            objects.values().filter(|object| is_meant(object)).map(candidate).collect()
        })
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Vec<RemoteObject>) -> Result<(), Failure> {
        self.cloud.each("claim", found, |object| {
            object.owner.clone_from(&identity.uid);
            object.epoch = epoch;
        })
    }

    async fn release(&self, _: &Identity, observed: &Vec<RemoteObject>) -> Result<(), Failure> {
        self.cloud.each("release", observed, |object| object.owner.clear())
    }
}

fn owner_identity(object: &RemoteObject, cluster: &str) -> Identity {
    let owner = format!("the owner of gadget {}", object.id);
    Identity { cluster: cluster.to_owned(), uid: object.owner.clone(), owner }
}
