//! The calls to the cloud.

use kraken_spoke::{
    Adopt, Candidate, Comparison, External, Failure, FromContext, Identity, Launch, Location, ObserveRequest,
    Resolver, external::SpecOf,
};
use serde_json::Value;

use super::{
    api::Gadget,
    cloud::{Cloud, Thing},
    plan::{self, Change, Desired},
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
    type Observed = Vec<Thing>;
    type Change = Change;
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] =
        &[("size", &["gadget.Size"]), ("colour", &["gadget.Colour"]), ("password", &["gadget.Note"])];

    fn desired(spec: &SpecOf<Self>, values: &mut Resolver<'_>) -> Option<Desired> {
        plan::desired(spec, values)
    }

    fn compare(desired: &Desired, observed: &Vec<Thing>) -> Comparison<Change> {
        plan::compare(desired, observed)
    }

    fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        vec![("password", plan::password_shown(desired))]
    }

    fn ids(observed: &Vec<Thing>) -> Vec<String> {
        observed.iter().filter(|thing| !thing.gone).map(|thing| thing.id.clone()).collect()
    }

    fn shown(observed: &Vec<Thing>) -> Vec<String> {
        observed.iter().map(|thing| thing.id.clone()).collect()
    }

    fn select(observed: Vec<Thing>, ids: &[String]) -> (Vec<Thing>, Vec<Thing>) {
        observed.into_iter().partition(|thing| ids.contains(&thing.id))
    }

    fn untagged(observed: &Vec<Thing>) -> Vec<String> {
        let bare = observed.iter().filter(|thing| !thing.gone && thing.owner.is_empty());
        bare.map(|thing| thing.id.clone()).collect()
    }

    fn max_objects(desired: &Desired) -> usize {
        desired.count
    }

    fn is_gone(observed: &Vec<Thing>) -> bool {
        observed.iter().all(|thing| thing.gone)
    }

    fn epoch(observed: &Vec<Thing>) -> i64 {
        observed.iter().map(|thing| thing.epoch).max().unwrap_or_default()
    }

    fn split(observed: Vec<Thing>, epoch: i64) -> (Vec<Thing>, Vec<Thing>) {
        observed.into_iter().partition(|thing| thing.epoch < epoch)
    }

    fn state(_: &Desired, observed: &Vec<Thing>) -> Value {
        observed.iter().find(|thing| !thing.gone).map(plan::state).unwrap_or_default()
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(self.cloud.here())
    }

    async fn observe(&self, looks: &[ObserveRequest]) -> Result<Vec<Vec<Thing>>, Failure> {
        self.cloud.searched(looks.iter().filter(|look| look.search).count());
        let here = self.cloud.here();
        self.cloud.call("describe", |things, _| {
            let find = |look: &ObserveRequest| {
                let is_asked = |t: &Thing| {
                    let is_known = look.ids.contains(&t.id);
                    let is_own = t.owner == look.identity.uid && (look.search || is_known);
                    t.at == here && (is_own || t.owner.is_empty() && is_known)
                };
                let own = things.values_mut().filter(|thing| is_asked(thing));
                own.filter_map(Thing::read).filter(|shown| is_asked(shown)).collect()
            };
            looks.iter().map(find).collect()
        })
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Vec<Thing>,
    ) -> Result<Vec<Thing>, Failure> {
        let live = observed.iter().filter(|thing| !thing.gone).count();
        let number = self.cloud.capacity(desired.count.saturating_sub(live));
        let here = self.cloud.here();
        self.cloud.call("create", |things, tokens| {
            let made = tokens.values().flatten().count();
            let new = || (1..=number).map(|index| format!("g-{}", made + index)).collect();
            let ids = tokens.entry(launch.token.clone()).or_insert_with(new).clone();
            let thing = |id: String| Thing {
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
            ids.into_iter().map(|id| things.entry(id.clone()).or_insert_with(|| thing(id)).clone()).collect()
        })
    }

    async fn update(
        &self,
        _: &Identity,
        change: &Change,
        _: &Desired,
        observed: &Vec<Thing>,
    ) -> Result<(), Failure> {
        match change {
            Change::Resize(size) => self.cloud.each("resize", observed, |thing| thing.size = *size),
            Change::Remove(id) => {
                let surplus: Vec<Thing> = observed.iter().filter(|thing| thing.id == *id).cloned().collect();
                self.cloud.each("remove", &surplus, |thing| thing.gone = true)
            }
        }
    }

    async fn delete(&self, _: &Identity, observed: &Vec<Thing>) -> Result<(), Failure> {
        self.cloud.each("delete", observed, |thing| thing.gone = true)
    }

    async fn survey(&self, cluster: &str) -> Result<Vec<(Identity, Vec<Thing>)>, Failure> {
        self.cloud.call("survey", |things, _| {
            things
                .values()
                .filter(|thing| !thing.owner.is_empty())
                .map(|t| (whose(t, cluster), vec![t.clone()]))
                .collect()
        })
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Vec<Thing>>>, Failure> {
        self.cloud.call("find", |things, _| {
            let is_meant = |thing: &Thing| match wanted {
                Adopt::Id(by) => thing.id == by.id,
                Adopt::Tags(by) => by.tags.get("Colour") == Some(&thing.colour),
            };
            let candidate = |thing: &Thing| Candidate {
                id: thing.id.clone(),
                owner: (!thing.owner.is_empty()).then(|| whose(thing, "the cluster of its owner")),
                observed: vec![thing.clone()],
            };
            things.values().filter(|thing| is_meant(thing)).map(candidate).collect()
        })
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Vec<Thing>) -> Result<(), Failure> {
        self.cloud.each("claim", found, |thing| {
            thing.owner.clone_from(&identity.uid);
            thing.epoch = epoch;
        })
    }

    async fn release(&self, _: &Identity, observed: &Vec<Thing>) -> Result<(), Failure> {
        self.cloud.each("release", observed, |thing| thing.owner.clear())
    }
}

fn whose(thing: &Thing, cluster: &str) -> Identity {
    let owner = format!("the owner of gadget {}", thing.id);
    Identity { cluster: cluster.to_owned(), uid: thing.owner.clone(), owner }
}
