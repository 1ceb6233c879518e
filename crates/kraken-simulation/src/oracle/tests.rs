//! Tests of the oracle: it reports exactly the contradictions.

use serde_json::json;

use super::*;

fn object(kind: &str, name: &str, rest: &Value) -> Arc<Value> {
    let mut object = json!({"kind": kind, "metadata": {"namespace": "prod", "name": name, "uid": format!("{kind}-{name}")}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    Arc::new(object)
}

fn cluster() -> Vec<Arc<Value>> {
    vec![
        object("ConfigMap", "settings", &json!({"data": {"count": "2"}})),
        object("Secret", "creds", &json!({"data": {"password": "aHVudGVyMg=="}})),
        object("StateDeclaration", "static-facts", &json!({"spec": {"data": {"zone": "a"}}})),
        object(
            "StateDeclaration",
            "vpc.aws.main",
            &json!({"spec": {"id": "vpc-1", "data": {"vpc": {"Ids": ["x", 7]}}}}),
        ),
    ]
}

#[test]
fn every_source_has_its_value() {
    let objects = cluster();
    let oracle = Oracle::of(&objects);
    let dependent = object("VPC", "x", &json!({}));
    for (from, value) in [
        (json!({"configMap": {"name": "settings", "key": "count"}}), Some(json!("2"))),
        (json!({"secret": {"name": "creds", "key": "password"}}), Some(json!("hunter2"))),
        (json!({"ref": "static/facts/zone"}), Some(json!("a"))),
        (json!({"ref": "VPC/main"}), Some(json!("vpc-1"))),
        (json!({"ref": "vpc.aws/main/vpc.Ids.1"}), Some(json!(7))),
        (json!({"krakenResource": {"kind": "V-PC", "name": "main", "path": "vpc.Ids.0"}}), Some(json!("x"))),
        (
            json!({"templateString": "id={{ .VPC.main }}:{{ .ConfigMap.settings.count }}"}),
            Some(json!("id=vpc-1:2")),
        ),
        (json!({"ref": "VPC/other"}), None),
        (json!({"ref": "VPC/main/vpc.Missing"}), None),
        (json!({"configMap": {"name": "settings", "key": "none"}}), None),
        (json!({"templateString": "{{ .Secret.none.x }}"}), None),
    ] {
        assert_eq!(oracle.value(&dependent, &Source::of(&from).unwrap()), value, "{from}");
    }
    let counted = object(
        "EC2Instance",
        "x",
        &json!({"spec": {"maxCount": {"valueFrom": {"configMap": {"name": "settings", "key": "count"}}}}}),
    );
    assert_eq!(oracle.number(&counted, "/spec/maxCount"), Some(2));
}

fn export(entries: &Value, reason: &str) -> Arc<Value> {
    object(
        "ConfigExport",
        "e",
        &json!({
            "spec": {"configType": "ConfigMap", "configMetadata": {"name": "out"}, "entries": entries},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": reason, "message": ""}]},
        }),
    )
}

#[test]
fn an_export_is_compared_with_its_entries() {
    let entries = json!([{"key": "id", "valueFrom": {"ref": "VPC/main"}}]);
    let missing = json!([{"key": "id", "valueFrom": {"ref": "VPC/other"}}]);
    let target = |id: &str| {
        let mark = json!({"kraken-iac.eoinfennessy.com/exported-by": "ConfigExport-e"});
        let owner = json!({"namespace": "prod", "name": "out", "uid": "t", "annotations": mark,
            "ownerReferences": [{"uid": "ConfigExport-e"}]});
        object("ConfigMap", "out", &json!({"metadata": owner, "data": {"id": id}}))
    };
    for (entries, reason, id, is_fine) in [
        (&entries, "Exported", Some("vpc-1"), true),
        (&entries, "Exported", Some("vpc-2"), false),
        (&entries, "Exported", None, false),
        (&entries, "WaitingForValues", None, false),
        (&missing, "WaitingForValues", None, true),
        (&missing, "WaitingForValues", Some("vpc-1"), false),
        (&missing, "Exported", Some("vpc-1"), false),
    ] {
        let mut objects = cluster();
        objects.extend(id.map(target));
        let export = export(entries, reason);
        let wrong = Oracle::of(&objects).wrong(&export);
        assert_eq!(wrong.is_empty(), is_fine, "{reason} {id:?}: {wrong:?}");
    }
}

#[test]
fn an_object_that_an_export_did_not_write_remains_while_it_waits() {
    let missing = json!([{"key": "id", "valueFrom": {"ref": "VPC/other"}}]);
    // The annotation of the object, and the target in the status of the export.
    for (mark, recorded, is_fine) in [
        (None, None, true),
        (Some("another"), Some("ConfigMap/another"), true),
        (Some("ConfigExport-e"), None, false),
        (None, Some("ConfigMap/out"), false),
    ] {
        let meta = json!({
            "namespace": "prod", "name": "out", "uid": "t",
            "annotations": {"kraken-iac.eoinfennessy.com/exported-by": mark},
            "ownerReferences": [{"uid": "ConfigExport-e"}],
        });
        let mut objects = cluster();
        objects.push(object("ConfigMap", "out", &json!({"metadata": meta})));
        let mut export = Value::clone(&export(&missing, "WaitingForValues"));
        export["status"]["target"] = json!(recorded);
        let wrong = Oracle::of(&objects).wrong(&export);
        assert_eq!(wrong.is_empty(), is_fine, "{mark:?} {recorded:?}: {wrong:?}");
    }
}

/// An export that reports a reason, for an object with its target's name.
fn wrong_export(reason: &str, message: &str, target: Option<&Value>) -> usize {
    let mut export = Value::clone(&export(&json!([{"key": "tls.crt", "value": "x"}]), reason));
    export["status"]["conditions"][0]["message"] = json!(message);
    let kind = export["spec"]["configType"].as_str().unwrap_or("ConfigMap").to_owned();
    let name = export["spec"]["configMetadata"]["name"].as_str().unwrap().to_owned();
    let objects: Vec<Arc<Value>> = target.map(|target| object(&kind, &name, target)).into_iter().collect();
    Oracle::of(&objects).wrong(&export).len()
}

#[test]
fn an_export_whose_target_is_anothers_says_so() {
    let annotated = |exporter: &str| {
        let annotations = json!({
            "kraken-iac.eoinfennessy.com/exported-by": "former",
            "kraken-iac.eoinfennessy.com/exported-by-name": exporter,
        });
        json!({"metadata": {"namespace": "prod", "name": "out", "annotations": annotations}})
    };
    for (target, wrong) in [
        (None, 1),
        (Some(json!({})), 0),
        // Another export wrote it, or an earlier one of this name.
        (Some(annotated("other")), 0),
        (Some(annotated("e")), 1),
    ] {
        assert_eq!(wrong_export("TargetNotOwned", "", target.as_ref()), wrong, "{target:?}");
    }
}

#[test]
fn an_export_that_lacks_the_keys_of_its_type_says_so() {
    for (message, wrong) in [
        ("is kubernetes.io/tls, which requires entries with the keys tls.crt and tls.key", 1),
        ("is kubernetes.io/tls, which requires an entry with the key tls.key; edit it", 0),
        ("entries[0] is wrong: tls.crt", 0),
    ] {
        assert_eq!(wrong_export("InvalidSpec", message, None), wrong, "{message}");
    }
}

#[test]
fn an_account_is_missing_or_restricted_if_a_resource_says_so() {
    let open = || object("Account", "shop", &json!({"spec": {}}));
    let restricted = || object("Account", "shop", &json!({"spec": {"allowedAccountIDs": ["1"]}}));
    let vpc = |reason: &str| {
        object(
            "VPC",
            "v",
            &json!({
                "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1",
                "spec": {"account": {"name": "shop"}},
                "status": {"conditions": [{"type": "Ready", "status": "x", "reason": reason, "message": ""}]},
            }),
        )
    };
    for (account, reason, is_fine) in [
        (None, "AccountNotFound", true),
        (Some(open()), "AccountNotFound", false),
        (Some(open()), "AccountNotReady", false),
        (Some(restricted()), "AccountNotReady", true),
        (None, "Available", false),
        (Some(open()), "Available", true),
    ] {
        let objects: Vec<_> = account.into_iter().collect();
        let wrong = Oracle::of(&objects).wrong(&vpc(reason));
        assert_eq!(wrong.is_empty(), is_fine, "{reason}: {wrong:?}");
    }
}

#[test]
fn who_is_ready_has_every_value_and_who_waits_lacks_one() {
    let objects = cluster();
    let oracle = Oracle::of(&objects);
    let subnet = |vpc: &str, reason: &str| {
        object(
            "Subnet",
            "s",
            &json!({
                "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1",
                "spec": {"vpcID": {"valueFrom": {"ref": vpc}}},
                "status": {"conditions": [{"type": "Ready", "status": "x", "reason": reason, "message": ""}]},
            }),
        )
    };
    for (vpc, reason, is_fine) in [
        ("VPC/main", "Available", true),
        ("VPC/other", "Available", false),
        ("VPC/main", "DependenciesNotReady", false),
        ("VPC/other", "DependenciesNotReady", true),
    ] {
        assert_eq!(oracle.wrong(&subnet(vpc, reason)).is_empty(), is_fine, "{vpc} {reason}");
    }
}

#[test]
fn a_spec_refers_to_a_resource_by_its_name_and_not_by_a_value() {
    let objects = vec![object("ConfigMap", "ids", &json!({"data": {"vpc": "vpc-1"}}))];
    let oracle = Oracle::of(&objects);
    let vpc = object("VPC", "main", &json!({}));
    for (from, is_found) in [
        (json!({"ref": "vpc.aws/main"}), true),
        (json!({"ref": "VPC/other"}), false),
        (json!({"templateString": "{{ .VPC.main }}"}), true),
        (json!({"configMap": {"name": "ids", "key": "vpc"}}), false),
    ] {
        let spec = json!({"spec": {"vpcID": {"valueFrom": from.clone()}}});
        let gateway = object("InternetGateway", "g", &spec);
        assert_eq!(oracle.refers_to(&gateway, &vpc), is_found, "{from}");
    }
}
