//! `kubectl kraken`: the real binary against the control plane, with seeded root causes, plans and drift.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use kraken_testing::paths;
use kraken_tests::{TestEnv, TestUser};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    time::timeout,
};

use crate::kubectl::Shell;

/// Generous: another test has 700 resources in the same environment, which the controller reports one after the other.
const TIMEOUT: Duration = Duration::from_mins(10);

/// The instance lacks a key of a ConfigMap that exists and a Secret; three resources wait for it.
const STACK: &str = r"
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {other: x}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main}, spec: {cidrBlock: {value: 10.61.0.0/16}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Subnet, metadata: {name: a}, spec: {vpcID: {valueFrom: {ref: VPC/main}},
  cidrBlock: {value: 10.61.1.0/24}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: web}, spec: {
  imageID: {valueFrom: {configMap: {name: settings, key: image}}}, instanceType: {value: t2.nano}, minCount: {value: 1}, maxCount: {value: 1},
  userData: {valueFrom: {secret: {name: db, key: password}}}, subnetID: {valueFrom: {ref: Subnet/a}}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: TargetGroup, metadata: {name: web}, spec: {protocol: {value: HTTP},
  port: {value: 80}, vpcID: {valueFrom: {ref: VPC/main}}, targets: {value: [{valueFrom: {ref: EC2Instance/web}}]}}}
---
{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {name: web}, spec: {configType: ConfigMap,
  configMetadata: {name: web-address}, entries: [{key: group, valueFrom: {ref: TargetGroup/web}}]}}
";

/// The binary, with the kubeconfig of one user.
pub(crate) struct Plugin {
    pub(crate) program: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) namespace: String,
}

/// What it printed.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) errors: String,
}

impl Plugin {
    fn of(test_env: &TestEnv, kubeconfig: &Path) -> Result<Self> {
        let program = paths::bin_dir()?.join("kubectl-kraken");
        ensure!(program.is_file(), "{} does not exist; build the binaries first", program.display());
        Ok(Self { program, kubeconfig: kubeconfig.to_owned(), namespace: test_env.ns.name.clone() })
    }

    pub(crate) fn of_admin(test_env: &TestEnv) -> Result<Self> {
        Self::of(test_env, &test_env.env.control_plane.admin_kubeconfig())
    }

    /// Runs it in the namespace of the test, with this text as its standard input.
    pub(crate) async fn answering(&self, input: &str, line: &str) -> Result<Printed> {
        let mut command = Command::new(&self.program);
        command
            .args(line.split_whitespace())
            .args(["-n", &self.namespace])
            .env("KUBECONFIG", &self.kubeconfig);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        // A command that asks nothing may have ended already.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = timeout(TIMEOUT, child.wait_with_output()).await.context("it takes too long")??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed =
            Printed { code: output.status.code(), out: text(&output.stdout), errors: text(&output.stderr) };
        // Shown if the test fails.
        println!("$ kubectl kraken {line}\n{}{}-> {:?}\n", printed.out, printed.errors, printed.code);
        Ok(printed)
    }

    /// Runs it, and expects this exit code and these texts in its output.
    pub(crate) async fn prints(&self, line: &str, code: i32, texts: &[&str]) -> Result<String> {
        let printed = self.answering("", line).await?;
        ensure!(printed.code == Some(code), "{line}: {printed:?}");
        for text in texts {
            ensure!(printed.out.contains(text), "{text:?} is not in the output of {line}: {printed:?}");
        }
        Ok(printed.out)
    }

    /// Runs it, and expects one line of errors with these texts.
    pub(crate) async fn fails(&self, line: &str, code: i32, texts: &[&str]) -> Result<()> {
        let printed = self.answering("", line).await?;
        ensure!(printed.code == Some(code) && printed.errors.lines().count() == 1, "{line}: {printed:?}");
        for text in texts {
            ensure!(printed.errors.contains(text), "{text:?} is not in the errors of {line}: {printed:?}");
        }
        Ok(())
    }
}

#[tokio::test]
async fn root_causes_are_found_and_gone_after_the_advice_is_followed() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    test_env.apply(STACK).await?;
    test_env.ready("Subnet", "a").await?;
    test_env.not_ready("EC2Instance", "web", "DependenciesNotReady").await?;
    test_env.not_ready("TargetGroup", "web", "DependenciesNotReady").await?;
    test_env.not_ready("ConfigExport", "web", "WaitingForValues").await?;

    let status = plugin
        .prints(
            "status",
            0,
            &[
                "5 resources, 2 ready, 3 not ready",
                "\n└ Subnet/a ",
                "\n  └ EC2Instance/web ",
                "\n    └ TargetGroup/web ",
                "waits for EC2Instance/web",
                "Fix first:\n  1. ",
                "(unblocks 3)\n     kubectl patch configmap settings",
            ],
        )
        .await?;
    assert!(!status.contains('\u{1b}'), "no colors in a pipe: {status}");
    let why = "why tg/web";
    plugin
        .prints(
            why,
            1,
            &[
                "TargetGroup/web is not ready (DependenciesNotReady): 2 root causes.",
                "ConfigMap settings has no key \"image\"",
                "used by: EC2Instance/web spec.imageID (its key image) <- TargetGroup/web spec.targets.value[0]",
                "Secret db does not exist",
                &format!("kubectl create secret generic db -n {} --from-literal password=...", test_env.ns.name),
            ],
        )
        .await?;
    let json: Value = serde_json::from_str(&plugin.prints("why tg/web -o json", 1, &[]).await?)?;
    assert_eq!(json["rootCauses"].as_array().map(Vec::len), Some(2), "{json}");
    plugin.prints("why vpc/main", 0, &["VPC/main is ready (Available)."]).await?;

    test_env.patch("ConfigMap", "settings", json!({"data": {"image": "ami-12c6146b"}})).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "stringData": {"password": test_env.secret_value("password")}});
    test_env.apply(&secret.to_string()).await?;
    test_env.ready("TargetGroup", "web").await?;
    test_env.ready("ConfigExport", "web").await?;
    plugin.prints(why, 0, &["TargetGroup/web is ready"]).await?;
    let status = plugin.prints("status", 0, &["5 resources, 5 ready"]).await?;
    assert!(!status.contains("Fix first"), "{status}");

    // The other questions about the same stack.
    plugin
        .prints(
            "deps ec2/web",
            0,
            &[
                "├ Subnet/a  spec.subnetID",
                "VPC/main  spec.vpcID",
                "Secret/db  spec.userData (its key password)",
            ],
        )
        .await?;
    plugin
        .prints("deps vpc main --reverse", 0, &["Subnet/a  spec.vpcID", "ConfigMap/web-address  written by"])
        .await?;
    plugin
        .prints(
            "deps secret/db --reverse -o mermaid",
            0,
            &["flowchart LR", "EC2Instance/web", "TargetGroup/web"],
        )
        .await?;
    let id =
        test_env.get("VPC", "main").await?["status"]["externalIds"][0].as_str().context("no id")?.to_owned();
    plugin.prints(&format!("find {id}"), 0, &["VPC/main  status.externalIds[0]"]).await?;
    plugin.fails("find vpc-00000000000000000", 1, &["no resource has"]).await?;
    plugin
        .prints(
            "inventory -o csv",
            0,
            &[&format!(",VPC,main,{id},us-east-1,123456789012,created,deleted\r\n")],
        )
        .await?;
    plugin.prints("inventory", 0, &["ON DELETION", &id]).await.map(drop)
}

#[tokio::test]
async fn plans_are_approved_by_their_hash_and_by_an_answer() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    plugin.prints("approve", 0, &["No plan awaits approval."]).await?;
    let vpc = |name: &str, lifecycle: &str| {
        format!(
            "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {{name: {name}}}, \
             spec: {{cidrBlock: {{value: 10.62.0.0/16}}, lifecycle: {{{lifecycle}}}}}}}"
        )
    };
    for name in ["a", "b"] {
        test_env.apply(&vpc(name, "approval: Manual")).await?;
        test_env.not_ready("VPC", name, "AwaitingApproval").await?;
    }
    plugin
        .prints("status", 0, &["2 awaiting approval", "approve Create ", "kubectl kraken approve vpc/a"])
        .await?;
    plugin.prints("why vpc/a", 1, &["AwaitingApproval", "kubectl kraken approve vpc/a"]).await?;
    let no = plugin.answering("n\nq\n", "approve").await?;
    assert!(
        no.code == Some(0) && no.out.contains("VPC/a in namespace") && no.out.contains("Create, plan "),
        "{no:?}"
    );
    let nobody = plugin.answering("", "approve vpc/a").await?;
    assert!(nobody.code == Some(1) && nobody.errors.contains("use --yes"), "{nobody:?}");
    plugin.fails("approve vpc/a --hash 00000000", 1, &["not approved: the hash of the plan is"]).await?;
    let hash =
        test_env.get("VPC", "a").await?["status"]["plan"]["hash"].as_str().context("no plan")?.to_owned();
    // The plan of an edit is another one: the hash that was reviewed before does not approve it.
    test_env.patch("VPC", "a", json!({"spec": {"tags": {"Team": "net"}}})).await?;
    test_env
        .until("VPC", "a", |vpc| vpc["status"]["plan"]["hash"].as_str().is_some_and(|now| now != hash))
        .await?;
    plugin.fails(&format!("approve vpc/a --hash {hash}"), 1, &["not approved"]).await?;
    let yes = plugin.answering("y\n", "approve vpc/a").await?;
    assert!(yes.code == Some(0) && yes.out.contains("VPC/a approved: plan "), "{yes:?}");
    test_env.ready("VPC", "a").await?;
    plugin.prints("approve --all", 0, &["VPC/b approved: plan "]).await?;
    test_env.ready("VPC", "b").await?;
    plugin.prints("approve", 0, &["No plan awaits approval."]).await.map(drop)
}

#[tokio::test]
async fn resources_are_paused_resumed_and_reconciled_and_their_drift_is_listed() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    test_env
        .apply(
            r"{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main},
            spec: {cidrBlock: {value: 10.63.0.0/16}, tags: {Team: net}, lifecycle: {drift: Report, resyncInterval: '0'}}}",
        )
        .await?;
    let vpc = test_env.ready("VPC", "main").await?;
    plugin.prints("drift", 0, &["No drift."]).await?;
    let id = vpc["status"]["externalIds"][0].as_str().context("no id")?;
    let tag = [("ResourceId.1", id), ("Tag.1.Key", "Team"), ("Tag.1.Value", "other")];
    test_env.env.moto.ec2("CreateTags", &tag).await?;
    plugin.prints("reconcile vpc/main", 0, &["VPC/main reconcile requested"]).await?;
    test_env.until("VPC", "main", |vpc| vpc["status"]["drift"][0].is_object()).await?;
    let drift = plugin.prints("drift vpc/main", 2, &["spec.tags.Team"]).await?;
    assert!(drift.contains("net") && drift.contains("other"), "{drift}");
    plugin.prints("status", 0, &["1 drifted", "drift: spec.tags.Team is other, wanted net"]).await?;
    plugin.prints("pause vpc/main", 0, &["VPC/main paused"]).await?;
    test_env.not_ready("VPC", "main", "Paused").await?;
    plugin.prints("why vpc/main", 1, &["Paused", "kubectl kraken resume vpc/main"]).await?;
    plugin.prints("resume vpc main", 0, &["VPC/main resumed"]).await?;
    test_env.ready("VPC", "main").await?;
    // A kind without a lifecycle, and one resource that does not exist among others.
    plugin.fails("pause vpc/main vpc/other", 1, &["VPC/other does not exist in namespace"]).await?;
    test_env.ready("VPC", "main").await.map(drop)
}

#[tokio::test]
async fn the_rights_of_view_are_sufficient_to_read_and_errors_are_one_line() -> Result<()> {
    let test_env = TestEnv::new().await?;
    TestUser::bound(&test_env, "viewer", "ClusterRole", "view").await?;
    test_env
        .apply(
            r"{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main},
            spec: {cidrBlock: {value: 10.64.0.0/16}, lifecycle: {approval: Manual}}}",
        )
        .await?;
    test_env.not_ready("VPC", "main", "AwaitingApproval").await?;
    let kubeconfig =
        test_env.env.control_plane.kubeconfig_for_service_account(&test_env.ns.name, "viewer").await?;
    let viewer = Plugin::of(&test_env, &kubeconfig)?;
    viewer.prints("status", 0, &["VPC/main"]).await?;
    viewer.prints("deps vpc/main", 0, &["uses nothing"]).await?;
    viewer
        .fails("approve vpc/main --yes", 1, &["you may not approve plans of VPC/main", "kraken-approve"])
        .await?;
    viewer.fails("pause vpc/main", 1, &["you may not pause VPC/main"]).await?;
    viewer.fails("why vpcc/main", 2, &["no kind of Kraken is named \"vpcc\"; did you mean VPC?"]).await?;
    viewer.fails("why vpc/other", 2, &["VPC/other does not exist in namespace"]).await?;
    viewer.fails("why vpc", 2, &["expected KIND/NAME"]).await?;
    let outside = Plugin { namespace: "kube-system".to_owned(), ..viewer };
    outside
        .fails(
            "status",
            1,
            &["you may not list Kraken's resources in namespace kube-system", "ClusterRole view"],
        )
        .await?;

    let folder = tempfile::tempdir()?;
    let missing = Plugin::of(&test_env, &folder.path().join("none"))?;
    missing.fails("status", 1, &["no cluster: ", "--kubeconfig"]).await?;
    let admin = std::fs::read_to_string(test_env.env.control_plane.admin_kubeconfig())?;
    let server = admin.lines().find(|line| line.trim_start().starts_with("server:")).context("no server")?;
    std::fs::write(folder.path().join("down"), admin.replace(server, "    server: https://127.0.0.1:1"))?;
    let down = Plugin::of(&test_env, &folder.path().join("down"))?;
    down.fails("status", 1, &["no answer from the API server at https://127.0.0.1:1", "check the context"])
        .await
}

#[tokio::test]
async fn kubectl_runs_the_plugin_which_checks_the_installation() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let shell = Shell::of(&test_env)?;
    let folder = paths::bin_dir()?;
    let run = |line: &str| format!("export PATH=\"$PATH:{}\"; kubectl kraken {line}", folder.display());
    let version = shell.run(&run("version --client")).await?;
    assert!(version.starts_with("kubectl-kraken "), "{version}");
    let help = shell.run(&run("status --help")).await?;
    assert!(help.contains("Usage: kubectl kraken status"), "{help}");
    let check = shell.run(&run("check")).await?;
    println!("$ kubectl kraken check\n{check}");
    for text in ["Kubernetes v1.", "Lease kraken-hub", "held by", "kinds: "] {
        assert!(check.contains(text), "{text:?} is not in: {check}");
    }
    let candidates = shell.run(&run("__complete why subn")).await?;
    assert_eq!(candidates.trim(), "subnetlookup/\nsubnet/\n:6");
    Ok(())
}

#[tokio::test]
async fn a_watch_prints_a_line_for_each_change_until_it_is_interrupted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    test_env.apply(&paused_vpc("first")).await?;
    test_env.not_ready("VPC", "first", "Paused").await?;
    // A shell that runs the tests in the background lets them, and all that they start, ignore SIGINT.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(&plugin.program).args(["status", "-w", "-n", &plugin.namespace]);
    command.env("KUBECONFIG", &plugin.kubeconfig);
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let mut next = async || {
        timeout(TIMEOUT, lines.next_line()).await?.map(Option::unwrap_or_default).map_err(anyhow::Error::from)
    };
    let line = next().await?;
    assert!(line.contains("VPC/first  False  Paused"), "{line}");
    test_env.apply(&paused_vpc("second")).await?;
    while !next().await?.contains("VPC/second  False  Paused") {}
    test_env.delete("VPC", "second").await?;
    while !next().await?.contains("VPC/second  deleted") {}
    let pid = child.id().context("it has ended")?.to_string();
    ensure!(Command::new("kill").args(["-INT", &pid]).status().await?.success(), "cannot send SIGINT");
    let status = timeout(TIMEOUT, child.wait()).await??;
    assert_eq!(status.signal(), Some(2), "{status:?}");
    Ok(())
}

#[tokio::test]
async fn lists_of_more_than_one_page_are_complete_and_a_reader_may_end() -> Result<()> {
    const NUMBER: usize = 700;
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    let all: Vec<_> = (0..NUMBER).map(|index| paused_vpc(&format!("vpc-{index}"))).collect();
    test_env.apply(&all.join("\n---\n")).await?;
    let start = Instant::now();
    plugin.prints("status", 0, &[&format!("{NUMBER} resources"), "VPC/vpc-699"]).await?;
    println!("{NUMBER} resources: {:?}", start.elapsed());
    let program = plugin.program.display();
    let printed = Shell::of(&test_env)?.run(&format!("{program} inventory | head -1")).await?;
    assert!(printed.starts_with("NAMESPACE") && printed.lines().count() == 1, "{printed}");
    Ok(())
}

fn paused_vpc(name: &str) -> String {
    format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {{name: {name}}}, \
         spec: {{cidrBlock: {{value: 10.65.0.0/16}}, lifecycle: {{paused: true}}}}}}"
    )
}
