//! The expected target of a ConfigExport, according to its entries and their values.

use std::collections::BTreeMap;

use kraken_kind::api::{EXPORTED_BY_ANNOTATION, EXPORTED_BY_NAME_ANNOTATION};
use serde_json::Value;

use super::{
    Oracle,
    source::{Source, data, text},
};

impl Oracle<'_> {
    /// The contradiction in the status of a ConfigExport.
    pub(super) fn wrong_export(&self, export: &Value) -> Option<String> {
        let ready = crate::check::ready_of(export);
        let spec = &export["spec"];
        let kind = spec["configType"].as_str().unwrap_or("ConfigMap");
        let mut name = spec["configMetadata"]["name"].as_str()?.to_owned();
        if spec["rotate"] == true {
            let reported = export["status"]["target"].as_str().and_then(|target| target.split_once('/'));
            reported.map_or("", |(_, name)| name).clone_into(&mut name);
        }
        let target = self.find(kind, export["metadata"]["namespace"].as_str()?, &name);
        // A user can make the export the owner of an object that it did not write, and that the hub therefore leaves.
        let is_recorded = export["status"]["target"] == format!("{kind}/{name}");
        let mine = target.filter(|target| {
            let (meta, uid) = (&target["metadata"], &export["metadata"]["uid"]);
            let owners = meta["ownerReferences"].as_array();
            owners.into_iter().flatten().any(|owner| owner["uid"] == *uid)
                && (is_recorded || meta["annotations"][EXPORTED_BY_ANNOTATION] == *uid)
                && meta["deletionTimestamp"].is_null()
        });
        let entries = spec["entries"].as_array()?;
        let wanted: Option<BTreeMap<String, String>> = entries
            .iter()
            .map(|entry| Some((entry["key"].as_str()?.to_owned(), self.entry(export, entry)?)))
            .collect();
        match (ready["reason"].as_str()?, wanted) {
            ("Exported", None) => Some("is exported, and an entry has no value".to_owned()),
            ("Exported", Some(wanted)) => {
                let have = mine.map(|target| data(target));
                (have.as_ref() != Some(&wanted)).then(|| {
                    let keys = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
                    format!(
                        "is exported, and {kind} {name} differs: keys {:?} and not {:?}",
                        have.as_ref().map(keys),
                        keys(&wanted)
                    )
                })
            }
            ("TargetNotOwned", _) if target.is_none() => {
                Some(format!("reports that {kind} {name} belongs to another, and there is none"))
            }
            // It is the export's, or was left behind by one of its name.
            ("TargetNotOwned", Some(_)) => target
                .filter(|target| mine.is_some() || is_left_behind(export, target))
                .map(|_| format!("reports that {kind} {name} belongs to another: {}", ready["message"])),
            ("InvalidSpec", _) => lacks_no_key(spec, &ready["message"]),
            ("WaitingForValues", Some(_)) if !self.reports_another_cause(export) => {
                Some(format!("waits for values, and all are there: {}", ready["message"]))
            }
            ("WaitingForValues", None) => {
                (spec["whileWaiting"] != "Keep" && mine.is_some() && !self.is_refused(export))
                    .then(|| format!("waits for values, and {kind} {name} is still there"))
            }
            _ => None,
        }
    }

    /// Whether another namespace does not permit a reference of an export, which then keeps its target.
    fn is_refused(&self, export: &Value) -> bool {
        let namespace = export["metadata"]["namespace"].as_str().unwrap_or_default();
        self.sources(export).iter().any(|source| !self.is_permitted(namespace, source))
    }

    /// Whether an export reports something other than a missing value.
    fn reports_another_cause(&self, export: &Value) -> bool {
        let message = crate::check::ready_of(export)["message"].as_str().unwrap_or_default().to_lowercase();
        ["circle", "cycle", "several", "type", "manually", "large", "no owner", "withheld", "secret", "read"]
            .iter()
            .any(|word| message.contains(word))
    }

    fn entry(&self, export: &Value, entry: &Value) -> Option<String> {
        if let Some(value) = entry.get("value") {
            return Some(text(value));
        }
        self.value(export, &Source::of(&entry["valueFrom"])?).map(|value| text(&value))
    }
}

/// Whether a target has no owner any more, and was written by an export of this name: after a restored backup, for example.
fn is_left_behind(export: &Value, target: &Value) -> bool {
    let metadata = &target["metadata"];
    let has_owner = metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    !has_owner
        && metadata["annotations"][EXPORTED_BY_ANNOTATION].is_string()
        && metadata["annotations"][EXPORTED_BY_NAME_ANNOTATION] == export["metadata"]["name"]
        && metadata["deletionTimestamp"].is_null()
}

/// If an export reports a key that the type of its Secret requires, no entry may have it.
fn lacks_no_key(spec: &Value, message: &Value) -> Option<String> {
    let (_, keys) = message.as_str()?.split_once(", which requires ")?;
    let keys = keys.split(['\n', ';']).next()?;
    let has = |word: &str| spec["entries"].as_array().into_iter().flatten().any(|entry| entry["key"] == word);
    let named: Vec<&str> = keys.split(' ').filter(|word| has(word)).collect();
    (!named.is_empty()).then(|| format!("reports that entries are missing which it has: {named:?}"))
}
