//! A real kube-apiserver takes the schema of lists whose elements are literals or references, and holds users to it.

use std::collections::BTreeMap;

use anyhow::Result;
use kraken_spoke::options::{ListOpt, ValueFrom};
use kraken_spoke::{Opt, option_object};
use kraken_testing::{ControlPlane, TestNamespace, manifests, namespace};
use kube::api::{Patch, PatchParams};
use kube::{CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// A list of each sort.
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

/// What the API server stores of a list with these elements, or its refusal.
async fn applied(ns: &TestNamespace, list: &str, elements: &Value) -> Result<Result<Value, String>> {
    let object = json!({
        "apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1",
        "kind": "Lists",
        "metadata": {"name": "x"},
        "spec": {list: {"value": elements}},
    });
    let api = ns.api::<Lists>();
    match api.patch("x", &PatchParams::apply("test").force(), &Patch::Apply(&object)).await {
        Ok(stored) => Ok(Ok(serde_json::to_value(stored.spec)?[list]["value"].clone())),
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
async fn everything_else_is_refused_with_its_place() -> Result<()> {
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
    // Read back: the literal has its default, the reference stands alone.
    assert_eq!(stored, Ok(json!([{"port": 80, "protocol": "tcp"}, reference()])));
    Ok(())
}

#[test]
fn a_whole_list_is_still_a_source() -> Result<()> {
    let list: ListOpt<Rule> =
        serde_json::from_value(json!({"valueFrom": {"templateString": "[{\"port\": 80}]"}}))?;
    assert_eq!(list, Opt::ValueFrom(ValueFrom::TemplateString("[{\"port\": 80}]".into())));
    Ok(())
}
