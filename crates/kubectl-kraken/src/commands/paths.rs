//! `kubectl kraken paths`: what the published state of a resource has, as references that can be pasted.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Result, anyhow, bail};
use kraken_api::{
    StateDeclarationSpec,
    names::{owned_name, owner_kind},
    state_declaration::STATIC_KIND,
};
use kraken_options::JsonType;
use kube::{Api, ResourceExt as _, api::DynamicObject};
use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    discovery::Kind,
    failure::explain,
    output::TextOrJson,
    print::{Style, Table, out},
    target,
};

/// The depth of a state that is shown; deeper values are shown as a whole.
const MAX_DEPTH: usize = 16;

/// One value that can be referenced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// `VPC/main/vpc.CidrBlock`.
    reference: String,
    /// Without kind and name; empty for the main id.
    path: String,
    json_type: JsonType,
    /// `None` if it is not published.
    value: Option<Value>,
    note: String,
}

pub(super) async fn run(cluster: &Cluster, words: &[String], output: TextOrJson) -> Result<ExitCode> {
    if cluster.scope.is_none() {
        bail!("references are within one namespace: use -n instead of -A");
    }
    let rows = match words {
        [kind] if !kind.contains('/') => of_kind(cluster, kind).await?,
        words => of_one(cluster, words).await?,
    };
    match output {
        TextOrJson::Text => out(&table(&rows).render(Style::of_stdout()))?,
        TextOrJson::Json => out(&format!("{:#}\n", json(&rows)))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn of_one(cluster: &Cluster, words: &[String]) -> Result<Vec<Row>> {
    let target = target::one(words)?;
    let (prefix, name, waiting) = if target.kind.eq_ignore_ascii_case(STATIC_KIND) {
        let name = format!("{STATIC_KIND}-{}", target.name);
        (
            format!("{STATIC_KIND}/{}", target.name),
            name.clone(),
            format!("StateDeclaration {name} does not exist"),
        )
    } else {
        // With an error that says whether it does not exist or may not be read.
        let (kind, _) = cluster.get(&target).await?;
        let prefix = format!("{}/{}", kind_in_reference(cluster, kind), target.name);
        let name = owned_name(&owner_kind(&kind.resource.kind, &kind.resource.group), &target.name);
        let argument = format!("{}/{}", kind.resource.kind.to_lowercase(), target.name);
        let waiting = format!(
            "{}/{} has not published a state; see kubectl kraken why {argument} -n {}",
            kind.resource.kind, target.name, cluster.namespace
        );
        (prefix, name, waiting)
    };
    let found = states(cluster)?.get_opt(&name).await;
    let doing = format!("get StateDeclaration {name} in namespace {}", cluster.namespace);
    let found = found.map_err(|error| explain(error, &doing, &cluster.server))?;
    let found = found.ok_or_else(|| anyhow!("{waiting}"))?;
    Ok(rows(&prefix, &state(&found)))
}

/// The paths of all resources of a kind, each with the value of the first one that has it.
async fn of_kind(cluster: &Cluster, word: &str) -> Result<Vec<Row>> {
    let kind = cluster.kind(word)?;
    let in_reference = kind_in_reference(cluster, kind);
    let listed = cluster.list(&[kind]).await?;
    if !listed.forbidden.is_empty() {
        bail!("you may not list {} in namespace {}", kind.full_name(), cluster.namespace);
    }
    let owner = owner_kind(&kind.resource.kind, &kind.resource.group);
    let api = states(cluster)?;
    let (mut all, mut seen) = (vec![], BTreeSet::new());
    for resource in &listed.objects {
        let name = resource.name_any();
        let found = api.get_opt(&owned_name(&owner, &name)).await;
        let doing = format!("get a StateDeclaration in namespace {}", cluster.namespace);
        let Some(found) = found.map_err(|error| explain(error, &doing, &cluster.server))? else { continue };
        let rows = rows(&format!("{in_reference}/{name}"), &state(&found));
        all.extend(rows.into_iter().filter(|row| seen.insert(row.path.clone())));
    }
    if all.is_empty() {
        let kind = &kind.resource.kind;
        bail!("no {kind} in namespace {} has published a state, which shows the paths", cluster.namespace);
    }
    Ok(all)
}

/// With its group if several providers have the kind.
fn kind_in_reference(cluster: &Cluster, kind: &Kind) -> String {
    let name = &kind.resource.kind;
    if cluster.kinds.of_reference(name).count() == 1 {
        return name.clone();
    }
    format!("{name}.{}", kind.resource.group.split('.').next().unwrap_or_default())
}

fn states(cluster: &Cluster) -> Result<Api<DynamicObject>> {
    let kind = cluster.kinds.named("StateDeclaration").ok_or_else(|| {
        anyhow!("the cluster at {} has no StateDeclarations: install the hub", cluster.server)
    })?;
    Ok(cluster.api(kind, Some(&cluster.namespace)))
}

fn state(object: &DynamicObject) -> StateDeclarationSpec {
    let spec = &object.data["spec"];
    serde_json::from_value(spec.clone()).unwrap_or_else(|_| StateDeclarationSpec {
        data: spec["data"].clone(),
        id: spec["id"].as_str().map(str::to_owned),
        withheld: vec![],
    })
}

/// Everything in a state: the main id, then its values. Pure.
fn rows(prefix: &str, state: &StateDeclarationSpec) -> Vec<Row> {
    let mut rows = vec![];
    if let Some(id) = &state.id {
        rows.push(Row {
            reference: prefix.to_owned(),
            path: String::new(),
            json_type: JsonType::String,
            value: Some(id.as_str().into()),
            note: "the main id".to_owned(),
        });
    }
    let mut found = vec![];
    walk(&state.data, "", 0, &mut found);
    rows.extend(found.into_iter().map(|(path, value, note)| Row {
        reference: format!("{prefix}/{path}"),
        json_type: JsonType::of(&value),
        path,
        value: Some(value),
        note,
    }));
    for withheld in &state.withheld {
        let fields: Vec<_> = withheld.fields().map(|field| format!("spec.{field}")).collect();
        rows.push(Row {
            reference: format!("{prefix}/{}", withheld.path),
            path: withheld.path.clone(),
            json_type: JsonType::Any,
            value: None,
            note: format!("not published: {} refers to a Secret", fields.join(", ")),
        });
    }
    rows
}

/// The scalars and lists of scalars below a value. Of a list of objects: the first one, and each field of all of them as a list.
fn walk(value: &Value, at: &str, depth: usize, found: &mut Vec<(String, Value, String)>) {
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => {
            for (name, inner) in fields {
                walk(inner, &joined(at, name), depth + 1, found);
            }
        }
        Value::Array(items) if depth < MAX_DEPTH && items.iter().any(Value::is_object) => {
            if let Some(first) = items.first() {
                let start = found.len();
                walk(first, &joined(at, "0"), depth + 1, found);
                if let Some(last) = found.get_mut(start).filter(|_| items.len() > 1) {
                    last.2 = format!("of the first of {}", items.len());
                }
            }
            for name in items.first().and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys())
            {
                let all: Vec<Value> = items.iter().filter_map(|item| item.get(name).cloned()).collect();
                let is_scalar = |value: &Value| !value.is_object() && !value.is_array() && !value.is_null();
                if let Some(query) = query(at, name).filter(|_| all.iter().all(is_scalar)) {
                    found.push((query, all.into(), "of all of them".to_owned()));
                }
            }
        }
        Value::Null => {}
        value => found.push((at.to_owned(), value.clone(), String::new())),
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn joined(at: &str, name: &str) -> String {
    match (at, is_plain(name)) {
        (_, false) => format!("{at}[{}]", Value::from(name)),
        ("", true) => name.to_owned(),
        (at, true) => format!("{at}.{name}"),
    }
}

/// The JSONPath of a field of all items of a list; `None` if a name in it requires more quoting.
fn query(at: &str, name: &str) -> Option<String> {
    let step = |part: &str| match part {
        part if !is_plain(part) => None,
        part if part.bytes().all(|byte| byte.is_ascii_digit()) => Some(format!("[{part}]")),
        part if part.contains('-') => Some(format!("['{part}']")),
        part => Some(format!(".{part}")),
    };
    let list: Option<String> = at.split('.').map(step).collect();
    Some(format!("${}[*]{}", list?, step(name)?))
}

/// A reference as the content of an option, in the flow style of YAML.
fn pasted(reference: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '$');
    if reference.chars().all(is_safe) {
        format!("valueFrom: {{ref: {reference}}}")
    } else {
        format!("valueFrom: {{ref: '{}'}}", reference.replace('\'', "''"))
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["REFERENCE", "TYPE", "VALUE", "NOTE"]);
    for row in rows {
        let value = match &row.value {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "-".to_owned(),
        };
        // A path that is not published cannot be pasted.
        let reference = if row.value.is_some() { pasted(&row.reference) } else { row.reference.clone() };
        table.plain([reference, row.json_type.to_string(), value, row.note.clone()]);
    }
    table
}

fn json(rows: &[Row]) -> Value {
    let each = |row: &Row| json!({"ref": row.reference, "path": row.path, "type": row.json_type, "value": row.value, "note": row.note});
    rows.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use kraken_api::state_declaration::Withheld;
    use kraken_options::Path;

    use super::*;

    fn state() -> StateDeclarationSpec {
        StateDeclarationSpec {
            data: json!({
                "instances": [{"InstanceId": "i-1", "Nics": [{"VpcId": "vpc-1"}]}, {"InstanceId": "i-2"}],
                "vpc": {"CidrBlock": "10.0.0.0/16", "IsDefault": false, "None": null, "Tags": {"a.b": "x"}, "Zones": ["a", "b"]},
            }),
            id: Some("vpc-1".to_owned()),
            withheld: vec![Withheld { path: "instances.UserData".into(), field: "userData".into() }],
        }
    }

    #[test]
    fn each_value_is_a_reference_with_type_and_value() {
        let style = Style { has_color: false, is_terminal: false, width: None };
        let expected = "\
REFERENCE                                                 TYPE     VALUE          NOTE
valueFrom: {ref: VPC/main}                                string   vpc-1          the main id
valueFrom: {ref: VPC/main/instances.0.InstanceId}         string   i-1            of the first of 2
valueFrom: {ref: VPC/main/instances.0.Nics.0.VpcId}       string   vpc-1
valueFrom: {ref: 'VPC/main/$.instances[0].Nics[*].VpcId'}  array    [\"vpc-1\"]      of all of them
valueFrom: {ref: 'VPC/main/$.instances[*].InstanceId'}    array    [\"i-1\",\"i-2\"]  of all of them
valueFrom: {ref: VPC/main/vpc.CidrBlock}                  string   10.0.0.0/16
valueFrom: {ref: VPC/main/vpc.IsDefault}                  boolean  false
valueFrom: {ref: 'VPC/main/vpc.Tags[\"a.b\"]'}              string   x
valueFrom: {ref: VPC/main/vpc.Zones}                      array    [\"a\",\"b\"]
VPC/main/instances.UserData                               any      -              not published: spec.userData refers to a Secret
";
        let printed = table(&rows("VPC/main", &state())).render(style);
        let squeezed = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(squeezed(&printed), squeezed(expected));
    }

    #[test]
    fn each_path_resolves_to_the_value_that_is_shown() {
        let state = state();
        for row in rows("VPC/main", &state).iter().filter(|row| !row.path.is_empty() && row.value.is_some()) {
            let found = row.path.parse::<Path>().unwrap().find(&state.data).unwrap();
            assert_eq!(Some(found), row.value, "{}", row.path);
        }
    }

    #[test]
    fn the_query_names_all_items_of_the_last_list() {
        assert_eq!(query("instances", "Id").as_deref(), Some("$.instances[*].Id"));
        assert_eq!(query("a.0.b", "c").as_deref(), Some("$.a[0].b[*].c"));
        assert_eq!(query("a-b", "c").as_deref(), Some("$['a-b'][*].c"));
        assert_eq!(query("a[\"b\"]", "c"), None);
    }
}
