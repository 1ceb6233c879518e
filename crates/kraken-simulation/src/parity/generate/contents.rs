//! Generated contents of objects except metadata: mostly valid.

use serde_json::{Map, Value, json};

use super::{kinds::Kind, values::Values};

/// The fields of an object beside its metadata, status included where there is one.
pub(super) fn contents(kind: &Kind, values: &mut Values<'_>) -> Map<String, Value> {
    let content = match (kind.plural.as_str(), &kind.schema) {
        (_, Some(schema)) => custom(schema, values),
        ("configmaps", _) => config_map(values),
        ("secrets", _) => secret(values),
        ("leases", _) => lease(values),
        _ => event(values),
    };
    match content {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn custom(schema: &Value, values: &mut Values<'_>) -> Value {
    let mut fields = Map::new();
    if !values.random.chance(values.wrong) {
        fields.insert("spec".into(), values.of(&schema["properties"]["spec"], 1));
    }
    if !schema["properties"]["status"].is_null() && values.random.chance(20) {
        fields.insert("status".into(), values.of(&schema["properties"]["status"], 1));
    }
    if values.random.chance(values.wrong) {
        fields.insert("unknown".into(), json!("x"));
    }
    fields.into()
}

fn texts(values: &mut Values<'_>) -> Value {
    let mut fields = Map::new();
    for _ in 0..values.random.below(4) {
        let key = values.random.one(["small", "large", "my.key", "k_1"]);
        fields.insert(key.to_owned(), values.random.one(["t3.micro", "", "[1, 2]", "ü", "true"]).into());
    }
    fields.into()
}

fn bytes(values: &mut Values<'_>) -> Value {
    let mut fields = Map::new();
    for _ in 0..values.random.below(4) {
        let key = values.random.one(["password", "user", "b.bin"]);
        fields.insert(key.to_owned(), values.random.one(["c2VjcmV0", "", "AAEC"]).into());
    }
    fields.into()
}

fn config_map(values: &mut Values<'_>) -> Value {
    let mut map = json!({"data": texts(values)});
    if values.random.chance(15) {
        map["binaryData"] = bytes(values);
    }
    if values.random.chance(8) {
        map["immutable"] = values.random.chance(60).into();
    }
    if values.random.chance(values.wrong * 2) {
        match values.random.below(7) {
            0 => map["data"] = json!({"a b": "x"}),
            1 => map["data"] = json!({"a": 1}),
            2 => map["data"] = json!(["a"]),
            3 => map["binaryData"] = json!({"x": "not base64!"}),
            4 => map = json!({"data": {"same": "a"}, "binaryData": {"same": "YQ=="}}),
            5 => map["unknown"] = json!({"x": 1}),
            _ => map["data"] = Value::Null,
        }
    }
    map
}

fn secret(values: &mut Values<'_>) -> Value {
    let mut secret = json!({"data": bytes(values)});
    if values.random.chance(25) {
        secret["stringData"] = texts(values);
    }
    if values.random.chance(10) {
        secret["immutable"] = values.random.chance(60).into();
    }
    if values.random.chance(25) {
        secret["type"] = values.random.one(["Opaque", "kraken/test", "helm.sh/release.v1"]).into();
    }
    if values.random.chance(values.wrong * 2) {
        match values.random.below(7) {
            0 => secret["data"] = json!({"a b": "YQ=="}),
            1 => secret["data"] = json!({"a": "no base64?"}),
            2 => secret["data"] = json!({"a": 5}),
            3 => {
                let types = ["kubernetes.io/tls", "kubernetes.io/basic-auth", "kubernetes.io/ssh-auth"];
                secret["type"] = values.random.one(types).into();
            }
            4 => secret["type"] = json!(3),
            5 => secret["stringData"] = json!({"a/b": "x"}),
            _ => {
                secret["type"] = "kubernetes.io/dockerconfigjson".into();
                if values.random.chance(60) {
                    let text = values.random.pick(&["{}", "{\"auths\": {}}", "[]", "no JSON"]);
                    secret["stringData"] = json!({".dockerconfigjson": text});
                }
            }
        }
    }
    secret
}

fn lease(values: &mut Values<'_>) -> Value {
    let mut spec = json!({
        "holderIdentity": values.random.one(["pod-1", "pod-2"]),
        "leaseDurationSeconds": 15 + values.random.below(3),
        "renewTime": values.random.one(["2001-01-01T00:00:00.000000Z", "2001-01-01T00:00:05.123456Z"]),
    });
    if values.random.chance(50) {
        spec["acquireTime"] = "2001-01-01T00:00:00.000000Z".into();
        spec["leaseTransitions"] = values.random.below(3).into();
    }
    if values.random.chance(values.wrong * 2) {
        match values.random.below(6) {
            0 => spec["leaseDurationSeconds"] = json!(0),
            1 => spec["leaseTransitions"] = json!(-1),
            2 => spec["renewTime"] = "yesterday".into(),
            3 => spec["holderIdentity"] = json!(""),
            4 => spec["leaseDurationSeconds"] = json!("15"),
            _ => spec["unknown"] = json!(1),
        }
    }
    json!({"spec": spec})
}

fn event(values: &mut Values<'_>) -> Value {
    let mut event = json!({
        "eventTime": "2001-01-01T00:00:00.000000Z",
        "reportingController": "kraken-hub",
        "reportingInstance": "kraken-hub-1",
        "action": "Create",
        "reason": values.random.one(["Created", "Failed"]),
        "type": values.random.one(["Normal", "Warning"]),
        "note": values.random.one(["created vpc-1", "ü", ""]),
        "regarding": {
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "name": "main", "namespace": "<<a>>",
        },
    });
    if values.random.chance(values.wrong * 2) {
        match values.random.below(8) {
            0 => drop(event.as_object_mut().map(|fields| fields.remove("action"))),
            1 => event["type"] = "Loud".into(),
            2 => event["note"] = "x".repeat(1025).into(),
            3 => event["regarding"]["namespace"] = "elsewhere".into(),
            4 => event["reportingController"] = "not a name".into(),
            5 => event["series"] = json!({"count": 1, "lastObservedTime": "2001-01-01T00:00:05.000000Z"}),
            6 => drop(event.as_object_mut().map(|fields| fields.remove("eventTime"))),
            _ => event["reason"] = json!(5),
        }
    }
    event
}
