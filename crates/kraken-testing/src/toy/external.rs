//! The calls to the cloud.

use kraken_spoke::{
    Comparison, External, Failure, FromContext, Identity, Launch, Look, Resolver, external::SpecOf,
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
    type Observed = Option<Thing>;
    type Change = Change;

    fn desired(spec: &SpecOf<Self>, values: &mut Resolver<'_>) -> Option<Desired> {
        plan::desired(spec, values)
    }

    fn compare(desired: &Desired, observed: &Option<Thing>) -> Comparison<Change> {
        plan::compare(desired, observed.as_ref())
    }

    fn ids(observed: &Option<Thing>) -> Vec<String> {
        observed.iter().filter(|thing| !thing.gone).map(|thing| thing.id.clone()).collect()
    }

    fn is_gone(observed: &Option<Thing>) -> bool {
        observed.as_ref().is_none_or(|thing| thing.gone)
    }

    fn epoch(observed: &Option<Thing>) -> i64 {
        observed.as_ref().map_or(0, |thing| thing.epoch)
    }

    fn state(_: &Desired, observed: &Option<Thing>) -> Value {
        observed.as_ref().map(plan::state).unwrap_or_default()
    }

    async fn observe(&self, looks: &[Look]) -> Result<Vec<Option<Thing>>, Failure> {
        self.cloud.call("describe", |things, _| {
            let find = |look: &Look| {
                let mut mine: Vec<&mut Thing> = things
                    .values_mut()
                    .filter(|t| t.owner == look.identity.uid && (look.search || look.ids.contains(&t.id)))
                    .collect();
                mine.sort_by_key(|thing| thing.epoch);
                let thing = mine.pop()?;
                if thing.lag > 0 {
                    thing.lag -= 1;
                    return None;
                }
                Some(thing.clone())
            };
            looks.iter().map(find).collect()
        })
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        _: &Option<Thing>,
    ) -> Result<Option<Thing>, Failure> {
        self.cloud.call("create", |things, tokens| {
            let id = tokens
                .entry(launch.token.clone())
                .or_insert_with(|| format!("g-{}", things.len() + 1))
                .clone();
            let thing = things.entry(id.clone()).or_insert_with(|| Thing {
                id,
                owner: identity.uid.clone(),
                epoch: launch.epoch,
                size: desired.size,
                colour: desired.colour.clone(),
                note: desired.password.as_ref().map(|p| p.expose().clone()).unwrap_or_default(),
                gone: false,
                lag: 0,
            });
            Some(thing.clone())
        })
    }

    async fn update(
        &self,
        _: &Identity,
        change: &Change,
        _: &Desired,
        observed: &Option<Thing>,
    ) -> Result<(), Failure> {
        let Change::Resize(size) = change;
        self.cloud.call("resize", |things, _| {
            if let Some(thing) = observed.as_ref().and_then(|seen| things.get_mut(&seen.id)) {
                thing.size = *size;
            }
        })
    }

    async fn delete(&self, _: &Identity, observed: &Option<Thing>) -> Result<(), Failure> {
        self.cloud.call("delete", |things, _| {
            if let Some(thing) = observed.as_ref().and_then(|seen| things.get_mut(&seen.id)) {
                thing.gone = true;
            }
        })
    }

    async fn release(&self, _: &Identity, observed: &Option<Thing>) -> Result<(), Failure> {
        self.cloud.call("release", |things, _| {
            if let Some(thing) = observed.as_ref().and_then(|seen| things.get_mut(&seen.id)) {
                thing.owner.clear();
            }
        })
    }
}
