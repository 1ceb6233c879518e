//! Which fields of a spec are secret: those that come from a Secret, and those that did while their former values can remain
//! at the provider. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::ResourceStatus;
use serde_json::Value;

use crate::ledger::Ledger;

/// The fields of a spec, by their names at the top level, whose value must not be shown.
#[derive(Clone, Debug, Default)]
pub struct SecretFields {
    /// Those that come from a Secret, and those that did: the remote object may still have the former value.
    pub all: BTreeSet<String>,
    /// Those that remain when the spec is in place.
    pub in_place: BTreeSet<String>,
}

impl SecretFields {
    /// From the resolved fields and the former ones. `is_compared` tells whether a field's value at the provider equals
    /// the desired one when the spec is in place.
    pub fn of(
        resolved: &BTreeSet<String>,
        former: impl IntoIterator<Item = String>,
        is_compared: impl Fn(&str) -> bool,
    ) -> Self {
        let now: BTreeSet<String> = resolved.iter().map(|path| top(path).to_owned()).collect();
        let all: BTreeSet<String> = former.into_iter().chain(now.iter().cloned()).collect();
        let in_place =
            all.iter().filter(|field| now.contains(*field) || !is_compared(field)).cloned().collect();
        Self { all, in_place }
    }

    /// The record in a ledger that is written for this generation of the spec.
    pub fn launched(&self, generation: Option<i64>) -> BTreeMap<String, i64> {
        self.all.iter().map(|field| (field.clone(), generation.unwrap_or_default())).collect()
    }
}

/// Whether nothing of a former value of a field can remain at the provider when this spec is in place: the field is an
/// option without parts. A field or a part that is not set is not compared, and keeps its value.
pub fn is_compared_as_whole(field: &str, spec: &Value) -> bool {
    // The order of dependencies is at no provider.
    field == "lifecycle"
        || spec[field].as_object().is_some_and(|option| {
            option.contains_key("valueFrom") || option.get("value").is_some_and(|value| !value.is_object())
        })
}

/// The fields on record: those of the status, and those of the last launch that the status does not report yet.
///
/// A ledger stays on the resource, and a field leaves the status when the spec is in place. So the status counts alone once
/// the launch of the ledger is confirmed, or the spec was in place at the generation of the record.
pub fn recorded(status: Option<&ResourceStatus>, ledger: Option<&Ledger>) -> BTreeSet<String> {
    let of_launch = ledger.into_iter().flat_map(|ledger| {
        let is_open = ledger.confirmed < ledger.epoch;
        let in_place = status.and_then(|status| status.in_place.as_ref()).map(|in_place| in_place.generation);
        let fields = ledger.secret_fields.iter().filter(move |(_, at)| is_open && in_place < Some(**at));
        fields.map(|(field, _)| field.clone())
    });
    let of_status = status.into_iter().flat_map(|status| status.secret_fields.iter().cloned());
    of_status.chain(of_launch).collect()
}

/// The top-level field of the spec that a path is in.
pub fn top(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kraken_api::InPlace;
    use serde_json::json;

    use super::*;

    #[test]
    fn field_stays_secret_until_an_edit_to_a_literal_is_in_place() {
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
        let edited = SecretFields::of(&paths(&[]), paths(&["description"]), |_| true);
        assert_eq!((edited.all, edited.in_place), (paths(&["description"]), paths(&[])));
        let uncompared = SecretFields::of(&paths(&[]), paths(&["userData"]), |_| false);
        assert_eq!(uncompared.in_place, paths(&["userData"]), "its former value is still at the provider");
        let current = SecretFields::of(&paths(&["rules[0].cidr"]), paths(&[]), |_| true);
        assert_eq!(current.in_place, paths(&["rules"]));
    }

    #[test]
    fn only_an_option_without_parts_replaces_a_whole_former_value() {
        let spec = json!({
            "image": {"value": "b"}, "ids": {"value": [{"valueFrom": {}}]}, "size": {"valueFrom": {}},
            "check": {"path": {"value": "/"}}, "rules": [{"port": {"value": 1}}], "options": {"value": {"a": 1}},
            "unset": null,
        });
        let all = ["image", "ids", "size", "check", "rules", "options", "unset", "removed", "lifecycle"];
        let whole: Vec<&str> = all.into_iter().filter(|field| is_compared_as_whole(field, &spec)).collect();
        assert_eq!(whole, ["image", "ids", "size", "lifecycle"]);
    }

    #[test]
    fn field_of_a_launch_is_secret_until_the_status_reports_the_launch() {
        let ledger =
            Ledger { epoch: 2, secret_fields: [("image".to_owned(), 5)].into(), ..Ledger::default() };
        let found = |confirmed: i64, in_place: Option<i64>| {
            let in_place = in_place.map(|generation| InPlace { generation, ..InPlace::default() });
            let status = ResourceStatus { in_place, ..ResourceStatus::default() };
            !recorded(Some(&status), Some(&Ledger { confirmed, ..ledger.clone() })).is_empty()
        };
        assert!(!recorded(None, Some(&ledger)).is_empty(), "no status was written");
        assert!(found(0, None), "nor one since the launch");
        assert!(found(1, Some(4)), "the last status is about the objects before the launch");
        assert!(!found(2, None), "it has the fields of the launch, or is in place since then");
        assert!(!found(1, Some(5)), "the launch was not needed any more");
        let status = ResourceStatus { secret_fields: vec!["password".into()], ..ResourceStatus::default() };
        let both = BTreeSet::from(["image", "password"].map(str::to_owned));
        assert_eq!(recorded(Some(&status), Some(&ledger)), both);
        assert_eq!(recorded(Some(&status), None), BTreeSet::from(["password".to_owned()]));
    }
}
