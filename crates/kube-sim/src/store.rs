//! The objects and their history, like etcd.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, OnceLock},
};

use hyper::body::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{fields::Managed, request::Form};

/// Namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub namespace: String,
    pub name: String,
}

/// One version of an object.
#[derive(Debug)]
pub(super) struct Object {
    /// Without `managedFields`.
    pub value: Arc<Value>,
    /// The field ownership.
    pub managed: Arc<Managed>,
    /// Whether what is stored is not what every reader sees (it lacks defaults, or has empty metadata), so that a write
    /// without a change is a write.
    pub lacks_defaults: bool,
    /// Whether it has owner references. Like [`Self::is_deleting`], it is computed once, because the garbage collector reads it
    /// for every object after every change.
    pub is_owned: bool,
    is_deleting: bool,
    whole: OnceLock<Bytes>,
    item: OnceLock<Bytes>,
    metadata: OnceLock<Bytes>,
}

impl Object {
    /// A version.
    pub(super) fn new(value: Value, managed: Arc<Managed>, lacks_defaults: bool) -> Self {
        let (whole, item, metadata) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let fields = &value["metadata"];
        let is_owned = fields["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        let is_deleting = fields["deletionTimestamp"].is_string();
        let value = Arc::new(value);
        Self { value, managed, lacks_defaults, is_owned, is_deleting, whole, item, metadata }
    }

    /// The JSON form, serialized once.
    pub(super) fn bytes(&self, form: Form) -> Bytes {
        let made = |shown: Shown<'_>| Bytes::from(serde_json::to_vec(&shown).unwrap_or_default());
        let bytes = match form {
            Form::Full => &self.whole,
            Form::Item => &self.item,
            Form::Metadata => &self.metadata,
        };
        bytes.get_or_init(|| made(Shown { value: &self.value, managed: &self.managed, form })).clone()
    }

    /// A field of the metadata.
    pub(super) fn meta(&self, field: &str) -> &Value {
        &self.value["metadata"][field]
    }

    /// Its UID.
    pub(super) fn uid(&self) -> &str {
        self.meta("uid").as_str().unwrap_or_default()
    }

    /// Whether it is on its way out.
    pub(super) fn is_deleting(&self) -> bool {
        self.is_deleting
    }
}

/// An object as it is answered.
struct Shown<'a> {
    value: &'a Value,
    managed: &'a Managed,
    form: Form,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = Map::new();
        let fields = self.value.as_object().unwrap_or(&none);
        let meta =
            ShownMeta(fields.get("metadata").and_then(Value::as_object).unwrap_or(&none), self.managed);
        let mut map = serializer.serialize_map(None)?;
        if self.form == Form::Metadata {
            map.serialize_entry("kind", "PartialObjectMetadata")?;
            map.serialize_entry("apiVersion", "meta.k8s.io/v1")?;
            map.serialize_entry("metadata", &meta)?;
            return map.end();
        }
        for (name, value) in fields {
            if name == "metadata" {
                map.serialize_entry("metadata", &meta)?;
            } else if self.form != Form::Item || (name != "apiVersion" && name != "kind") {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

struct ShownMeta<'a>(&'a Map<String, Value>, &'a Managed);

impl Serialize for ShownMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        if !self.1.is_empty() {
            map.serialize_entry("managedFields", self.1)?;
        }
        map.end()
    }
}

/// One write.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub revision: u64,
    pub at: Instant,
    /// The previous object.
    pub before: Option<Arc<Object>>,
    /// The current object; for a deletion the last version, with the revision of the deletion.
    pub after: Arc<Object>,
    pub deleted: bool,
}

/// The objects of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub objects: BTreeMap<Key, Arc<Object>>,
    pub history: VecDeque<Entry>,
}

impl Table {
    /// The objects as they were at a revision that is not compacted.
    pub(super) fn at(&self, revision: u64) -> BTreeMap<Key, Arc<Object>> {
        let mut objects = self.objects.clone();
        for entry in self.history.iter().rev().take_while(|entry| entry.revision > revision) {
            let key = Key::of(&entry.after.value);
            match &entry.before {
                Some(before) => objects.insert(key, before.clone()),
                None => objects.remove(&key),
            };
        }
        objects
    }
}

impl Key {
    /// The key of an object.
    pub(super) fn of(object: &Value) -> Self {
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        Self { namespace: text("namespace"), name: text("name") }
    }
}

/// All objects.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub tables: Vec<Table>,
    /// The revision of the last write.
    pub revision: u64,
    /// Nothing can be watched or listed from before this one.
    pub compacted: u64,
}

impl Store {
    /// An empty store for this number of kinds.
    pub(super) fn new(kinds: usize) -> Self {
        Self { tables: (0..kinds).map(|_| Table::default()).collect(), revision: 1, compacted: 0 }
    }

    /// The objects of a kind.
    pub(super) fn table(&self, kind: usize) -> Option<&Table> {
        self.tables.get(kind)
    }

    /// One object.
    pub(super) fn get(&self, kind: usize, key: &Key) -> Option<&Arc<Object>> {
        self.tables.get(kind)?.objects.get(key)
    }

    /// The revision that the next write gets.
    pub(super) fn next(&self) -> u64 {
        self.revision + 1
    }

    /// Stores a version; returns the one before.
    pub(super) fn put(&mut self, kind: usize, object: Arc<Object>) -> Option<Arc<Object>> {
        let revision = self.next();
        self.revision = revision;
        let table = self.tables.get_mut(kind)?;
        let before = table.objects.insert(Key::of(&object.value), object.clone());
        let entry =
            Entry { revision, at: Instant::now(), before: before.clone(), after: object, deleted: false };
        table.history.push_back(entry);
        before
    }

    /// Removes an object; its last version is what watches show.
    pub(super) fn remove(&mut self, kind: usize, key: &Key, last: Arc<Object>) {
        let revision = self.next();
        self.revision = revision;
        let Some(table) = self.tables.get_mut(kind) else { return };
        let before = table.objects.remove(key);
        let at = Instant::now();
        table.history.push_back(Entry { revision, at, before, after: last, deleted: true });
    }

    /// Compacts the history.
    pub(super) fn compact(&mut self) {
        self.compacted = self.revision;
        for table in &mut self.tables {
            table.history.clear();
        }
    }
}
