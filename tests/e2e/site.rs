//! A namespace of a test, and `kubectl`.

use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use kraken_testing::moto;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// The namespace of the controllers.
pub(crate) const SYSTEM: &str = "kraken-system";
/// The timeout of waits, on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);
/// The variable with the id of a process in the namespaces of the local node; unset on other clusters.
pub(crate) const NODE: &str = "KRAKEN_E2E_NODE_PROCESS";
/// An image with a shell, which is loaded with those of the controllers.
pub(crate) const TOOLS: &str = kraken_testing::node::TOOLS;

/// The namespace of one test, under Pod Security `restricted`.
pub(crate) struct Site {
    /// Its name.
    pub(crate) namespace: String,
}

/// A resource with a mistake in this field that only the webhook of its controller finds: the schema does not know the syntax of
/// templates.
pub(crate) fn mistaken(kind: &str, field: &str) -> String {
    format!(
        "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: {kind}\nmetadata: {{name: mistaken}}\n\
         spec: {{{field}: {{valueFrom: {{templateString: '{{{{ .ConfigMap'}}}}}}\n"
    )
}

impl Site {
    /// Creates the namespace.
    pub(crate) async fn new(test: &str) -> Result<Self> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let namespace = format!("e2e-{test}-{seconds}");
        let site = Self { namespace: namespace.clone() };
        cluster(&["create", "namespace", &namespace]).await?;
        cluster(&["label", "namespace", &namespace, "pod-security.kubernetes.io/enforce=restricted"]).await?;
        Ok(site)
    }

    /// Runs `kubectl` in this namespace.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let mut all = vec!["-n", &self.namespace];
        all.extend(arguments);
        cluster(&all).await
    }

    /// Applies YAML.
    pub(crate) async fn apply(&self, yaml: &str) -> Result<()> {
        self.apply_with(yaml, &[]).await
    }

    async fn apply_with(&self, yaml: &str, more: &[&str]) -> Result<()> {
        let command = ["-n", &self.namespace, "apply", "--server-side", "--force-conflicts", "-f", "-"];
        run(&[&command, more].concat(), yaml).await.map(drop)
    }

    /// The API server's error for YAML that must be rejected. Nothing is stored if it is accepted, so that a caller can
    /// wait until the webhook knows what it needs: an update is not rejected for a mistake that existed before.
    pub(crate) async fn refused(&self, yaml: &str) -> Result<String> {
        match self.apply_with(yaml, &["--dry-run=server"]).await {
            Ok(()) => bail!("accepted, but must be rejected:\n{yaml}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// Waits until objects are Ready, such as `vpc/web` or `kraken --all`. The timeout is more than twice the visibility window:
    /// a VPC whose create call got no response, on a busy machine, is searched for during the window before it is created again.
    pub(crate) async fn ready(&self, what: &[&str]) -> Result<()> {
        let mut arguments = vec!["wait", "--for=condition=Ready", "--timeout=240s"];
        arguments.extend(what);
        let Err(error) = self.kubectl(&arguments).await else { return Ok(()) };
        let found = self.unready().await.unwrap_or_else(|error| format!("{error:#}"));
        Err(error.context(found))
    }

    /// The conditions of the resources that are not Ready, and the pods of the controllers.
    async fn unready(&self) -> Result<String> {
        const SHOWN: usize = 10;
        let list: Value = serde_json::from_str(&self.kubectl(&["get", "kraken", "-o", "json"]).await?)?;
        let resources = list["items"].as_array().into_iter().flatten();
        let lines: Vec<String> = resources.filter_map(unready).collect();
        let shown = lines.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        let pods = system(&["get", "pods"]).await?;
        Ok(format!("{} resources are not Ready:\n{shown}\n{pods}", lines.len()))
    }

    /// The content of a file in a running pod.
    pub(crate) async fn file(&self, pod: &str, path: &str) -> Result<String> {
        self.kubectl(&["exec", pod, "--", "cat", path]).await
    }

    /// Waits until a file in a pod has the wanted content.
    pub(crate) async fn until_file(
        &self,
        pod: &str,
        path: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        until(&format!("{path} of {pod}"), async || self.file(pod, path).await, |text| wanted(text)).await
    }

    /// Deletes the namespace and everything in it, and waits until it does not exist.
    pub(crate) async fn end(self) -> Result<()> {
        // Before the namespace, while the controllers can still delete the remote objects in order.
        self.kubectl(&["delete", "kraken", "--all", "--timeout=120s"]).await?;
        cluster(&["delete", "namespace", &self.namespace, "--timeout=120s"]).await.map(drop)
    }

    /// The remote objects of this namespace: the items in the response to a Describe action.
    pub(crate) async fn in_cloud(&self, action: &str, list: &str) -> Result<Vec<Value>> {
        let answer = described(action, &[]).await?;
        let own = answer[list].as_array().into_iter().flatten().filter(|item| self.owns(item));
        Ok(own.cloned().collect())
    }

    /// All instances that were launched for this namespace, including terminated ones.
    pub(crate) async fn launched(&self) -> Result<Vec<Value>> {
        let (mut launched, mut page) = (Vec::new(), String::new());
        loop {
            let fields: &[(&str, &str)] = if page.is_empty() { &[] } else { &[("NextToken", &page)] };
            let answer = described("DescribeInstances", fields).await?;
            let reservations = answer["reservationSet"].as_array().into_iter().flatten();
            let instances =
                reservations.flat_map(|launch| launch["instancesSet"].as_array().into_iter().flatten());
            launched.extend(instances.filter(|item| self.owns(item)).cloned());
            // A page contains up to 100 reservations.
            match answer["nextToken"].as_str() {
                Some(next) if !next.is_empty() => next.clone_into(&mut page),
                _ => return Ok(launched),
            }
        }
    }

    fn owns(&self, item: &Value) -> bool {
        let marker = format!("/{}/", self.namespace);
        let tags = item["tagSet"].as_array().into_iter().flatten();
        tags.filter(|tag| tag["key"] == "kraken-iac.eoinfennessy.com/owner")
            .any(|tag| tag["value"].as_str().is_some_and(|owner| owner.contains(&marker)))
    }
}

/// One line about a resource that is not Ready.
fn unready(resource: &Value) -> Option<String> {
    let conditions = resource["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready");
    let ready = ready.unwrap_or(&Value::Null);
    let is_ready =
        ready["status"] == "True" && ready["observedGeneration"] == resource["metadata"]["generation"];
    let kind = resource["kind"].as_str().unwrap_or_default();
    (!is_ready).then(|| format!("{kind} {}: {} {}", name(resource), ready["reason"], ready["message"]))
}

async fn described(action: &str, fields: &[(&str, &str)]) -> Result<Value> {
    let endpoint = std::env::var("KRAKEN_E2E_AWS_ENDPOINT")
        .context("KRAKEN_E2E_AWS_ENDPOINT is not set: `cargo xtask e2e` runs these tests")?;
    moto::ec2(&endpoint, action, fields).await
}

/// Runs `kubectl`.
pub(crate) async fn cluster(arguments: &[&str]) -> Result<String> {
    run(arguments, "").await
}

/// Runs `kubectl` in the controllers' namespace.
pub(crate) async fn system(arguments: &[&str]) -> Result<String> {
    let mut all = vec!["-n", SYSTEM];
    all.extend(arguments);
    cluster(&all).await
}

/// The same with JSON output.
pub(crate) async fn system_json(arguments: &[&str]) -> Result<Value> {
    let mut all = arguments.to_vec();
    all.extend(["-o", "json"]);
    Ok(serde_json::from_str(&system(&all).await?)?)
}

/// Waits until the rollout of a Deployment is complete.
pub(crate) async fn rolled_out(deployment: &str) -> Result<()> {
    let deployment = format!("deployment/{deployment}");
    system(&["rollout", "status", &deployment, "--timeout=120s"]).await.map(drop)
}

/// The pods of a controller, without terminating ones.
pub(crate) async fn pods(controller: &str) -> Result<Vec<Value>> {
    let selector = format!("app.kubernetes.io/name={controller}");
    let list = system_json(&["get", "pods", "-l", &selector]).await?;
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    Ok(pods.into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect())
}

/// The name of an object.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Repeats a request until its result is the expected one. A failed request is repeated too.
pub(crate) async fn until<T: std::fmt::Debug>(
    what: &str,
    request: impl AsyncFn() -> Result<T>,
    wanted: impl Fn(&T) -> bool,
) -> Result<T> {
    let started = Instant::now();
    loop {
        let result = request().await;
        match result {
            Ok(result) if wanted(&result) => return Ok(result),
            result if started.elapsed() > TIMEOUT => {
                bail!("{what} did not reach the expected state; last result: {result:?}")
            }
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

async fn run(arguments: &[&str], input: &str) -> Result<String> {
    let program = std::env::var("KRAKEN_E2E_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned());
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().context("cannot run kubectl")?;
    let mut stdin = child.stdin.take().context("kubectl has no standard input")?;
    stdin.write_all(input.as_bytes()).await?;
    drop(stdin);
    let output = child.wait_with_output().await?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`kubectl {}` failed: {}", arguments.join(" "), stderr.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
