//! A kind that is known at run time only: its spec, its desired and observed states and its changes are JSON values.

use std::borrow::Cow;

use kraken_api::{FieldDiff, names::owner_kind, reasons::Reason};
use kraken_kind::{
    Comparison, Difference, Edit, Features, Finding, Ignored, OwnSecret, Remedy, Unanswered,
    account::AccountKind,
    dynamic::{Change, Desired, Existence, Kind, KindInfo, Observed, ObservedObject, Schema, Spec},
};
use kraken_options::{Opt, OptionType, Resolved, Resolver};
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::fixtures::with;

pub(super) const GROUP: &str = "testing.kraken-iac.eoinfennessy.com";

/// The pure functions of the kind.
pub(super) struct Disks {
    info: KindInfo,
}

impl Disks {
    pub(super) fn new(has_accounts: bool) -> Self {
        let account = AccountKind {
            group: GROUP,
            version: "v1",
            kind: "Account",
            plural: "accounts",
            field: "account",
            default_name: kraken_kind::account::DEFAULT_ACCOUNT,
            description: "d",
            name_description: "n",
        };
        let info = KindInfo {
            name: "Disk",
            resource: ApiResource {
                group: GROUP.into(),
                version: "v1".into(),
                api_version: format!("{GROUP}/v1"),
                kind: "Disk".into(),
                plural: "disks".into(),
            },
            key: owner_kind("Disk", GROUP),
            schema: Schema::new(Default::default),
            features: Features {
                is_idempotent: true,
                contains: "all data",
                secret_field_paths: &[("password", &[]), ("peer", &[])],
                summary: &[("Size", "disk.size")],
                missing_path: "count",
                disrupts: true,
                accounts: has_accounts.then_some(account),
                ..Features::NONE
            },
        };
        Self { info }
    }

    /// Of a provider whose create call may accept no token.
    pub(super) fn with_tokens(mut self, has_tokens: bool) -> Self {
        self.info.features.is_idempotent = has_tokens;
        self
    }

    /// A kind that may look up disks instead of managing them.
    pub(super) fn looking_up(mut self, looks_up: bool) -> Self {
        self.info.features.looks_up = looks_up;
        self
    }

    /// Of a provider that may return deleted objects as deleted for some time.
    pub(super) fn with_deleted(mut self, shows_deleted: bool) -> Self {
        self.info.features.shows_deleted = shows_deleted;
        self
    }
}

/// An option of the spec, if it is set.
fn option<T>(spec: &Value, field: &str, values: &mut Resolver<'_>) -> Option<Resolved<T>>
where
    T: OptionType + serde::de::DeserializeOwned,
{
    let option: Opt<T> = serde_json::from_value(spec[field].clone()).ok()?;
    values.take(field, &option)
}

pub(super) fn objects(observed: &Observed) -> Vec<&Value> {
    observed.all()
}

/// These disks as the loop sees them.
pub(super) fn of(objects: impl IntoIterator<Item = Value>) -> Observed {
    let seen = |object: Value| {
        let existence = match object["state"].as_str() {
            Some("deleted") => Existence::Deleted,
            Some("deleting") => Existence::Ending,
            _ => Existence::Live,
        };
        let (epoch, is_untagged) = (object["epoch"].as_i64().unwrap_or_default(), object["tagged"] == false);
        ObservedObject::new(id(&object), object).of_launch(epoch).existing(existence).untagged(is_untagged)
    };
    objects.into_iter().map(seen).collect()
}

pub(super) fn id(object: &Value) -> String {
    object["id"].as_str().unwrap_or_default().to_owned()
}

impl Kind for Disks {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let spec = spec.json();
        let size = option::<i64>(&spec, "size", values);
        let image = option::<String>(&spec, "image", values);
        let note = option::<String>(&spec, "note", values);
        let _password = option::<String>(&spec, "password", values);
        let following = values.follow();
        let peer = if spec["peer"].is_null() {
            Some(None)
        } else {
            option::<String>(&spec, "peer", values).map(Some)
        };
        let peer = values.followed(following, peer);
        let size = *size?.expose();
        if size < 1 {
            values.problem("size", "must be at least 1");
            return None;
        }
        let count = spec["count"].as_u64().unwrap_or(1);
        let max = spec["max"].as_u64().unwrap_or(count);
        let peer = peer?.map(|peer| peer.expose().clone());
        let [image, note] = [image, note].map(|value| value.map(|value| value.expose().clone()));
        let deep = spec["deep"] == true;
        let desired = json!({
            "size": size, "image": image, "note": note, "peer": peer, "count": count, "max": max, "deep": deep,
            "pin": spec["pin"] != false,
        });
        Some(Desired::new(desired))
    }

    fn own_secret(&self, spec: &dyn Spec) -> Option<OwnSecret> {
        let make = || Ok([("password", "generated".to_owned().into())].into());
        let own = OwnSecret { name: "s".into(), type_: "Opaque", make };
        (spec.json()["generate"] == true).then_some(own)
    }

    fn contains(&self, spec: &dyn Spec) -> Cow<'static, str> {
        match spec.json()["keptDays"].as_i64() {
            Some(days) => format!("all data, which can be restored for {days} days,").into(),
            None => self.info().contains.into(),
        }
    }

    fn unprotected_by(&self, spec: &dyn Spec) -> Option<&'static str> {
        (spec.json()["locked"] == false).then_some("locked")
    }

    fn to_delete(&self, spec: &dyn Spec, observed: Observed) -> Observed {
        if spec.json()["archive"] != false {
            return observed;
        }
        observed.map(|disk: &Value| with(disk.clone(), "archive", json!(false)))
    }

    fn edit_of(&self, _: &dyn Spec, after: &dyn Spec, field: &str) -> Edit {
        match field {
            "image" if after.json()["image"].is_null() => Edit::Keeps,
            "image" => Edit::Replaces,
            "peer" => Edit::Stops,
            "note" => Edit::Waits,
            "count" => Edit::Scales,
            "deep" => Edit::Nothing,
            _ => Edit::InPlace,
        }
    }

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change> {
        let (desired, live) = (desired.get::<Value>(), observed.live::<Value>());
        let mut comparison = Comparison::default();
        let count = usize::try_from(desired["count"].as_u64().unwrap_or_default()).unwrap();
        if live.len() < count {
            comparison.missing = Some(format!("{} disk of {count}", count - live.len()));
        }
        for object in live {
            if object["state"] == "pending" {
                comparison.settling = Some(format!("{} is pending", id(object)));
            }
            let text = |value: &Value| value.to_string().replace('"', "");
            let field = |path: &str| FieldDiff::new(path, text(&desired[path]), text(&object[path]));
            if object["state"] == "stopped" {
                let (field, start) = (FieldDiff::new("state", "running", "stopped"), json!("start"));
                comparison.differences.push(Difference { field, remedy: Remedy::Resume(Change::new(start)) });
            }
            if object["size"] != desired["size"] {
                let remedy = if object["rejected"] == desired["size"] {
                    Remedy::Immutable("the provider rejected it".into())
                } else {
                    Remedy::Change(Change::new(json!(format!("size {}", desired["size"]))))
                };
                comparison.differences.push(Difference { field: field("size"), remedy });
            }
            if !desired["peer"].is_null() && object["peer"] != desired["peer"] {
                let change = Change::new(json!(format!("peer {}", text(&desired["peer"]))));
                comparison
                    .differences
                    .push(Difference { field: field("peer"), remedy: Remedy::Change(change) });
            }
            if !desired["image"].is_null() && object["image"] != desired["image"] {
                let remedy = Remedy::Immutable("an image is fixed".into());
                comparison.differences.push(Difference { field: field("image"), remedy });
            }
        }
        comparison
    }

    fn without_ignored(&self, _: &Desired, _: &Observed, _: &Ignored) -> Option<Desired> {
        None
    }

    fn state(&self, _: &Desired, observed: &Observed) -> Value {
        let first = objects(observed).into_iter().next();
        json!({"disk": {"size": first.map(|object| object["size"].clone())}})
    }

    fn pending_state(&self, _: &Desired, observed: &Observed) -> Option<Value> {
        let first = objects(observed).into_iter().next().filter(|object| object["state"] == "pending")?;
        first["proof"].is_string().then(|| json!({"disk": {"proof": first["proof"]}}))
    }

    fn at_creation(&self, desired: &Desired) -> Vec<(&'static str, String)> {
        let note = desired.get::<Value>()["note"].as_str().map(|note| ("note", note.to_owned()));
        note.into_iter().collect()
    }

    fn max_objects(&self, desired: &Desired) -> usize {
        usize::try_from(desired.get::<Value>()["max"].as_u64().unwrap_or_default()).unwrap()
    }

    fn needs_deep_observation(&self, desired: &Desired) -> bool {
        desired.get::<Value>()["deep"] == true
    }

    fn describe_change(&self, _: &Change) -> Option<String> {
        None
    }

    fn finding(&self, desired: &Desired, observed: &Observed) -> Option<Finding> {
        let matching: Vec<String> =
            objects(observed).into_iter().filter(|object| object["matches"] != false).map(id).collect();
        let why = |reason| Unanswered { reason, message: format!("found {}", matching.len()) };
        let answer = match matching.len() {
            0 => Err(why(Reason::NotFound)),
            1 => Ok(matching.clone()),
            _ => Err(why(Reason::Ambiguous)),
        };
        let words =
            objects(observed).into_iter().map(|object| (id(object), format!("{} (a disk)", id(object))));
        Some(Finding { answer, pins: desired.get::<Value>()["pin"] == true, words: words.collect() })
    }

    fn replicas(&self, _: &Observed) -> Option<i32> {
        None
    }

    fn disrupted(&self, observed: &Observed) -> (Vec<String>, bool) {
        let stopped = objects(observed).into_iter().filter(|object| object["state"] == "stopped");
        (stopped.map(id).collect(), true)
    }
}
