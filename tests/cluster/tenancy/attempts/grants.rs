//! Attempts to refer to the resources of a namespace that did not grant it.

use serde_json::{Value, json};

use super::{
    Attempt,
    Expected::{Harmless, Refused, Stuck, Ungranted},
    Other, from, literal, object, template, vpc, with,
};
use crate::tenancy::{AWS, CORE, EXPORT};

/// A reference with a namespace, in the form of an object.
fn long(kind: &str, name: &str, namespace: &str, path: Option<&str>) -> Value {
    let mut reference = json!({"kind": kind, "name": name, "namespace": namespace});
    if let Some(path) = path {
        reference["path"] = path.into();
    }
    from(&json!({"krakenResource": reference}))
}

fn grant(name: &str, namespace: &str, from: &str) -> Value {
    let spec = json!({"from": [{"namespace": from}], "to": [{"kind": "VPC"}, {"kind": "static"}]});
    with(object(CORE, "ReferenceGrant", name, &spec), "namespace", &json!(namespace))
}

pub(super) fn attempts(victim: &Other) -> Vec<Attempt> {
    [references(victim), data(victim), exports(victim), records(victim)].concat()
}

/// Every form of a reference, and every kind that it may name.
fn references(victim: &Other) -> Vec<Attempt> {
    let (other, literal) = (victim.namespace.as_str(), literal());
    let cidr = Some("vpc.CidrBlock");
    let block = |name: &str, source: &Value| vpc(name, source, &json!({}));
    let short = |name: &str, text: &str| block(name, &from(&json!({"ref": text.replace("NS", other)})));
    let text = |name: &str, text: &str| block(name, &from(&template(&text.replace("NS", other))));
    let tagged = |name: &str, spec: Value| {
        let mut object = object(AWS, "VPC", name, &spec);
        object["spec"]["cidrBlock"] = literal.clone();
        object
    };
    let of_id = long("VPC", "main", other, None);
    vec![
        ("no grant: the id", block("g-id", &of_id), Ungranted),
        ("no grant: a path", block("g-path", &long("VPC", "main", other, cidr)), Ungranted),
        (
            "no grant: a JSONPath",
            block("g-json", &long("VPC", "main", other, Some("$.vpc.CidrBlock"))),
            Ungranted,
        ),
        ("no grant: every value", block("g-every", &long("VPC", "main", other, Some("$..*"))), Ungranted),
        ("no grant: in lower case", block("g-case", &long("v-p-c", "main", other, cidr)), Ungranted),
        ("no grant: with a group", block("g-group", &long("VPC.aws", "main", other, cidr)), Ungranted),
        (
            "no grant: with a whole group",
            block("g-whole", &long("VPC.aws.kraken-iac.eoinfennessy.com", "main", other, cidr)),
            Ungranted,
        ),
        ("no grant: a short reference", short("g-short", "VPC/NS:main"), Ungranted),
        ("no grant: a short path", short("g-short-path", "VPC/NS:main/vpc.CidrBlock"), Ungranted),
        ("no grant: a template", text("g-text", "{{ .VPC.NS:main.vpc.CidrBlock }}"), Ungranted),
        (
            "no grant: a name in brackets",
            text("g-brackets", "{{ .VPC[\"NS:main\"].vpc.CidrBlock }}"),
            Ungranted,
        ),
        (
            "no grant: a kind in brackets",
            text("g-kind", "{{ .[\"VPC.aws\"].NS:main.vpc.CidrBlock }}"),
            Ungranted,
        ),
        ("no grant: what does not exist", short("g-none", "VPC/NS:none"), Ungranted),
        ("no grant: a kind that nobody serves", short("g-bucket", "Bucket/NS:main"), Ungranted),
        ("no grant: another name of a granted kind", short("g-subnet", "Subnet/NS:other"), Ungranted),
        ("no grant: a static state", short("g-static", "static/NS:facts/cidr"), Ungranted),
        ("no grant: a tag", tagged("g-tag", json!({"tags": {"Team": of_id}})), Ungranted),
        (
            "no grant: an item of a list",
            tagged("g-item", json!({"secondaryCIDRBlocks": {"value": [of_id]}})),
            Ungranted,
        ),
        (
            "no grant: an order of creation",
            tagged(
                "g-order",
                json!({"lifecycle": {"dependsOn": [{"kind": "VPC", "name": "main", "namespace": other}]}}),
            ),
            Ungranted,
        ),
        ("no grant: a look-up", object(AWS, "SubnetLookup", "g-look", &json!({"vpcID": of_id})), Ungranted),
        (
            "a namespace as a path",
            block("g-dots", &long("VPC", "main", &format!("../{other}"), None)),
            Refused,
        ),
        (
            "a namespace in upper case",
            block("g-upper", &long("VPC", "main", &other.to_uppercase(), None)),
            Refused,
        ),
        ("two namespaces", short("g-two", "VPC/NS:NS:main"), Refused),
    ]
}

/// What cannot be granted.
fn data(victim: &Other) -> Vec<Attempt> {
    let other = victim.namespace.as_str();
    let block = |name: &str, source: &Value| vpc(name, source, &json!({}));
    let key = |class: &str, name: &str, key: &str| {
        from(&json!({class: {"name": name, "key": key, "namespace": other}}))
    };
    let text = |text: &str| from(&template(&text.replace("NS", other)));
    vec![
        ("a ConfigMap with a namespace", block("g-map", &key("configMap", "settings", "cidr")), Stuck),
        ("a Secret with a namespace", block("g-secret", &key("secret", "db", "password")), Stuck),
        (
            "a template with a ConfigMap",
            block("g-map-text", &text("{{ .ConfigMap.NS:settings.cidr }}")),
            Stuck,
        ),
        ("a template with a Secret", block("g-secret-text", &text("{{ .Secret.NS:db.password }}")), Stuck),
        (
            "a ConfigMap as a resource",
            block("g-map-kind", &long("ConfigMap", "settings", other, Some("cidr"))),
            Stuck,
        ),
        (
            "a Secret as a resource",
            block("g-secret-kind", &long("Secret", "db", other, Some("password"))),
            Stuck,
        ),
        (
            "a state as a resource",
            block("g-state", &long("StateDeclaration", "vpc.aws.main", other, None)),
            Stuck,
        ),
    ]
}

fn exports(victim: &Other) -> Vec<Attempt> {
    let other = victim.namespace.as_str();
    let export = |name: &str, kind: &str, value: &Value| {
        let mut entry = value.clone();
        entry["key"] = "k".into();
        let spec = json!({"configType": kind, "configMetadata": {"name": name}, "entries": [entry]});
        object(EXPORT, "ConfigExport", name, &spec)
    };
    let short = from(&json!({"ref": format!("VPC/{other}:main")}));
    let text = from(&template(&format!("{{{{ .VPC.{other}:main.spec.tags }}}}")));
    vec![
        ("no grant: an export", export("g-export", "ConfigMap", &short), Ungranted),
        ("no grant: an export to a Secret", export("g-vault", "Secret", &short), Ungranted),
        ("no grant: an export of a template", export("g-export-text", "ConfigMap", &text), Ungranted),
        (
            "no grant: an export that is kept",
            with_keep(export("g-kept", "ConfigMap", &long("vpc", "main", other, Some("$")))),
            Ungranted,
        ),
    ]
}

fn with_keep(mut export: Value) -> Value {
    export["spec"]["whileWaiting"] = "Keep".into();
    export
}

/// Grants and records of others.
fn records(victim: &Other) -> Vec<Attempt> {
    let other = victim.namespace.as_str();
    let own = |from: &str| {
        let spec = json!({"from": [{"namespace": from}], "to": [{"kind": "VPC", "name": "main"}]});
        object(CORE, "ReferenceGrant", &format!("g-to-{from}"), &spec)
    };
    let request = json!({"krakenResourceDependencies": [{"kind": "vpc", "name": "main", "namespace": other, "type": "any"}]});
    let labelled = json!({format!("references.kraken-iac.eoinfennessy.com/{other}"): ""});
    let forged = object(CORE, "DependencyRequest", "vpc.aws.g-forged", &request);
    vec![
        ("a grant in the other namespace", grant("g-theirs", other, "mallory"), Refused),
        ("a grant of the own namespace to the other", own(other), Harmless),
        ("a grant of the own namespace to a third", own("third"), Harmless),
        ("a request with a namespace", forged.clone(), Refused),
        ("a request with the label of the other", with(forged, "labels", &labelled), Refused),
    ]
}
