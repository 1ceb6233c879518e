//! What `kubectl` prints: the messages of rejections, and no warnings for what is correct.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions, node, paths};
use kraken_tests::TestEnv;
use tokio::{process::Command, time::timeout};

/// The time for the commands of one test.
const TIMEOUT: Duration = Duration::from_mins(8);

/// A namespace on an environment with all controllers and their webhooks.
pub(crate) async fn with_webhooks() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let start = || {
        let suite = SuiteOptions { webhooks: true, ..SuiteOptions::default() };
        Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
    };
    TestEnv::on(SHARED.get(start).await?).await
}

/// A folder from which commands run in the namespace of a test.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
}

impl Shell {
    /// With a kubeconfig of an administrator.
    pub(crate) fn of(test_env: &TestEnv) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let admin = fs::read_to_string(test_env.env.control_plane.admin_kubeconfig())?;
        let namespace = format!("namespace: {}", test_env.ns.name);
        fs::write(folder.path().join("kubeconfig"), admin.replace("namespace: default", &namespace))?;
        Ok(Self { folder })
    }

    /// What a script prints, both streams, and whether it succeeded.
    pub(crate) async fn output(&self, script: &str) -> Result<(bool, String)> {
        let mut path = vec![kubectl_folder().await?];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{script}")]);
        command.current_dir(self.folder.path()).kill_on_drop(true);
        command
            .env("PATH", std::env::join_paths(path)?)
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let output = timeout(TIMEOUT, command.output()).await.context("the commands take too long")??;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Runs a script that must succeed.
    pub(crate) async fn run(&self, script: &str) -> Result<String> {
        match self.output(script).await? {
            (true, printed) => Ok(printed),
            (false, printed) => bail!("{printed}"),
        }
    }

    /// Runs a script that must fail.
    pub(crate) async fn fails(&self, script: &str) -> Result<String> {
        match self.output(script).await? {
            (false, printed) => Ok(printed),
            (true, printed) => bail!("succeeded, and should not: {printed}"),
        }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.folder.path().join(name), text)?)
    }
}

/// The `kubectl` that a user of this machine has, or else one that is built.
async fn kubectl_folder() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).find(|folder| folder.join("kubectl").is_file());
    if let Some(folder) = installed {
        return Ok(folder);
    }
    let program = node::kubectl_program().await?;
    program.parent().map(Path::to_owned).context("kubectl has no folder")
}

fn vpc(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: VPC\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

#[tokio::test]
async fn correct_samples_print_no_warning_in_any_order() -> Result<()> {
    let test_env = with_webhooks().await?;
    let shell = Shell::of(&test_env)?;
    let samples = paths::workspace_root()?.join("config/samples");
    for sample in ["quickstart", "web-tier"] {
        let printed = shell.run(&format!("kubectl apply -f {}", samples.join(sample).display())).await?;
        // One instance of the quickstart waits for a key that its user adds to a ConfigMap.
        let is_wrong = |line: &&str| {
            line.contains("Warning") && !line.contains("EC2Instance/batch: spec.instanceType: ")
        };
        assert_eq!(printed.lines().filter(is_wrong).collect::<Vec<_>>(), [""; 0], "{sample}");
    }
    // What needs an edit is one.
    shell.write(
        "typo.yaml",
        &vpc("typo", "cidrBlock: {valueFrom: {configMap: {name: quickstart, key: cuont}}}"),
    )?;
    let printed = shell.run("kubectl apply -f typo.yaml").await?;
    let warning = "Warning: VPC/typo: spec.cidrBlock: ConfigMap quickstart has no key \"cuont\"";
    assert!(printed.contains(warning), "{printed}");
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}

#[tokio::test]
async fn rejections_name_their_object() -> Result<()> {
    let test_env = with_webhooks().await?;
    let shell = Shell::of(&test_env)?;
    let bad = |name: &str| vpc(name, "cidrBlock: {value: 10.0.0.0/16}, lifecycle: {ignoreChanges: [tgas]}");
    let until_reviewed = "until { kubectl apply --dry-run=server -f one.yaml 2>&1 || true; } | grep tgas >/dev/null; do sleep 0.2; done";
    shell.write("one.yaml", &bad("one"))?;
    shell.write("two.yaml", &format!("{}---\n{}", bad("one"), bad("two")))?;
    shell.run(until_reviewed).await?;
    let printed = shell.fails("kubectl apply -f one.yaml").await?;
    assert!(printed.contains("The VPC \"one\" is invalid: spec.lifecycle.ignoreChanges[0]: "), "{printed}");
    for flags in ["", "--server-side"] {
        let printed = shell.fails(&format!("kubectl apply {flags} -f two.yaml")).await?;
        for name in ["one", "two"] {
            assert!(printed.contains(&format!("VPC/{name}: spec.lifecycle.ignoreChanges[0]")), "{printed}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn value_beside_value_from_is_rejected_with_what_to_write() -> Result<()> {
    let test_env = with_webhooks().await?;
    let shell = Shell::of(&test_env)?;
    let written = |cidr: &str| vpc("main", &format!("cidrBlock: {cidr}, lifecycle: {{paused: true}}"));
    shell.write("main.yaml", &written("{value: 10.0.0.0/16}"))?;
    let patch = r#"{"spec":{"cidrBlock":{"value":null,"valueFrom":{"configMap":{"name":"a","key":"b"}}}}}"#;
    shell
        .run(&format!("kubectl apply -f main.yaml; kubectl patch vpc main --type merge -p '{patch}'"))
        .await?;
    let printed = shell.fails("kubectl apply -f main.yaml").await?;
    assert!(
        printed.contains("The VPC \"main\" is invalid: spec.cidrBlock: Invalid value")
            && printed.contains("set either value or valueFrom, not both")
            && !printed.contains("oneOf"),
        "{printed}"
    );
    // What the message says.
    shell.write("main.yaml", &written("{value: 10.0.0.0/16, valueFrom: null}"))?;
    shell.run("kubectl apply -f main.yaml").await?;
    shell.run("kubectl get vpc main -o jsonpath='{.spec.cidrBlock.value}' | grep -qx 10.0.0.0/16").await?;
    for (wrong, words) in [
        ("{}", "spec.cidrBlock: Invalid value"),
        ("{}", "set value, such as `{value: x}`, or valueFrom"),
        ("{valueFrom: {}}", "set exactly one of configMap, "),
        ("10.0.0.0/16", "must be of type object: \"string\""),
    ] {
        shell.write("wrong.yaml", &vpc("wrong", &format!("cidrBlock: {wrong}")))?;
        let printed = shell.fails("kubectl apply -f wrong.yaml").await?;
        assert!(printed.contains(words) && !printed.contains("oneOf"), "{wrong}: {printed}");
    }
    shell.run("kubectl delete vpc main --timeout=120s").await.map(drop)
}

/// The warnings of a command about resources of Kraken, without "Warning: ". kubectl prints its own, too.
fn warnings(printed: &str) -> Vec<&str> {
    let all = printed.lines().filter_map(|line| line.strip_prefix("Warning: "));
    all.filter(|warning| !warning.starts_with("failed to migrate")).collect()
}

#[tokio::test]
async fn an_edit_and_a_deletion_say_what_they_will_do() -> Result<()> {
    let test_env = with_webhooks().await?;
    let shell = Shell::of(&test_env)?;
    let network = |cidr: &str, dns: bool| {
        let replace = "lifecycle: {replace: DeleteFirst}";
        let vpc = vpc(
            "main",
            &format!("cidrBlock: {{value: {cidr}}}, enableDNSHostnames: {{value: {dns}}}, {replace}"),
        );
        format!(
            "{vpc}---\napiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Subnet\nmetadata: {{name: a}}\n\
             spec: {{vpcID: {{valueFrom: {{ref: VPC/main}}}}, cidrBlock: {{value: 10.0.1.0/24}}}}\n"
        )
    };
    shell.write("network.yaml", &network("10.0.0.0/16", false))?;
    let applied = shell.run("kubectl apply -f network.yaml").await?;
    assert_eq!(warnings(&applied), [""; 0], "nothing exists yet");
    let ready = "kubectl wait --for=condition=Ready --timeout=120s vpc/main subnet/a >/dev/null; kubectl get vpc main -o jsonpath='{.status.externalIds[0]}'";
    let id = shell.run(ready).await?;
    for command in ["kubectl apply -f network.yaml", "kubectl label vpc main team=a"] {
        assert_eq!(warnings(&shell.run(command).await?), [""; 0], "{command}");
    }
    shell.write("network.yaml", &network("10.1.0.0/16", true))?;
    for command in
        ["apply --dry-run=server", "apply --dry-run=server --server-side --force-conflicts", "diff"]
    {
        // The exit code of `diff` says that there are differences.
        let printed = shell.run(&format!("kubectl {command} -f network.yaml || [ $? = 1 ]")).await?;
        let expected = [
            format!(
                "VPC/main: replaces {id} (DeleteFirst), and then changes subnet a: cidrBlock 10.0.0.0/16 -> 10.1.0.0/16"
            ),
            format!("VPC/main: changes {id} in place: enableDNSHostnames false -> true"),
        ];
        assert_eq!(warnings(&printed), expected, "{printed}");
    }
    let printed = shell.run("kubectl delete --dry-run=server vpc/main").await?;
    assert_eq!(
        warnings(&printed),
        [format!("VPC/main: deletes {id} in the cloud, after 1 dependent: subnet a")]
    );
    // Nothing of it was done.
    assert_eq!(shell.run("kubectl get vpc main -o jsonpath='{.status.externalIds[0]}'").await?, id);
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}
