//! ConfigExports that cannot be decoded: their status reports it, and they are not reconciled.

use kraken_runtime::hash::HashMap;

use jiff::Timestamp;
use kraken_api::{
    ConfigExport,
    conditions::{self, READY, State},
    reasons::ExportReason as Reason,
};
use kraken_runtime::{
    patch::{ApiError, apply_status},
    watch::ObjectKey,
};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, ObjectMeta},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The objects that cannot be decoded, and whether their status reports it.
#[derive(Debug, Default)]
pub(crate) struct Undecodable {
    of: Mutex<HashMap<ObjectKey, Broken>>,
}

/// An object that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    uid: Option<String>,
    generation: Option<i64>,
    error: String,
    reported: bool,
}

impl Undecodable {
    /// Records an object that cannot be decoded.
    pub(crate) fn note(&self, key: ObjectKey, meta: &ObjectMeta, error: &str) {
        let (uid, generation) = (meta.uid.clone(), meta.generation);
        let mut of = self.of.lock();
        // Our own status write causes such an event too.
        let is_known = of.get(&key).is_some_and(|known| {
            (&known.uid, known.generation, known.error.as_str()) == (&uid, generation, error)
        });
        if !is_known {
            of.insert(key, Broken { uid, generation, error: error.to_owned(), reported: false });
        }
    }

    /// Removes an object that can be decoded again, or was deleted.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.of.lock().remove(key);
    }

    /// The object with this name, if it cannot be decoded.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Broken> {
        self.of.lock().get(key).cloned()
    }

    /// Reports in the status of an object that it cannot be decoded, once.
    ///
    /// # Errors
    /// If the status cannot be written.
    pub(crate) async fn report(
        &self,
        client: Client,
        manager: &str,
        key: &ObjectKey,
        broken: &Broken,
    ) -> Result<(), ApiError> {
        if broken.reported {
            return Ok(());
        }
        let resource = ApiResource::erase::<ConfigExport>(&());
        let api: Api<DynamicObject> = Api::namespaced_with(client, &key.namespace, &resource);
        let object = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": &*key.name, "uid": broken.uid},
            "status": status(broken, kraken_runtime::clock::now()),
        });
        match apply_status(&api, manager, &key.name, &object).await {
            Err(error) if error.is_not_found() => self.forget(key),
            Err(error) => return Err(error),
            Ok(_) => {
                if let Some(known) = self.of.lock().get_mut(key).filter(|known| *known == broken) {
                    known.reported = true;
                }
            }
        }
        Ok(())
    }
}

fn status(broken: &Broken, now: Timestamp) -> Value {
    let mut list = vec![];
    let kind = ConfigExport::kind(&());
    let message = format!("this object cannot be read as {kind}: {}", broken.error);
    let reason = Reason::InvalidSpec.as_str();
    conditions::set(&mut list, READY, State::False, reason, &message, broken.generation, now);
    json!({"conditions": list, "observedGeneration": broken.generation})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("ns", "e")
    }

    fn meta(generation: i64) -> ObjectMeta {
        ObjectMeta { uid: Some("u".into()), generation: Some(generation), ..ObjectMeta::default() }
    }

    #[test]
    fn an_object_is_reported_once_for_each_error() {
        let undecodable = Undecodable::default();
        undecodable.note(key(), &meta(1), "missing field");
        undecodable.of.lock().get_mut(&key()).unwrap().reported = true;
        undecodable.note(key(), &meta(1), "missing field");
        assert!(undecodable.get(&key()).unwrap().reported, "the event of our own status write");
        undecodable.note(key(), &meta(2), "missing field");
        assert!(!undecodable.get(&key()).unwrap().reported, "edited, and still invalid");
        undecodable.forget(&key());
        assert_eq!(undecodable.get(&key()), None);
    }

    #[test]
    fn the_condition_contains_the_decoding_error() {
        undecodable_status("missing field `entries`");
    }

    fn undecodable_status(error: &str) {
        let broken = Broken { uid: None, generation: Some(3), error: error.into(), reported: false };
        let status = status(&broken, Timestamp::UNIX_EPOCH);
        assert_eq!(status["observedGeneration"], 3);
        assert_eq!(status["conditions"][0]["reason"], "InvalidSpec");
        let message = status["conditions"][0]["message"].as_str().unwrap();
        assert_eq!(message, format!("this object cannot be read as ConfigExport: {error}"));
    }
}
