//! The ConfigExports: which keys of which ConfigMap or Secret have values of which resources. No value is read. Pure.

use serde_json::{Value, json};

use super::live::key;
use crate::{
    graph::{Graph, Node, Via},
    resource::Resource,
};

/// One entry for each ConfigExport.
pub(super) fn exports(graph: &Graph) -> Value {
    let exports = graph.resources().filter(|resource| resource.node.kind == "ConfigExport");
    exports.map(|resource| export(graph, resource)).collect()
}

fn export(graph: &Graph, resource: &Resource) -> Value {
    let spec = &resource.spec;
    let name = [&spec["configMetadata"]["name"], &spec["name"]]
        .iter()
        .find_map(|name| name.as_str().map(str::to_owned));
    let kind = spec["configType"].as_str().unwrap_or("ConfigMap");
    let target = resource.target.clone().unwrap_or_else(|| {
        let name = name.unwrap_or_else(|| resource.node.name.clone());
        format!("{kind}/{name}")
    });
    let entry = |(index, entry): (usize, &Value)| {
        let path = format!("entries[{index}]");
        json!({"key": entry["key"], "from": sources(graph, &resource.node, &path)})
    };
    let entries = spec["entries"].as_array().map_or(&[][..], Vec::as_slice);
    json!({
        "key": key(&resource.node), "target": target,
        "entries": entries.iter().enumerate().map(entry).collect::<Vec<_>>(),
    })
}

/// The objects whose values an entry has; none for a literal.
fn sources(graph: &Graph, export: &Node, at: &str) -> Vec<Value> {
    let source = |used: &crate::graph::Use| match &used.via {
        Via::Field { path, entry }
            if path == at || path.strip_prefix(at).is_some_and(|rest| rest.starts_with('.')) =>
        {
            Some(
                json!({"object": used.of.to_string(), "key": graph.get(&used.of).map(|_| key(&used.of)), "path": entry}),
            )
        }
        _ => None,
    };
    graph.uses(export).iter().filter_map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, object, ready};

    #[test]
    fn each_key_of_an_export_has_its_sources() {
        let spec = json!({"configType": "Secret", "configMetadata": {"name": "app"}, "entries": [
            {"key": "vpc", "valueFrom": {"ref": "VPC/main"}}, {"key": "fixed", "value": "abc"},
            {"key": "password", "valueFrom": {"secret": {"name": "db", "key": "password"}}}]});
        let graph =
            graph([object("ConfigExport", "app", spec, ready()), object("VPC", "main", json!({}), ready())]);
        let exports = exports(&graph);
        assert_eq!(exports[0]["target"], "Secret/app");
        assert_eq!(exports[0]["entries"][0]["from"][0]["object"], "VPC/main");
        assert_eq!(exports[0]["entries"][1]["from"], json!([]));
        assert_eq!(exports[0]["entries"][2]["from"][0]["object"], "Secret/db");
        assert!(!exports.to_string().contains("abc"), "values are not shown");
    }
}
