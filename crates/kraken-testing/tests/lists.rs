//! A real kube-apiserver accepts and enforces the schemas of lists and maps whose elements are literals or references, and of options
//! that accept no Secrets.

use std::collections::BTreeMap;

use anyhow::Result;
use kraken_kind::{
    Opt, option_object,
    options::{ListOpt, Public, PublicMap, ValueFrom},
};
use kraken_testing::{ControlPlane, TestNamespace, manifests, namespace};
use kube::{
    CustomResource, CustomResourceExt as _,
    api::{Patch, PatchParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// A list of each type of element.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "testing.kraken-iac.eoinfennessy.com", version = "v1alpha1", kind = "Lists", namespaced)]
struct ListsSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<ListOpt<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<ListOpt<u16>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<ListOpt<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    switches: Option<ListOpt<bool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lists: Option<ListOpt<Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maps: Option<ListOpt<BTreeMap<String, String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<ListOpt<Rule>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anything: Option<ListOpt<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<PublicMap<String>>,
    #[serde(rename = "keyName", skip_serializing_if = "Option::is_none")]
    key_name: Option<Public<Opt<String>>>,
}

/// A rule of a firewall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Rule {
    port: u16,
    #[serde(default = "tcp")]
    protocol: String,
}

option_object!(Rule);

fn tcp() -> String {
    "tcp".to_owned()
}

async fn test_namespace() -> Result<TestNamespace> {
    static CRD: OnceCell<()> = OnceCell::const_new();
    let client = ControlPlane::shared().await?.client().await?;
    CRD.get_or_try_init(|| async {
        let crd = manifests::parse("the CRD", &serde_json::to_string(&Lists::crd())?)?;
        manifests::apply(&client, &crd, "default").await.map(drop)
    })
    .await?;
    namespace(&client).await
}

/// The list that the API server stores for these elements, or its error.
async fn applied(ns: &TestNamespace, list: &str, elements: &Value) -> Result<Result<Value, String>> {
    let stored = stored(ns, list, &json!({"value": elements})).await?;
    Ok(stored.map(|mut stored| stored["value"].take()))
}

/// The value that the API server stores for a field, or its error.
async fn stored(ns: &TestNamespace, field: &str, written: &Value) -> Result<Result<Value, String>> {
    let object = json!({
        "apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1",
        "kind": "Lists",
        "metadata": {"name": "x"},
        "spec": {field: written},
    });
    let api = ns.api::<Lists>();
    match api.patch("x", &PatchParams::apply("test").force(), &Patch::Apply(&object)).await {
        Ok(stored) => Ok(Ok(serde_json::to_value(stored.spec)?[field].take())),
        Err(kube::Error::Api(refusal)) => Ok(Err(refusal.message)),
        Err(other) => Err(other.into()),
    }
}

fn reference() -> Value {
    json!({"valueFrom": {"krakenResource": {"kind": "vpc", "name": "main"}}})
}

#[tokio::test]
async fn literals_of_the_type_and_references_are_kept_as_they_are() -> Result<()> {
    let ns = test_namespace().await?;
    for (list, literals) in [
        ("texts", json!(["a", "", "7"])),
        ("ports", json!([80, 0])),
        ("shares", json!([0.5, 3.0])),
        ("switches", json!([true, false])),
        ("lists", json!([["a"], []])),
        ("maps", json!([{"a": "b"}, {}])),
        ("rules", json!([{"port": 80, "protocol": "udp"}])),
        ("anything", json!(["a", 1, {"a": {"b": [null]}}, ["c"], true])),
    ] {
        let mut elements = literals.as_array().cloned().unwrap_or_default();
        elements.insert(1, reference());
        let elements = Value::from(elements);
        assert_eq!(applied(&ns, list, &elements).await?, Ok(elements), "{list}");
    }
    Ok(())
}

#[tokio::test]
async fn everything_else_is_rejected_with_its_position() -> Result<()> {
    let ns = test_namespace().await?;
    let two =
        json!({"valueFrom": {"secret": {"name": "a", "key": "b"}, "configMap": {"name": "a", "key": "b"}}});
    let both = json!({"port": 80, "valueFrom": {"secret": {"name": "a", "key": "b"}}});
    for (list, wrong) in [
        ("texts", vec![json!(0), json!(1.5), json!(true), json!([]), json!({}), json!({"value": "a"})]),
        ("ports", vec![json!("80"), json!(""), json!(1.5), json!(false), json!([80]), json!({})]),
        ("shares", vec![json!("80"), json!(false), json!([0.5]), json!({})]),
        ("switches", vec![json!("true"), json!(0), json!([true]), json!({})]),
        ("lists", vec![json!("a"), json!(0), json!(true), json!({})]),
        ("maps", vec![json!("a"), json!(0), json!(true), json!([])]),
        ("rules", vec![json!("a"), json!(null), json!({}), json!({"port": "80"}), both]),
    ] {
        for wrong in wrong.into_iter().chain([two.clone(), json!({"valueFrom": {}}), json!({"valueFrom": 1})])
        {
            let refusal = applied(&ns, list, &json!([reference(), wrong])).await?;
            let place = format!("spec.{list}.value[1]");
            assert!(refusal.as_ref().is_err_and(|why| why.contains(&place)), "{wrong}: {refusal:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_default_of_a_field_is_not_put_beside_a_reference() -> Result<()> {
    let ns = test_namespace().await?;
    let stored = applied(&ns, "rules", &json!([{"port": 80}, reference()])).await?;
    // Read again: the literal has its default, the reference has none.
    assert_eq!(stored, Ok(json!([{"port": 80, "protocol": "tcp"}, reference()])));
    Ok(())
}

#[tokio::test]
async fn a_map_keeps_texts_and_references_and_rejects_everything_else_with_its_key() -> Result<()> {
    let ns = test_namespace().await?;
    let tags = json!({
        "Name": "web", "Empty": "", "a.b/c": reference(), "Short": {"valueFrom": {"ref": "VPC.aws/main/vpc.CidrBlock"}},
    });
    assert_eq!(stored(&ns, "tags", &tags).await?, Ok(tags));
    // A literal becomes a reference in place: the API server merges a text with an object.
    let tags = json!({"Name": reference(), "a.b/c": "web"});
    assert_eq!(stored(&ns, "tags", &tags).await?, Ok(tags));
    for wrong in [
        json!(3),
        json!(true),
        json!(["a"]),
        // Not `{}`: server-side apply treats an empty object without a schema as an absent field.
        json!({"value": "a"}),
        json!({"valueFrom": {}}),
        json!({"valueFrom": {"ref": "VPC"}}),
        json!({"valueFrom": {"ref": "VPC/Main"}}),
        json!({"valueFrom": {"ref": "VPC/main/"}}),
        json!({"valueFrom": {"krakenResource": {"kind": "V_PC", "name": "main"}}}),
    ] {
        let refusal = stored(&ns, "tags", &json!({"Name": wrong})).await?;
        assert!(refusal.as_ref().is_err_and(|why| why.contains("spec.tags.Name")), "{wrong}: {refusal:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_secret_for_a_public_field_is_rejected_at_admission() -> Result<()> {
    let ns = test_namespace().await?;
    let secret = json!({"valueFrom": {"secret": {"name": "db", "key": "password"}}});
    let template = |text: &str| json!({"valueFrom": {"templateString": text}});
    for wrong in [
        secret.clone(),
        template("web-{{ .Secret.db.password }}"),
        template("{{.se-cret[\"d.b\"].password}}"),
        template("{{ [\"Secret\"].db.password }}"),
    ] {
        for (field, written) in [("keyName", wrong.clone()), ("tags", json!({"Name": wrong}))] {
            let refusal = stored(&ns, field, &written).await?;
            assert!(refusal.is_err(), "{field}: {written}: {refusal:?}");
        }
    }
    for right in
        [template("{{ .Secrets.db.password }} Secret.x {{ .ConfigMap.secret.x }}"), json!({"value": "ops"})]
    {
        assert_eq!(stored(&ns, "keyName", &right).await?, Ok(right));
    }
    // If the value is not public, a Secret is a valid source.
    assert_eq!(stored(&ns, "texts", &secret).await?, Ok(secret));
    Ok(())
}

#[test]
fn a_whole_list_is_still_a_source() -> Result<()> {
    let list: ListOpt<Rule> =
        serde_json::from_value(json!({"valueFrom": {"templateString": "[{\"port\": 80}]"}}))?;
    assert_eq!(list, Opt::ValueFrom(ValueFrom::TemplateString("[{\"port\": 80}]".into())));
    Ok(())
}
