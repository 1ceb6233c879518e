//! The provider of widgets: objects that nobody can search for, and the journal of the kind, which survives the controller.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use kraken_kind::{
    Adopt, Candidate, Failure, FailureClass, Fate, Identity, Launch, ObserveRequest,
    dynamic::{Calls, Change, Desired, Observed},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::observed;

/// What the kind wrote about the last creation of a resource.
#[derive(Clone, Debug)]
struct Entry {
    epoch: i64,
    /// The response; none while it is awaited.
    id: Option<String>,
}

#[derive(Debug, Default)]
struct Inside {
    objects: BTreeMap<String, Value>,
    journal: BTreeMap<String, Entry>,
    /// How long a call takes.
    delay: Duration,
    calls: Vec<&'static str>,
    created: usize,
}

/// The provider. Clones are handles of the same one.
#[derive(Clone, Debug, Default)]
pub struct Provider(Arc<Mutex<Inside>>);

impl Provider {
    /// How long each call takes from now on. A new object exists after half of that.
    pub fn takes(&self, delay: Duration) {
        self.0.lock().delay = delay;
    }

    /// The objects, by id.
    pub fn objects(&self) -> BTreeMap<String, Value> {
        self.0.lock().objects.clone()
    }

    /// Changes an object out of band.
    pub fn tamper(&self, id: &str, field: &str, value: Value) {
        if let Some(object) = self.0.lock().objects.get_mut(id) {
            object[field] = value;
        }
    }

    /// The number of calls of this name.
    pub fn calls(&self, name: &str) -> usize {
        self.0.lock().calls.iter().filter(|call| **call == name).count()
    }

    /// The number of creations whose response the journal has.
    pub fn answered(&self) -> usize {
        self.0.lock().journal.values().filter(|entry| entry.id.is_some()).count()
    }

    fn called(&self, name: &'static str) -> Duration {
        let mut inside = self.0.lock();
        inside.calls.push(name);
        inside.delay
    }

    /// What exists of a resource, according to the journal or to its ids.
    fn observed(&self, request: &ObserveRequest) -> Observed {
        let inside = self.0.lock();
        let entry = inside.journal.get(&request.identity.uid);
        let unknown = |why: &str| Fate::Unknown(why.to_owned());
        let fate = match entry {
            Some(Entry { id: None, .. }) => unknown("the controller ended while it created a widget"),
            None if request.launched > 0 && request.ids.is_empty() => {
                unknown("the journal of the creation is lost")
            }
            _ => Fate::Known,
        };
        let id = entry.and_then(|entry| entry.id.as_ref()).or(request.ids.first());
        let object = id.and_then(|id| Some((id, inside.objects.get(id)?)));
        let epoch = entry.map_or(request.launched, |entry| entry.epoch);
        let shown = object.map(
            |(id, object)| json!({"id": id, "epoch": epoch, "size": object["size"], "note": object["note"]}),
        );
        observed(shown).with_fate(fate)
    }

    fn enter(&self, uid: &str, entry: Entry) {
        self.0.lock().journal.insert(uid.to_owned(), entry);
    }
}

#[async_trait]
impl Calls for Provider {
    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        Ok(requests.iter().map(|request| self.observed(request)).collect())
    }

    /// Adds the fields that the provider would change.
    async fn examine(
        &self,
        _: &Identity,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        let desired = desired.get::<Value>();
        Ok(observed.map(|object: &Value| {
            let mut object = object.clone();
            let plan: Vec<&str> =
                ["size", "note"].into_iter().filter(|field| object[field] != desired[field]).collect();
            object["plan"] = json!(plan);
            object
        }))
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        _: &Observed,
    ) -> Result<Observed, Failure> {
        let delay = self.called("create");
        self.enter(&identity.uid, Entry { epoch: launch.epoch, id: None });
        tokio::time::sleep(delay / 2).await;
        let id = {
            let mut inside = self.0.lock();
            inside.created += 1;
            let id = format!("w-{}", inside.created);
            inside.objects.insert(id.clone(), desired.get::<Value>().clone());
            id
        };
        tokio::time::sleep(delay / 2).await;
        self.enter(&identity.uid, Entry { epoch: launch.epoch, id: Some(id.clone()) });
        Ok(observed([json!({"id": id, "epoch": launch.epoch})]))
    }

    async fn update(
        &self,
        _: &Identity,
        change: &Change,
        _: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        tokio::time::sleep(self.called("update")).await;
        let mut inside = self.0.lock();
        for id in observed.ids() {
            let Some(object) = inside.objects.get_mut(&id) else { continue };
            for (field, value) in change.get::<Value>().as_object().into_iter().flatten() {
                object[field] = value.clone();
            }
        }
        Ok(())
    }

    async fn delete(&self, _: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        tokio::time::sleep(self.called("delete")).await;
        let mut inside = self.0.lock();
        for id in observed.ids() {
            inside.objects.remove(&id);
        }
        Ok(vec![])
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let Adopt::Id(wanted) = wanted else {
            return Err(Failure {
                class: FailureClass::Terminal,
                action: "failed to find a widget".to_owned(),
                code: "NoTags".to_owned(),
                message: "widgets have no tags: set lifecycle.adopt.id".to_owned(),
            });
        };
        let found = self.0.lock().objects.get(&wanted.id).cloned();
        let found = found.map(|object| {
            let shown = json!({"id": wanted.id, "epoch": 0, "size": object["size"], "note": object["note"]});
            let observed = observed([shown]);
            Candidate { id: wanted.id.clone(), owner: None, created_by: None, observed }
        });
        Ok(found.into_iter().collect())
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        self.called("claim");
        self.enter(&identity.uid, Entry { epoch, id: found.ids().into_iter().next() });
        Ok(())
    }

    async fn release(&self, identity: &Identity, _: &Observed) -> Result<(), Failure> {
        self.0.lock().journal.remove(&identity.uid);
        Ok(())
    }
}
