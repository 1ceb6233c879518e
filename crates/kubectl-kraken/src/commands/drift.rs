//! `kubectl kraken drift`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::selected;
use crate::{
    cluster::Cluster,
    graph::Node,
    output::TextOrJson,
    print::{Style, Table, out},
    resource::Resource,
};

/// The exit code if there is drift.
const DRIFTED: u8 = 2;

pub(super) async fn run(cluster: &Cluster, words: &[String], output: TextOrJson) -> Result<ExitCode> {
    let graph = selected(cluster, words).await?;
    let drifted: Vec<&Resource> = graph.resources().filter(|one| !one.status.drift.is_empty()).collect();
    match output {
        TextOrJson::Text if drifted.is_empty() => out("No drift.\n")?,
        TextOrJson::Text => out(&table(&drifted).render(Style::of_stdout()))?,
        TextOrJson::Json => out(&format!("{:#}\n", json(&drifted)))?,
    }
    Ok(if drifted.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DRIFTED) })
}

/// One row for each field. The values that may come from a Secret are `***` in the status already. Pure.
fn table(drifted: &[&Resource]) -> Table {
    let mut table = Table::new(&["NAMESPACE", "RESOURCE", "PATH", "WANT", "HAVE", "SINCE"]);
    for Resource { node, status, .. } in drifted {
        for diff in &status.drift {
            let since = diff.since.clone().unwrap_or_else(|| "-".to_owned());
            let path = format!("spec.{}", diff.path);
            table.plain([
                node.namespace.clone(),
                node.to_string(),
                path,
                diff.want.clone(),
                diff.have.clone(),
                since,
            ]);
        }
    }
    table
}

/// The same for programs. Pure.
pub(super) fn json(drifted: &[&Resource]) -> Value {
    let each = |resource: &&Resource| {
        let Node { namespace, group, kind, name } = &resource.node;
        json!({"namespace": namespace, "group": group, "kind": kind, "name": name, "drift": resource.status.drift})
    };
    drifted.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, object, ready};

    #[test]
    fn each_field_has_a_row() {
        let mut status = ready();
        status["drift"] = json!([
            {"path": "tags.Team", "want": "shop", "have": "other", "since": "2026-01-01T00:00:00Z"},
            {"path": "description", "want": "***", "have": "***"},
        ]);
        let graph = graph([object("SecurityGroup", "app", json!({}), status)]);
        let drifted: Vec<_> = graph.resources().collect();
        let style = Style { has_color: false, is_terminal: false, width: None };
        let expected = "\
NAMESPACE  RESOURCE           PATH              WANT  HAVE   SINCE
shop       SecurityGroup/app  spec.tags.Team    shop  other  2026-01-01T00:00:00Z
shop       SecurityGroup/app  spec.description  ***   ***    -
";
        assert_eq!(table(&drifted).render(style), expected);
        assert_eq!(json(&drifted)[0]["drift"][0]["have"], "other");
    }
}
