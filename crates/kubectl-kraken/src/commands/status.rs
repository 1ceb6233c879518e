//! `kubectl kraken status`.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::Result;
use serde_json::{Value, json};

use super::{existing, graph};
use crate::{
    cluster::Cluster,
    graph::{Graph, Node, Ranked},
    output::TextOrJson,
    print::{Color, Lines, Style, Table, count, out},
    resource::{Next, Ready, Resource},
};

/// The root causes that are printed.
const MAX_RANKED: usize = 10;

pub(super) async fn run(cluster: &Cluster, words: &[String], output: TextOrJson) -> Result<ExitCode> {
    let graph = graph(cluster).await?;
    let nodes = shown(cluster, &graph, words).await?;
    match output {
        TextOrJson::Text if nodes.is_empty() => eprintln!("{}", none(cluster)),
        TextOrJson::Text => out(&text(&graph, &nodes, Style::of_stdout()))?,
        TextOrJson::Json => out(&format!("{:#}\n", json(&graph, &nodes)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The words of kubectl for an empty list.
pub(super) fn none(cluster: &Cluster) -> String {
    match &cluster.scope {
        Some(namespace) => format!("No resources found in {namespace} namespace."),
        None => "No resources found.".to_owned(),
    }
}

/// All resources, or one with what it uses and what uses it.
pub(super) async fn shown(cluster: &Cluster, graph: &Graph, words: &[String]) -> Result<Vec<Node>> {
    if words.is_empty() {
        return Ok(graph.resources().map(|resource| resource.node.clone()).collect());
    }
    let node = existing(cluster, graph, words).await?;
    let mut reached = graph.reached(&node, true);
    reached.extend(graph.reached(&node, false));
    Ok(reached.into_iter().filter(|node| graph.get(node).is_some()).collect())
}

/// A tree for each namespace, then what to fix first. Pure.
pub(super) fn text(graph: &Graph, nodes: &[Node], style: Style) -> String {
    let mut namespaces: Vec<&str> = nodes.iter().map(|node| node.namespace.as_str()).collect();
    namespaces.dedup();
    let mut text = Lines::default();
    for namespace in namespaces {
        let own: Vec<Node> = nodes.iter().filter(|node| node.namespace == namespace).cloned().collect();
        if !text.is_empty() {
            text.line("");
        }
        text.line(headline(graph, namespace, &own));
        text.rendered(&tree(graph, &own, style).render(style));
    }
    fix_first(&graph.ranked(nodes), &mut text);
    text.finish()
}

/// The counts of one namespace, in one line.
pub(super) fn headline(graph: &Graph, namespace: &str, nodes: &[Node]) -> String {
    let resources: Vec<&Resource> = nodes.iter().filter_map(|node| graph.get(node)).collect();
    let number = |is: &dyn Fn(&Resource) -> bool| resources.iter().filter(|one| is(one)).count();
    let mut parts =
        vec![count(resources.len(), "resource"), format!("{} ready", number(&|one| one.ready == Ready::Yes))];
    for (words, number) in [
        ("not ready", number(&|one| one.ready != Ready::Yes)),
        ("awaiting approval", number(&|one| one.pending_plan().is_some())),
        ("drifted", number(&|one| one.is_drifted)),
        ("being deleted", number(&|one| one.is_deleting)),
    ] {
        if number > 0 {
            parts.push(format!("{number} {words}"));
        }
    }
    let locations: BTreeSet<String> =
        resources.iter().filter_map(|one| one.status.location.as_ref().map(ToString::to_string)).collect();
    let location = match locations.len() {
        0 => String::new(),
        1 => format!(" ({})", locations.into_iter().next().unwrap_or_default()),
        number => format!(" ({number} accounts or regions)"),
    };
    format!("Namespace {namespace}{location}: {}", parts.join(", "))
}

fn tree(graph: &Graph, nodes: &[Node], style: Style) -> Table {
    let mut table = Table::new(&["NAME", "READY", "REASON", "ID", "NOTE"]);
    for row in graph.tree(nodes) {
        let Some(resource) = graph.get(&row.node) else { continue };
        let (state, color) = state(resource);
        let color = Some(color).filter(|_| style.has_color);
        let note = graph.note(resource);
        table.row([
            (format!("{}{}", row.branch, row.node), None),
            (state.to_owned(), color),
            (resource.reason.clone(), None),
            (ids(resource), None),
            (note, None),
        ]);
    }
    table
}

/// The status of the Ready condition and its color: yellow if the controller acts next.
pub(super) fn state(resource: &Resource) -> (&'static str, Color) {
    let color = if resource.next() == Next::Controller { Color::Yellow } else { Color::Red };
    match resource.ready {
        Ready::Yes => ("True", Color::Green),
        Ready::No => ("False", color),
        Ready::Unknown => ("Unknown", color),
    }
}

/// The main id of its remote objects, or of what a look-up found, and the number of others.
fn ids(resource: &Resource) -> String {
    match resource.ids() {
        [] => "-".to_owned(),
        [one] => short(one),
        [first, others @ ..] => format!("{} +{}", short(first), others.len()),
    }
}

/// The end of an ARN, by which `find` finds the resource too: whole ARNs leave no room for notes.
fn short(id: &str) -> String {
    match id.rsplit_once('/').filter(|_| id.starts_with("arn:")) {
        Some((_, end)) => format!("…/{end}"),
        None => id.to_owned(),
    }
}

/// What to fix first, and what is only to be waited for.
fn fix_first(ranked: &[Ranked], text: &mut Lines) {
    let (persons, progress): (Vec<_>, Vec<_>) = ranked.iter().partition(|one| one.root.next == Next::Person);
    if !persons.is_empty() {
        text.line("");
        text.line("Fix first:");
    }
    for (index, one) in persons.iter().take(MAX_RANKED).enumerate() {
        text.line(format!("  {}. {}", index + 1, ranked_line(one)));
        if let Some(remedy) = &one.root.remedy {
            text.line(format!("     {remedy}"));
        }
    }
    if persons.len() > MAX_RANKED {
        text.line(format!("  ... and {} more", persons.len() - MAX_RANKED));
    }
    if !progress.is_empty() {
        let names: Vec<_> = progress.iter().take(MAX_RANKED).map(|one| one.root.node.to_string()).collect();
        let more = progress.len().saturating_sub(MAX_RANKED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.line("");
        text.line(format!("In progress: {}{more}", names.join(", ")));
    }
}

fn ranked_line(one: &Ranked) -> String {
    let held = one.holds_back.len();
    let is_itself = one.holds_back.contains(&one.root.node);
    let others = held - usize::from(is_itself);
    let effect = match others {
        0 => String::new(),
        _ => format!("  (unblocks {others})"),
    };
    let about = &one.root.message;
    // A message about a ConfigMap or a Secret begins with its name.
    let name = one.root.node.to_string().replace('/', " ");
    let is_named = about.to_lowercase().starts_with(&name.to_lowercase());
    if is_named { format!("{about}{effect}") } else { format!("{}: {about}{effect}", one.root.node) }
}

/// The same for programs. Pure.
pub(super) fn json(graph: &Graph, nodes: &[Node]) -> Value {
    json!({
        "resources": nodes.iter().filter_map(|node| graph.get(node)).map(|one| resource_json(graph, one)).collect::<Vec<_>>(),
        "fixFirst": fix_first_json(&graph.ranked(nodes)),
    })
}

/// One resource, for programs.
pub(super) fn resource_json(graph: &Graph, resource: &Resource) -> Value {
    json!({
        "namespace": resource.node.namespace, "group": resource.node.group, "kind": resource.node.kind,
        "name": resource.node.name, "ready": state(resource).0, "reason": resource.reason,
        "message": resource.message, "ids": resource.ids(), "note": graph.note(resource),
        "drifted": resource.is_drifted, "deleting": resource.is_deleting,
        "pendingPlan": resource.pending_plan().map(|plan| &plan.hash),
    })
}

/// What to fix first, for programs.
pub(super) fn fix_first_json(ranked: &[Ranked]) -> Value {
    let one = |one: &Ranked| {
        let names: Vec<_> = one.holds_back.iter().map(ToString::to_string).collect();
        json!({
            "namespace": one.root.node.namespace, "object": one.root.node.to_string(), "message": one.root.message,
            "remedy": one.root.remedy, "holdsBack": names, "inProgress": one.root.next == Next::Controller,
        })
    };
    ranked.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, stack};

    const PLAIN: Style = Style { has_color: false, is_terminal: false, width: None };

    fn all(graph: &Graph) -> Vec<Node> {
        graph.resources().map(|resource| resource.node.clone()).collect()
    }

    #[test]
    fn the_tree_ends_with_what_to_fix_first() {
        let graph = graph(stack());
        let text = text(&graph, &all(&graph), PLAIN);
        let expected = r#"Namespace shop: 7 resources, 2 ready, 5 not ready
NAME                           READY  REASON                ID  NOTE
VPC/shop                       True   Available             -
└ Subnet/a                     True   Available             -
  ├ EC2Instance/web-a          False  DependenciesNotReady  -   Secret db does not exist
  │ └ TargetGroup/web          False  DependenciesNotReady  -   waits for EC2Instance/web-a, EC2Instance/web-b
  │   └ Listener/https         False  DependenciesNotReady  -   ConfigMap shop has no key "certificate" (it has: env); waits for TargetGroup/web
  │     └ ListenerRule/static  False  DependenciesNotReady  -   waits for Listener/https
  └ EC2Instance/web-b          False  DependenciesNotReady  -   Secret db does not exist

Fix first:
  1. Secret db does not exist  (unblocks 5)
     kubectl create secret generic db -n shop --from-literal password=...
  2. ConfigMap shop has no key "certificate" (it has: env)  (unblocks 2)
     kubectl patch configmap shop -n shop --type merge -p '{"data":{"certificate":"..."}}'
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn an_arn_is_cut_to_its_end() {
        assert_eq!(short("vpc-1"), "vpc-1");
        assert_eq!(
            short("arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/kraken-web/73e2d6bc"),
            "…/73e2d6bc"
        );
    }

    #[test]
    fn programs_get_the_same() {
        let graph = graph(stack());
        let json = json(&graph, &all(&graph));
        assert_eq!(json["resources"].as_array().map(Vec::len), Some(7));
        assert_eq!(json["fixFirst"][0]["object"], "Secret/db");
        assert_eq!(json["fixFirst"][0]["holdsBack"].as_array().map(Vec::len), Some(5));
    }
}
