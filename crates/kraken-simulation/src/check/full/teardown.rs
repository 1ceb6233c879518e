//! The operations that delete everything at the end of a simulation.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::check::policy::recorded_place;
use crate::engine::{Place, View};
use crate::generate::CANARY;
use crate::schedule::{Controller, ObjectName, Operation, Propagation};

const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
/// The Secret with the access keys of other accounts.
const KEYS: &str = "teardown";

/// Lifts what forbids deletion, and deletes everything.
pub(super) fn teardown(view: &View<'_>) -> Vec<Operation> {
    let mut operations = vec![];
    let usual = Place::default();
    for (controller, place) in view.places {
        if controller.is_spoke() && *place != usual {
            operations.push(Operation::Restart {
                controller: *controller,
                region: Some(usual.region.clone()),
                account: Some(usual.account.clone()),
            });
        }
    }
    let objects = view.api.all_objects();
    let ours = objects.iter().filter(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        Controller::of(kind).is_spoke() || kind == "ConfigExport"
    });
    let mut deletions = vec![];
    operations.extend(accounts(&objects));
    operations.extend(moved(&objects));
    for object in ours {
        let name = ObjectName::of(object);
        let edit = |path: &str, value: Option<Value>| Operation::Edit {
            object: name.clone(),
            path: path.to_owned(),
            value,
        };
        let lifecycle = &object["spec"]["lifecycle"];
        for (member, usual) in [
            ("paused", json!(false)),
            ("protect", json!(false)),
            ("approval", json!("Automatic")),
            ("deletion", json!("Delete")),
        ] {
            let is_adopting = member == "deletion" && lifecycle["adopt"].is_object();
            if is_adopting || (!lifecycle[member].is_null() && lifecycle[member] != usual) {
                operations.push(edit(&format!("/spec/lifecycle/{member}"), Some(usual)));
            }
        }
        if object["kind"] == "LoadBalancer" {
            operations.push(edit("/spec/lifecycle/ignoreChanges", None));
            operations.push(edit("/spec/deletionProtection", Some(json!({"value": false}))));
        }
        deletions.push(Operation::Delete { object: name, propagation: Propagation::Background });
    }
    operations.extend(deletions);
    operations
}

/// Restores the Accounts that resources name, without restrictions: without them nothing is deleted.
fn accounts(objects: &[Arc<Value>]) -> Vec<Operation> {
    let named = objects.iter().filter_map(|object| {
        let name = object["spec"]["account"]["name"].as_str()?;
        Some((object["metadata"]["namespace"].as_str()?.to_owned(), name.to_owned()))
    });
    let known = objects.iter().filter(|object| object["kind"] == "Account").filter_map(|account| {
        let text = |field: &str| account["metadata"][field].as_str().map(ToOwned::to_owned);
        Some((text("namespace")?, text("name")?))
    });
    let all: BTreeSet<(String, String)> = named.chain(known).collect();
    let mut operations = vec![];
    for (namespace, name) in all {
        let object = json!({
            "apiVersion": AWS, "kind": "Account",
            "metadata": {"name": name, "namespace": namespace}, "spec": {},
        });
        operations.push(Operation::Apply { object });
        let account = ObjectName::new(&namespace, "Account", &name);
        let fields = [
            "allowedAccountIDs",
            "credentials",
            "defaultTags",
            "allow",
            "region",
            "externalID",
            "assumeRoleARN",
        ];
        for field in fields {
            let path = format!("/spec/{field}");
            operations.push(Operation::Edit { object: account.clone(), path, value: None });
        }
    }
    operations
}

/// Gives every resource whose objects are in another account or region an Account there: those that exist may have moved.
fn moved(objects: &[Arc<Value>]) -> Vec<Operation> {
    let mut operations = vec![];
    let mut known: BTreeSet<(String, Place)> = BTreeSet::new();
    for object in objects {
        let Some(place) = recorded_place(object).filter(|place| *place != Place::default()) else { continue };
        let (name, account) = (ObjectName::of(object), format!("at-{}-{}", place.account, place.region));
        if known.insert((name.namespace.clone(), place.clone())) {
            operations.extend(account_at(&name.namespace, &account, &place));
        }
        let value = Some(json!({ "name": account }));
        operations.push(Operation::Edit { object: name, path: "/spec/account".to_owned(), value });
    }
    operations
}

/// An Account at this place, with its access key.
fn account_at(namespace: &str, name: &str, place: &Place) -> Vec<Operation> {
    let secret = ObjectName::new(namespace, "Secret", KEYS);
    let key = |part: &str| format!("{part}-{}", place.account);
    let set = |part: &str, value: String| Operation::SetData {
        object: secret.clone(),
        key: key(part),
        value: Some(value),
    };
    let from = |part: &str| json!({"valueFrom": {"secret": {"name": KEYS, "key": key(part)}}});
    let object = json!({
        "apiVersion": AWS, "kind": "Account",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "region": place.region,
            "credentials": {"accessKeyID": from("id"), "secretAccessKey": from("secret")},
        },
    });
    vec![
        set("id", format!("AKIA{CANARY}-{}", place.account)),
        set("secret", format!("{CANARY}-secret")),
        Operation::Apply { object },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_gets_an_account_where_its_objects_are() {
        let at = |region: &str| {
            Arc::new(json!({
                "kind": "VPC", "metadata": {"namespace": "prod", "name": "a"}, "spec": {},
                "status": {"location": {"account": "123456789012", "region": region}},
            }))
        };
        assert_eq!(moved(&[at("us-east-1")]), []);
        let operations = moved(&[at("eu-west-1"), at("eu-west-1")]);
        assert_eq!(operations.len(), 3 + 2, "{operations:?}");
        assert!(matches!(&operations[4], Operation::Edit { path, value: Some(value), .. }
            if path == "/spec/account" && value["name"] == "at-123456789012-eu-west-1"));
    }
}
