//! `kubectl kraken inventory`.

use std::process::ExitCode;

use anyhow::Result;
use kraken_api::Deletion;
use serde_json::{Value, json};

use super::{graph, status::none};
use crate::{
    cluster::Cluster,
    graph::Graph,
    output::InventoryOutput,
    print::{Style, Table, clean, out},
    resource::Resource,
};

/// The columns.
const COLUMNS: [&str; 8] = ["NAMESPACE", "KIND", "NAME", "ID", "REGION", "ACCOUNT", "ORIGIN", "ON DELETION"];

pub(super) async fn run(cluster: &Cluster, output: InventoryOutput) -> Result<ExitCode> {
    let rows = rows(&graph(cluster).await?);
    match output {
        InventoryOutput::Table if rows.is_empty() => eprintln!("{}", none(cluster)),
        InventoryOutput::Table => out(&table(&rows).render(Style::of_stdout()))?,
        InventoryOutput::Csv => out(&csv(&rows))?,
        InventoryOutput::Json => out(&format!("{:#}\n", json(&rows)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One row for each remote object, and one for a resource without any. Kinds without remote objects are omitted. Pure.
fn rows(graph: &Graph) -> Vec<[String; 8]> {
    let has_objects =
        |resource: &&Resource| !matches!(resource.node.kind.as_str(), "Account" | "ConfigExport");
    let of = |resource: &Resource| {
        let ids = &resource.status.external_ids;
        let ids: Vec<&str> = if ids.is_empty() { vec![""] } else { ids.iter().map(String::as_str).collect() };
        ids.into_iter().map(|id| row(resource, id)).collect::<Vec<_>>()
    };
    graph.resources().filter(has_objects).flat_map(of).collect()
}

fn row(resource: &Resource, id: &str) -> [String; 8] {
    let location = resource.status.location.clone().unwrap_or_default();
    let is_adopted = resource.status.adopted.iter().any(|adopted| adopted == id);
    let deletion = match resource.deletion(id) {
        _ if id.is_empty() => "",
        _ if resource.is_protected() => "refused",
        Some(Deletion::Delete) => "deleted",
        Some(Deletion::Retain) => "kept",
        None => "unknown",
    };
    let origin = match id {
        "" => "",
        _ if is_adopted => "adopted",
        _ => "created",
    };
    let node = &resource.node;
    let [namespace, kind, name] = [&node.namespace, &node.kind, &node.name].map(Clone::clone);
    [
        namespace,
        kind,
        name,
        id.to_owned(),
        location.region,
        location.account,
        origin.to_owned(),
        deletion.to_owned(),
    ]
}

fn table(rows: &[[String; 8]]) -> Table {
    let mut table = Table::new(&COLUMNS);
    for row in rows {
        table.plain(row.iter().map(|cell| if cell.is_empty() { "-" } else { cell }));
    }
    table
}

/// RFC 4180.
fn csv(rows: &[[String; 8]]) -> String {
    let cell = |text: &str| {
        let text = clean(text);
        if text.contains(['"', ',']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
    };
    let line = |cells: Vec<String>| format!("{}\r\n", cells.join(","));
    let headings = COLUMNS.iter().map(|heading| heading.to_lowercase().replace(' ', "_")).collect();
    std::iter::once(headings)
        .chain(rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()))
        .map(line)
        .collect()
}

fn json(rows: &[[String; 8]]) -> Value {
    let object = |[namespace, kind, name, id, region, account, origin, deletion]: &[String; 8]| {
        json!({"namespace": namespace, "kind": kind, "name": name, "id": id, "region": region, "account": account,
            "origin": origin, "onDeletion": deletion})
    };
    rows.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, object, ready};

    fn with(name: &str, lifecycle: Value, more: Value) -> kube::api::DynamicObject {
        let mut status = ready();
        for (key, value) in more.as_object().unwrap() {
            status[key] = value.clone();
        }
        object("VPC", name, json!({"lifecycle": lifecycle}), status)
    }

    #[test]
    fn each_remote_object_has_a_row_with_what_a_deletion_does() {
        let location = json!({"account": "123456789012", "region": "eu-west-1"});
        let rows = rows(&graph([
            with(
                "a",
                json!({}),
                json!({"externalIds": ["vpc-1", "vpc-2"], "adopted": ["vpc-2"], "location": location}),
            ),
            with("b", json!({"deletion": "Retain"}), json!({"externalIds": ["vpc-3"]})),
            with("c", json!({"protect": true}), json!({"externalIds": ["vpc-4"]})),
            with("d", json!({"deletion": "Odd"}), json!({"externalIds": ["vpc-5"]})),
            with("e", json!({}), json!({})),
            object("Account", "default", json!({}), ready()),
        ]));
        let of: Vec<_> = rows.iter().map(|row| row[3..].join(" ")).collect();
        assert_eq!(
            of,
            [
                "vpc-1 eu-west-1 123456789012 created deleted",
                "vpc-2 eu-west-1 123456789012 adopted kept",
                "vpc-3   created kept",
                "vpc-4   created refused",
                "vpc-5   created unknown",
                "    ",
            ]
        );
        assert_eq!(json(&rows)[1]["onDeletion"], "kept");
        assert!(
            csv(&rows)
                .starts_with("namespace,kind,name,id,region,account,origin,on_deletion\r\nshop,VPC,a,vpc-1,")
        );
    }

    #[test]
    fn text_with_commas_is_quoted_in_csv() {
        let mut row: [String; 8] = Default::default();
        row[3] = "a,\"b\"".to_owned();
        assert!(csv(&[row]).ends_with(",,,\"a,\"\"b\"\"\",,,,\r\n"));
    }
}
