//! `kubectl kraken apply`: the plan, a question, the apply of exactly what was planned, and the progress until everything is ready.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use tokio::time::{Instant, sleep};

use super::{
    approval::Approvals,
    print,
    request::Sent,
    reviewed,
    run::{Plan, Selection, plan},
};
use crate::{
    cluster::Cluster,
    commands::{answer, graph_of},
    graph::{Graph, Node},
    print::{Lines, Style, clean, out},
    resource::{Next, Ready, Resource},
};

/// How often the progress is read.
const EVERY: Duration = Duration::from_secs(1);
/// How long a resource may wait for a person before that counts: references resolve, and controllers retry, in this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a resource may take to notice that a value which it refers to changed: its hub and its controller usually need a second.
const NOTICED: Duration = Duration::from_secs(20);

/// Who agrees to the plan.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Consent {
    /// Apply without a question.
    #[arg(short, long)]
    yes: bool,
    /// Apply without a question if the plan is still the one in this file, which was made by `plan -o json` and reviewed.
    #[arg(long, value_name = "FILE", conflicts_with = "yes")]
    plan: Option<PathBuf>,
    /// Also approve the plans of resources with `approval: Manual` that say nothing else than the plan of the set: the same action, and
    /// no other fields. Requires the verb `approve`.
    #[arg(long)]
    approve: bool,
}

/// Applies the selected objects after a question, unless it is answered already.
pub(in crate::commands) async fn run(
    cluster: &Cluster,
    selection: &Selection,
    consent: &Consent,
    limit: Duration,
) -> Result<ExitCode> {
    if selection.destroy || selection.prune.is_some() {
        bail!(
            "apply deletes nothing: use kubectl delete, or kubectl apply --prune, after a look at `kubectl kraken plan`"
        );
    }
    if !selection.has_files() {
        bail!("which objects? Name files with -f, or a kustomization with -k");
    }
    let mut plan = plan(cluster, selection).await?;
    out(&print::text(&plan.entries, &plan.notes, Style::of_stdout()))?;
    if plan.is_rejected() {
        bail!("nothing was applied: correct what is rejected first");
    }
    if let Some(file) = &consent.plan {
        as_reviewed(file, &plan)?;
    }
    if plan.applies.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if !consent.yes && consent.plan.is_none() {
        if !ask_person(consent.approve)? {
            out("Nothing was applied.\n")?;
            return Ok(ExitCode::FAILURE);
        }
        plan = still(cluster, selection, &plan).await?;
    }
    for (number, request) in plan.applies.iter().enumerate() {
        let before = || {
            format!("{number} of {} objects were applied before; run the command again", plan.applies.len())
        };
        match request.send(cluster).await.with_context(before)? {
            Sent::Done => {}
            Sent::Moved => {
                bail!("{} was edited since the plan, and was not applied; {}", request.node, before())
            }
        }
    }
    let approvals = consent.approve.then(Approvals::default);
    progress(cluster, &plan, approvals, limit).await
}

/// The plan again, after a person has thought about it: an object, a value that others refer to, or the cloud may have moved meanwhile.
async fn still(cluster: &Cluster, selection: &Selection, before: &Plan) -> Result<Plan> {
    let now = plan(cluster, selection).await?;
    let before = print::json(&before.entries, &before.notes).to_string();
    let differences = reviewed::differences(&before, &print::json(&now.entries, &now.notes))?;
    refuse(&differences, "by now the plan is another one: run the command again")?;
    Ok(now)
}

/// Names the differences, if there are any, and ends the command.
fn refuse(differences: &[String], why: &str) -> Result<()> {
    for difference in differences {
        eprintln!("{}", clean(difference));
    }
    if differences.is_empty() { Ok(()) } else { bail!("nothing was applied, because {why}") }
}

/// Whether the plan in a file says the same as this one.
fn as_reviewed(file: &Path, plan: &Plan) -> Result<()> {
    let in_file = || format!("cannot use the plan in {}", file.display());
    let text = std::fs::read_to_string(file).with_context(in_file)?;
    let differences =
        reviewed::differences(&text, &print::json(&plan.entries, &plan.notes)).with_context(in_file)?;
    refuse(&differences, &format!("the plan is not the one in {}: review it again", file.display()))
}

fn ask_person(approves: bool) -> Result<bool> {
    let nobody = "nobody answered, nothing was applied: use --yes to apply without a question";
    let question = if approves { "Apply and approve? [y/N] " } else { "Apply? [y/N] " };
    let line = answer(question, nobody)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Prints each change of a resource of the plan, until all are ready, or one needs a person.
async fn progress(
    cluster: &Cluster,
    plan: &Plan,
    mut approvals: Option<Approvals>,
    limit: Duration,
) -> Result<ExitCode> {
    let started = Instant::now();
    let mut printed: BTreeMap<Node, String> = BTreeMap::new();
    let mut stuck_since: Option<Instant> = None;
    loop {
        let mut objects = vec![];
        for scope in &plan.scopes {
            objects.extend(scope.resources().await?.objects);
        }
        let graph = Graph::of(&cluster.kinds, objects);
        // What follows from the plan, too.
        let nodes: BTreeSet<&Node> =
            plan.entries.iter().filter(|entry| entry.action.is_some()).map(|entry| &entry.node).collect();
        let (mut text, mut is_ready, mut needs_person) = (Lines::default(), true, false);
        for node in &nodes {
            let Some(resource) = graph.get(node) else {
                // A resource may have been deleted meanwhile.
                is_ready &= !cluster.kinds.has_state(&node.group, &node.kind);
                continue;
            };
            let line = format!("{node}  {}  {}", resource.reason, resource.message);
            if printed.get(*node) != Some(&line) {
                text.line(&line);
                printed.insert((*node).clone(), line);
            }
            let is_noticed = started.elapsed() >= NOTICED
                || plan.followers.get(*node).is_none_or(|before| *before != status(resource));
            is_ready &= resource.ready == Ready::Yes && is_noticed;
            // A resource that waits for one in progress needs nobody.
            needs_person |=
                resource.ready == Ready::No && graph.roots(node).iter().any(|root| root.next == Next::Person);
        }
        out(&text.finish())?;
        if let Some(approvals) = &mut approvals {
            approvals.give(cluster, plan, &graph).await?;
        }
        if is_ready {
            out(&format!("Everything is ready after {} s.\n", started.elapsed().as_secs()))?;
            return Ok(ExitCode::SUCCESS);
        }
        stuck_since = if needs_person { stuck_since.or(Some(Instant::now())) } else { None };
        let is_stuck = stuck_since.is_some_and(|since| since.elapsed() >= PATIENCE);
        if is_stuck || started.elapsed() >= limit {
            let code = causes(&graph_of(&plan.scopes).await?, &nodes)?;
            approvals.iter().try_for_each(Approvals::explain)?;
            return Ok(code);
        }
        sleep(EVERY).await;
    }
}

fn status(resource: &Resource) -> serde_json::Value {
    serde_json::to_value(&resource.status).unwrap_or_default()
}

/// The first root cause of each resource that is not ready, once each.
fn causes(graph: &Graph, nodes: &BTreeSet<&Node>) -> Result<ExitCode> {
    let mut text = Lines::default();
    text.line("Not ready. What to do:");
    let mut seen = BTreeSet::new();
    for root in nodes.iter().flat_map(|node| graph.roots(node)) {
        if seen.insert(root.node.clone()) {
            let remedy = root.remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
            text.line(format!("  {}: {}{remedy}", root.node, root.message));
        }
    }
    out(&text.finish())?;
    Ok(ExitCode::FAILURE)
}
