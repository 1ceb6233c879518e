//! Field ownership: `metadata.managedFields`.

use serde::{Serialize, Serializer, ser::SerializeSeq};
use serde_json::{Value, json};

use super::set::Set;

/// How many managers that are no appliers an object remembers.
const MANAGERS: usize = 10;

/// The operation of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Operation {
    /// Server-side apply.
    Apply,
    /// Anything else.
    Update,
}

/// The manager of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Manager {
    pub operation: Operation,
    pub name: String,
    pub api_version: String,
    /// Empty for the main resource.
    pub subresource: String,
}

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub manager: Manager,
    /// When it last changed.
    pub time: String,
    pub set: Set,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Managed(pub(super) Vec<Entry>);

impl Managed {
    /// Whether no manager owns a field.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all is the same but for the times.
    pub(in super::super) fn is_like(&self, other: &Self) -> bool {
        self == other || self.untimed() == other.untimed()
    }

    /// The entries without their times, by manager.
    fn untimed(&self) -> Vec<(&Manager, &Set)> {
        let mut entries: Vec<_> = self.0.iter().map(|entry| (&entry.manager, &entry.set)).collect();
        entries.sort_by_key(|(manager, _)| *manager);
        entries
    }

    /// The value in a request: `None` if it counts as absent. A list of one empty entry removes all, and so does an
    /// empty list, except for custom resources.
    pub(in super::super) fn read(list: &Value, is_custom: bool) -> Option<Self> {
        let items = list.as_array()?;
        if items.is_empty() {
            return (!is_custom).then(Self::default);
        }
        if items.len() == 1 && items.first().is_some_and(|item| *item == json!({})) {
            return Some(Self::default());
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entry = |item: &Value| Entry {
            manager: Manager {
                operation: if item["operation"] == "Apply" { Operation::Apply } else { Operation::Update },
                name: text(&item["manager"]),
                api_version: text(&item["apiVersion"]),
                subresource: text(&item["subresource"]),
            },
            time: text(&item["time"]),
            set: Set::read(&item["fieldsV1"]),
        };
        Some(Self(items.iter().map(entry).collect()))
    }

    /// As the server reads them: of several entries of one manager, which only a scale leaves behind, the last counts.
    pub(super) fn decoded(&self) -> Self {
        let later = |index: usize| self.0.get(index + 1..).unwrap_or_default();
        let is_last = |(index, entry): &(usize, &Entry)| {
            !later(*index).iter().any(|later| later.manager == entry.manager)
        };
        Self(self.0.iter().enumerate().filter(is_last).map(|(_, entry)| entry.clone()).collect())
    }

    pub(super) fn find(&self, manager: &Manager) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.manager == *manager)
    }

    /// No more than ten that are no appliers: the oldest are put together.
    pub(super) fn capped(mut self) -> Self {
        let is_update = |entry: &Entry| entry.manager.operation == Operation::Update;
        let mut count = self.0.iter().filter(|entry| is_update(entry)).count();
        while count > MANAGERS {
            let mut oldest: Vec<(String, Manager)> = self
                .0
                .iter()
                .filter(|entry| is_update(entry))
                .map(|entry| (entry.time.clone(), entry.manager.clone()))
                .collect();
            oldest.sort();
            let mut set = Set::default();
            let mut last = None;
            for (time, manager) in oldest.into_iter().take(2) {
                if let Some(index) = self.0.iter().position(|entry| entry.manager == manager) {
                    set.extend(&self.0.swap_remove(index).set);
                }
                last = Some((time, manager.api_version));
            }
            let Some((time, api_version)) = last else { break };
            let manager = Manager {
                operation: Operation::Update,
                name: "ancient-changes".to_owned(),
                api_version,
                subresource: String::new(),
            };
            self.0.push(Entry { manager, time, set });
            count -= 1;
        }
        self
    }

    /// In the order in which they are written.
    pub(super) fn sorted(mut self) -> Self {
        self.0.retain(|entry| !entry.set.is_empty());
        self.0.sort_by(|a, b| {
            (a.manager.operation, &a.time, &a.manager).cmp(&(b.manager.operation, &b.time, &b.manager))
        });
        self
    }
}

impl Serialize for Managed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for entry in &self.0 {
            list.serialize_element(&Written::of(entry))?;
        }
        list.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    manager: &'a str,
    operation: &'static str,
    api_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    time: &'a str,
    fields_type: &'static str,
    fields_v1: &'a Set,
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: &'a str,
}

impl<'a> Written<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self {
            manager: &entry.manager.name,
            operation: match entry.manager.operation {
                Operation::Apply => "Apply",
                Operation::Update => "Update",
            },
            api_version: &entry.manager.api_version,
            time: &entry.time,
            fields_type: "FieldsV1",
            fields_v1: &entry.set,
            subresource: &entry.manager.subresource,
        }
    }
}
