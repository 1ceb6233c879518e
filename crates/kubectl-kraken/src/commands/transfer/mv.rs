//! `kubectl kraken mv`: a resource gets another name, and everything that refers to it follows. Nothing is created again in the cloud.

use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::Value;

use super::{
    Consent, Moved,
    reference::{Edit, Rename},
    rewrite::{self, Rewritten},
    steps::Steps,
    successor::{Record, successor},
};
use crate::{
    cluster::Cluster,
    commands::{answer, lint::name_fault},
    failure::explain,
    graph::Node,
    print::{Lines, count, out},
    resource::{Ready, Resource},
    target,
};

/// How often the edit of a user is computed again, if the user was edited meanwhile.
const ATTEMPTS: usize = 5;

/// A resource that refers to the renamed one.
struct User {
    node: Node,
    edits: Vec<Edit>,
}

pub(in crate::commands) async fn run(cluster: &Cluster, moved: &Moved, consent: Consent) -> Result<ExitCode> {
    let target = target::one(std::slice::from_ref(&moved.target))?;
    let kind = cluster.kind(&target.kind)?;
    let steps = Steps::of(cluster, kind, "mv", consent.timeout)?;
    let namespace = &cluster.namespace;
    let rename = Rename {
        kind: kind.resource.kind.clone(),
        group: kind.resource.group.clone(),
        from: target.name.clone(),
        to: moved.name.clone(),
    };
    let named = format!("{}/{}", rename.kind, rename.from);
    let new = format!("{}/{}", rename.kind, rename.to);
    if rename.from == rename.to {
        bail!("{named} has this name already");
    }
    if let Some(why) = name_fault(&rename.to) {
        bail!("{:?} {why}", rename.to);
    }
    let former = steps.live(&rename.from).await?.map(|live| kind.typed(live));
    let begun = steps.live(&rename.to).await?;
    let record = begun.as_ref().and_then(Record::read).filter(|record| record.from == rename.from);
    // A second run continues; the successor has the record.
    let record = match (record, begun, &former) {
        (Some(record), ..) => record,
        (None, Some(_), _) => bail!("{new} exists in namespace {namespace}: choose another name"),
        (None, None, None) => bail!("{named} does not exist in namespace {namespace}"),
        (None, None, Some(former)) if former.metadata.deletion_timestamp.is_some() => {
            bail!("{named} is being deleted: cancel that first (kubectl kraken undelete)")
        }
        (None, None, Some(former)) => {
            let record = Record::of(former).with_context(|| format!("{named} cannot be renamed"))?;
            check(former)?;
            let successor = successor(former, &rename.to, &record)?;
            steps.try_out(&successor).await?;
            let files = rewrite::files(&moved.filename, &rename, namespace)?;
            out(&plan(&rename, &record, &users(cluster, &rename).await?, &files, &moved.filename))?;
            if !consent.yes && !is_wanted()? {
                out("Nothing was changed.\n")?;
                return Ok(ExitCode::FAILURE);
            }
            steps.create(&successor).await?;
            record
        }
    };
    for file in rewrite::files(&moved.filename, &rename, namespace)? {
        rewrite::write(&file)?;
        out(&format!("{} rewritten\n", file.file.display()))?;
    }
    for user in users(cluster, &rename).await? {
        follow(cluster, &user, &rename).await?;
        out(&format!("{} refers to {new}\n", user.node))?;
    }
    steps.release(&record).await?;
    steps.delete(&record).await?;
    steps.gone(&record).await?;
    let is_complete = steps.complete(&rename.to, &record).await?;
    if is_complete {
        out(&format!("{new} manages {}.\n", record.id))?;
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_wanted() -> Result<bool> {
    let nobody = "nobody answered, nothing was changed: use --yes to do it without a question";
    let line = answer("Continue? [y/N] ", nobody)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// A resource with a difference to the cloud would not be adopted without an approval of that difference.
fn check(former: &DynamicObject) -> Result<()> {
    let resource = Resource::of(former.clone()).ok_or_else(|| anyhow!("an object without a kind"))?;
    if resource.ready != Ready::Yes && resource.reason != "Paused" {
        bail!(
            "{} is not ready ({}: {}): a resource is renamed when it is in place, see kubectl kraken why {}",
            resource.node,
            resource.reason,
            resource.message,
            resource.node.argument()
        );
    }
    if resource.is_drifted {
        bail!(
            "{} has drifted, so that its successor would wait for an approval: see kubectl kraken drift {}",
            resource.node,
            resource.node.argument()
        );
    }
    Ok(())
}

/// The resources of the namespace that refer to the renamed one.
async fn users(cluster: &Cluster, rename: &Rename) -> Result<Vec<User>> {
    let listed = cluster.resources().await?;
    if !listed.forbidden.is_empty() {
        bail!(
            "you may not list {}, which may refer to {}/{}: ask for the ClusterRole view",
            listed.forbidden.join(", "),
            rename.kind,
            rename.from
        );
    }
    let mut users = vec![];
    for object in listed.objects {
        let edits = rename.edits(&serde_json::to_value(&object)?);
        if let Some(resource) = Resource::of(object).filter(|_| !edits.is_empty()) {
            users.push(User { node: resource.node, edits });
        }
    }
    users.sort_by(|one, other| one.node.cmp(&other.node));
    Ok(users)
}

/// Makes a user refer to the new name.
async fn follow(cluster: &Cluster, user: &User, rename: &Rename) -> Result<()> {
    let kind = cluster.kind(&format!("{}.{}", user.node.kind, user.node.group))?;
    let api = cluster.api(kind, Some(&user.node.namespace));
    let doing = format!("change the references of {}", user.node);
    let mut edits = user.edits.clone();
    for _ in 0..ATTEMPTS {
        let patch: json_patch::Patch = serde_json::from_value(Rename::patch(&edits))?;
        match api.patch(&user.node.name, &PatchParams::default(), &Patch::<DynamicObject>::Json(patch)).await
        {
            Ok(_) => return Ok(()),
            // A test of the patch failed, or the user is gone.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {
                let live = api.get_opt(&user.node.name).await;
                let live = live.map_err(|error| explain(error, &doing, &cluster.server))?;
                let Some(live) = live else { return Ok(()) };
                let new = rename.edits(&serde_json::to_value(live)?);
                if new.is_empty() {
                    return Ok(());
                }
                if new == edits && status.code == 422 {
                    bail!("failed to {doing}: {}; correct it, and run the command again", status.message);
                }
                edits = new;
            }
            Err(error) => return Err(explain(error, &doing, &cluster.server)),
        }
    }
    bail!("failed to {doing}: it is edited all the time; run the command again")
}

/// What will be done.
fn plan(
    rename: &Rename,
    record: &Record,
    users: &[User],
    files: &[Rewritten],
    searched: &[std::path::PathBuf],
) -> String {
    let Rename { kind, from, to, .. } = rename;
    let mut text = Lines::default();
    text.line(format!("{kind}/{from} becomes {kind}/{to}; {} stays as it is", record.id));
    text.line(format!("  1. {kind}/{to} is created with the same spec, and waits for {}", record.id));
    text.line(format!("  2. the references of {} change", count(users.len(), "resource")));
    for user in users {
        for Edit { pointer, to, .. } in &user.edits {
            text.line(format!("       {} {pointer}: {}", user.node, Value::from(to.as_str())));
        }
    }
    if searched.is_empty() {
        text.line(
            "     no files are changed: name them with -f, or edit the name and the references in them",
        );
    }
    for Rewritten { file, lines, .. } in files {
        for (line, new) in lines {
            text.line(format!("       {}:{line}: {}", file.display(), Value::from(new.as_str())));
        }
    }
    text.line(format!("  3. {kind}/{from} is deleted, and {} kept (lifecycle.deletion: Retain)", record.id));
    text.line(format!(
        "  4. {kind}/{to} takes {} over, and its lifecycle becomes that of {kind}/{from}",
        record.id
    ));
    text.line("After an interruption, run the command again.");
    text.finish()
}
