//! Installation of one component after the other, in two orders by two tools: a resource of each gets Ready with what is installed so far.
//!
//! A spoke needs the CRDs of the hub, and nothing of another spoke. Before the hub is there, no controller is ready.

use std::path::Path;

use anyhow::{Context as _, Result};
use kraken_testing::node::kubectl;
use kraken_testing::{paths, suite};
use serde_json::Value;

use super::helm;
use crate::{node, ui};

/// The namespace of the resources.
const NAMESPACE: &str = "e2e-components";
const HUB: &str = "hub";
/// The order in which the README installs them: the hub, then spokes. Their Accounts come last, which they can use but do not need.
const ORDER: [&str; 20] = [
    HUB,
    "aws-vpc",
    "aws-ec2-instance",
    "aws-elb",
    "aws-autoscaling",
    "aws-iam",
    "aws-acm",
    "aws-dns",
    "aws-rds",
    "aws-s3",
    "aws-sqs",
    "aws-cloudwatch",
    "aws-sns",
    "aws-ecr",
    "aws-secretsmanager",
    "aws-kms",
    "aws-dynamodb",
    "aws-ssm",
    "aws-account",
    TOFU,
];
/// It has no resource without a provider, whose programs no image contains.
const TOFU: &str = "tofu";

/// The tool of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Kustomize,
    Helm,
}

/// Installs all components, in the usual order and in the reverse one, with Kustomize and then with Helm. `uninstall` removes them in between.
pub(super) async fn install(
    kubeconfig: &Path,
    aws_endpoint: &str,
    uninstall: impl AsyncFn() -> Result<()>,
) -> Result<()> {
    let reverse: Vec<&str> = ORDER.into_iter().rev().collect();
    let orders = [("the usual order", ORDER.as_slice()), ("the reverse order", &reverse)];
    let all = [Tool::Kustomize, Tool::Helm].into_iter().flat_map(|tool| orders.map(|order| (tool, order)));
    for (number, (tool, (name, order))) in all.enumerate() {
        if number > 0 {
            ui::step("uninstalling", uninstall()).await?;
        }
        ui::headline(&format!("Components with {tool:?}, in {name}"));
        install_with(kubeconfig, aws_endpoint, tool, order).await?;
    }
    Ok(())
}

async fn install_with(kubeconfig: &Path, aws_endpoint: &str, tool: Tool, order: &[&str]) -> Result<()> {
    let listed = paths::controllers()?;
    let missing: Vec<_> = listed.iter().filter(|name| !order.contains(&name.as_str())).collect();
    anyhow::ensure!(missing.is_empty(), "no order for the components {missing:?}");
    let namespace = paths::workspace_root()?.join("config/namespace").display().to_string();
    kubectl(kubeconfig, &["apply", "--server-side", "-k", &namespace]).await?;
    node::credentials(kubeconfig, aws_endpoint).await?;
    kubectl(kubeconfig, &["create", "namespace", NAMESPACE]).await?;
    let mut untried = Vec::new();
    for (number, component) in order.iter().enumerate() {
        let so_far = order.get(..=number).unwrap_or_default();
        ui::step(&format!("{tool:?}: installing {component}"), apply(kubeconfig, tool, component, so_far))
            .await?;
        untried.push(*component);
        if !so_far.contains(&HUB) {
            continue;
        }
        // In the usual order: the hub first, and the VPC before what is in it.
        let now = std::mem::take(&mut untried);
        for component in ORDER.into_iter().filter(|component| now.contains(component)) {
            node::rolled_out_one(kubeconfig, component).await?;
            if component == TOFU {
                ui::step("the host of providers runs without a token", host_runs(kubeconfig)).await?;
            }
            if let Some(sample) = sample(component) {
                ui::step(&format!("a resource of {component}"), ready(kubeconfig, component, sample)).await?;
            }
        }
    }
    let arguments = ["delete", "namespace", NAMESPACE, "--timeout=120s"];
    ui::step("deleting the resources", async {
        // Before the namespace, while the controllers delete the remote objects in order.
        kubectl(kubeconfig, &["-n", NAMESPACE, "delete", "kraken", "--all", "--timeout=120s"]).await?;
        kubectl(kubeconfig, &arguments).await
    })
    .await
    .map(drop)
}

/// Installs one component; `so_far` includes it.
async fn apply(kubeconfig: &Path, tool: Tool, component: &str, so_far: &[&str]) -> Result<()> {
    match tool {
        Tool::Kustomize => {
            let folder = paths::workspace_root()?.join("config").join(component).display().to_string();
            kubectl(kubeconfig, &["apply", "--server-side", "-k", &folder]).await.map(drop)
        }
        Tool::Helm => helm::install_component(kubeconfig, component, so_far).await,
    }
}

/// Checks that the sidecar of the controller of providers runs, and that the kubelet mounted no token into it.
async fn host_runs(kubeconfig: &Path) -> Result<()> {
    let selector = format!("app.kubernetes.io/name=kraken-{TOFU}");
    let arguments = ["-n", suite::NAMESPACE, "get", "pods", "-l", &selector, "-o", "json"];
    let pods: Value = serde_json::from_str(&kubectl(kubeconfig, &arguments).await?)?;
    let pods = pods["items"].as_array().context("kubectl lists no pods")?;
    anyhow::ensure!(
        pods.iter().any(has_host),
        "no pod of kraken-{TOFU} has a running host without a token: {pods:?}"
    );
    Ok(())
}

fn has_host(pod: &Value) -> bool {
    let of =
        |list: &Value| list.as_array().and_then(|all| all.iter().find(|one| one["name"] == "host").cloned());
    let status = of(&pod["status"]["initContainerStatuses"]).unwrap_or_default();
    let mounts = of(&pod["spec"]["initContainers"]).unwrap_or_default()["volumeMounts"].to_string();
    status["state"]["running"].is_object() && !mounts.contains("serviceaccount")
}

/// Creates a resource, and waits until it is Ready. It stays until the end.
async fn ready(kubeconfig: &Path, component: &str, (resource, yaml): (&str, &str)) -> Result<()> {
    let file = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
    std::fs::write(file.path(), yaml).context("cannot write a temporary file")?;
    let path = file.path().display().to_string();
    kubectl(kubeconfig, &["-n", NAMESPACE, "apply", "--server-side", "-f", &path]).await?;
    let wait = ["-n", NAMESPACE, "wait", "--for=condition=Ready", "--timeout=120s", resource];
    let Err(error) = kubectl(kubeconfig, &wait).await else { return Ok(()) };
    let all = kubectl(kubeconfig, &["-n", NAMESPACE, "get", "kraken", "-o", "wide"]).await;
    let deployment = format!("deployment/kraken-{component}");
    let log = kubectl(kubeconfig, &["-n", suite::NAMESPACE, "logs", &deployment, "--tail=30"]).await;
    let text = |output: Result<String>| output.unwrap_or_else(|error| format!("{error:#}"));
    Err(error.context(format!("{resource} of {component} is not Ready\n{}\n{}", text(all), text(log))))
}

/// A resource of a component, and its YAML. Those of the load balancers need a VPC, which is there in both orders.
fn sample(component: &str) -> Option<(&'static str, &'static str)> {
    let sample = match component {
        "aws-vpc" => (
            "vpc/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: VPC\nmetadata: {name: components}\n\
             spec: {cidrBlock: {value: 10.5.0.0/16}}\n",
        ),
        "aws-ec2-instance" => (
            "ec2instance/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: EC2Instance\nmetadata: {name: components}\n\
             spec: {imageID: {value: ami-12c6146b}, instanceType: {value: t3.micro}, minCount: {value: 1}, maxCount: {value: 1}}\n",
        ),
        "aws-elb" => (
            "targetgroup/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: TargetGroup\nmetadata: {name: components}\n\
             spec: {vpcID: {valueFrom: {ref: VPC/components}}, port: {value: 80}, protocol: {value: HTTP}}\n",
        ),
        "aws-autoscaling" => (
            "launchtemplate/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: LaunchTemplate\nmetadata: {name: components}\n\
             spec: {imageID: {value: ami-12c6146b}, instanceType: {value: t3.micro}}\n",
        ),
        "aws-iam" => (
            "iampol/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Policy\nmetadata: {name: components}\n\
             spec: {document: {statements: [{effect: {value: Allow}, actions: {value: [s3:GetObject]}, resources: {value: ['*']}}]}}\n",
        ),
        "aws-acm" => (
            "acm/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Certificate\nmetadata: {name: components}\n\
             spec: {domainName: {value: www.example.com}}\n",
        ),
        "aws-dns" => (
            "hz/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: HostedZone\nmetadata: {name: components}\n\
             spec: {name: {value: components.example.com}}\n",
        ),
        // Without versioning: moto's answer about it is one that the SDK rejects.
        "aws-s3" => (
            "s3b/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Bucket\nmetadata: {name: components}\n\
             spec: {tags: {Name: components}}\n",
        ),
        "aws-sqs" => (
            "sqs/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Queue\nmetadata: {name: components}\n\
             spec: {delaySeconds: {value: 1}}\n",
        ),
        "aws-rds" => (
            "dbpg/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: DBParameterGroup\nmetadata: {name: components}\n\
             spec: {family: {value: postgres16}}\n",
        ),
        "aws-cloudwatch" => (
            "lg/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: LogGroup\nmetadata: {name: components}\n\
             spec: {retentionDays: {value: 1}}\n",
        ),
        "aws-sns" => (
            "sns/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Topic\nmetadata: {name: components}\n\
             spec: {displayName: {value: components}}\n",
        ),
        "aws-ecr" => (
            "ecr/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Repository\nmetadata: {name: components}\n\
             spec: {scanOnPush: {value: true}}\n",
        ),
        "aws-secretsmanager" => (
            "asm/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: SecretsManagerSecret\nmetadata: {name: components}\n\
             spec: {recoveryWindowDays: 0}\n",
        ),
        "aws-kms" => (
            "kms/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Key\nmetadata: {name: components}\n\
             spec: {deletionWindowDays: 7}\n",
        ),
        "aws-dynamodb" => (
            "ddb/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: DynamoDBTable\nmetadata: {name: components}\n\
             spec: {hashKey: {name: {value: id}}, skipFinalBackup: true}\n",
        ),
        "aws-ssm" => (
            "parameterlookup/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: ParameterLookup\nmetadata: {name: components}\n\
             spec: {name: {value: /aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64}}\n",
        ),
        "aws-account" => (
            "account/components",
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Account\nmetadata: {name: components}\nspec: {}\n",
        ),
        _ => return None,
    };
    Some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_with_a_token_is_found() {
        let pod = |path: &str| {
            serde_json::json!({
                "spec": {"initContainers": [{"name": "host", "volumeMounts": [{"mountPath": path}]}]},
                "status": {"initContainerStatuses": [{"name": "host", "state": {"running": {}}}]},
            })
        };
        assert!(has_host(&pod("/providers")));
        assert!(!has_host(&pod("/var/run/secrets/kubernetes.io/serviceaccount")) && !has_host(&Value::Null));
    }

    #[test]
    fn every_spoke_has_a_place_in_the_order_and_a_resource() {
        for controller in paths::controllers().unwrap() {
            assert!(ORDER.contains(&controller.as_str()), "{controller}");
            let has_sample = controller != HUB && controller != TOFU;
            assert_eq!(sample(&controller).is_some(), has_sample, "{controller}");
        }
    }
}
