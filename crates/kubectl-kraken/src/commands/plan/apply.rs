//! `kubectl kraken apply`: the plan, a question, the apply of exactly what was planned, and the progress until everything is ready.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use super::{
    approval::Approvals,
    print, progress,
    request::Sent,
    reviewed,
    run::{Plan, Selection, plan},
};
use crate::{
    cluster::Cluster,
    commands::answer,
    print::{Style, clean, out},
};

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
    // Before many dry runs: a mistyped path is said at once.
    let reviewed = consent.plan.as_deref().map(read).transpose()?;
    let mut plan = plan(cluster, selection).await?;
    out(&print::text(&plan.entries, &plan.notes, Style::of_stdout()))?;
    if plan.is_rejected() {
        bail!("nothing was applied: correct what is rejected first");
    }
    if let (Some(file), Some(text)) = (&consent.plan, reviewed) {
        as_reviewed(file, &text, &plan)?;
    }
    // Without an edit there is no question, but what an earlier run applied may not be ready.
    if !plan.applies.is_empty() && !consent.yes && consent.plan.is_none() {
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
    progress::wait(cluster, &plan, approvals, limit).await
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

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| cannot_use(file))
}

fn cannot_use(file: &Path) -> String {
    format!("cannot use the plan in {}", file.display())
}

/// Whether the plan in a file says the same as this one.
fn as_reviewed(file: &Path, text: &str, plan: &Plan) -> Result<()> {
    let now = print::json(&plan.entries, &plan.notes);
    let differences = reviewed::differences(text, &now).with_context(|| cannot_use(file))?;
    refuse(&differences, &format!("the plan is not the one in {}: review it again", file.display()))
}

fn ask_person(approves: bool) -> Result<bool> {
    let nobody = "nobody answered, nothing was applied: use --yes to apply without a question";
    let question = if approves { "Apply and approve? [y/N] " } else { "Apply? [y/N] " };
    let line = answer(question, nobody)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
