//! What exists at the service of the simulated provider.

use std::collections::BTreeMap;

use kraken_tfplugin::Value;
use parking_lot::Mutex;

use crate::provider_types::{ADDRESS, DESCRIPTION, ID, NAME};

/// The service: its objects, by id.
#[derive(Debug, Default)]
pub struct World(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    created: usize,
    objects: BTreeMap<String, Remote>,
}

/// An object of the service.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Its resource type.
    pub type_name: String,
    /// All its attributes.
    pub attributes: Value,
}

impl Remote {
    /// A text among its attributes; empty if there is none.
    pub fn text(&self, attribute: &str) -> &str {
        self.attributes.attribute(attribute).as_str().unwrap_or_default()
    }
}

impl World {
    /// All objects, by id.
    pub fn objects(&self) -> BTreeMap<String, Remote> {
        self.0.lock().objects.clone()
    }

    /// The objects of this type with this name.
    pub fn named(&self, type_name: &str, name: &str) -> Vec<Remote> {
        let is_it = |remote: &&Remote| remote.type_name == type_name && remote.text(NAME) == name;
        self.0.lock().objects.values().filter(is_it).cloned().collect()
    }

    pub(super) fn get(&self, id: &str) -> Option<Remote> {
        self.0.lock().objects.get(id).cloned()
    }

    /// The object of this type with this description.
    pub(super) fn described(&self, type_name: &str, description: &str) -> Option<Remote> {
        let is_it =
            |remote: &&Remote| remote.type_name == type_name && remote.text(DESCRIPTION) == description;
        self.0.lock().objects.values().find(is_it).cloned()
    }

    /// Creates an object, with an id that no other one had.
    pub(super) fn create(&self, type_name: &str, planned: &Value) -> Remote {
        let mut state = self.0.lock();
        state.created += 1;
        let id = format!("o-{:04}", state.created);
        let mut attributes = planned.clone();
        set(&mut attributes, ID, &id);
        set(&mut attributes, ADDRESS, &format!("10.0.0.{}", state.created));
        let remote = Remote { type_name: type_name.to_owned(), attributes };
        state.objects.insert(id, remote.clone());
        remote
    }

    /// Changes an object; `None` if there is none.
    pub(super) fn update(&self, id: &str, planned: &Value) -> Option<Remote> {
        let mut state = self.0.lock();
        let remote = state.objects.get_mut(id)?;
        remote.attributes = planned.clone();
        Some(remote.clone())
    }

    /// Deletes an object, also one that does not exist.
    pub(crate) fn delete(&self, id: &str) -> bool {
        self.0.lock().objects.remove(id).is_some()
    }

    /// Sets an attribute out of band.
    pub(crate) fn tamper(&self, id: &str, attribute: &str, text: &str) -> bool {
        let mut state = self.0.lock();
        let remote = state.objects.get_mut(id);
        remote.map(|remote| set(&mut remote.attributes, attribute, text)).is_some()
    }
}

fn set(value: &mut Value, attribute: &str, text: &str) {
    if let Value::Object(attributes) = value {
        attributes.insert(attribute.to_owned(), Value::String(text.to_owned()));
    }
}
