//! `kubectl kraken plan` and `apply`: the real binary, the webhooks of all controllers, and the calls that the cloud receives.

mod calls;
mod drift;
mod generated;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::paths;

use crate::kubectl::{Shell, with_webhooks};

/// A stack with a placeholder for each value.
const STACK: &str = r"
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {type: %TYPE, team: %TEAM}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main}, spec: {cidrBlock: {value: 10.62.0.0/16},
  enableDNSHostnames: {value: %DNS}, tags: {Team: %TEAM}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Subnet, metadata: {name: a}, spec: {vpcID: {valueFrom: {ref: VPC/main}},
  availabilityZone: {value: us-east-1a}, cidrBlock: {value: %CIDR}, mapPublicIPOnLaunch: {value: %PUBLIC}, lifecycle: {replace: DeleteFirst}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: SecurityGroup, metadata: {name: web}, spec: {vpcID: {valueFrom: {ref: VPC/main}},
  description: {value: %DESCRIPTION}, ingress: [{protocol: {value: tcp}, fromPort: {value: %PORT}, cidrBlocks: {value: [10.0.0.0/8]}}],
  lifecycle: {replace: CreateFirst}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: web}, spec: {imageID: {value: %IMAGE},
  instanceType: {valueFrom: {configMap: {name: settings, key: type}}}, minCount: {value: 1}, maxCount: {value: %COUNT},
  subnetID: {valueFrom: {ref: Subnet/a}}, securityGroupIDs: {value: [{valueFrom: {ref: SecurityGroup/web}}]},
  lifecycle: {disruption: Allow, replace: CreateFirst}}}
";

const BEFORE: [(&str, &str); 9] = [
    ("TYPE", "t3.micro"),
    ("TEAM", "shop"),
    ("DNS", "false"),
    ("CIDR", "10.62.1.0/24"),
    ("PUBLIC", "false"),
    ("DESCRIPTION", "web"),
    ("PORT", "80"),
    ("IMAGE", "ami-12c6146b"),
    ("COUNT", "1"),
];

fn stack(values: &BTreeMap<&str, &str>) -> String {
    let mut text = STACK.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("%{name}"), value);
    }
    text
}

fn program() -> Result<String> {
    let program = paths::bin_dir()?.join("kubectl-kraken");
    ensure!(program.is_file(), "{} does not exist; build the binaries first", program.display());
    Ok(program.display().to_string())
}

/// The versions of all objects.
async fn versions(shell: &Shell) -> Result<String> {
    let columns = "custom-columns=K:.kind,N:.metadata.name,V:.metadata.resourceVersion";
    shell
        .run(&format!("kubectl get kraken,configmap,depreq,statedeclarations -o {columns} --no-headers"))
        .await
}

#[tokio::test]
async fn a_plan_names_what_follows_and_what_is_not_possible() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let mut values: BTreeMap<&str, &str> = BEFORE.into();
    shell.write("stack.yaml", &stack(&values))?;
    let printed =
        shell.output(&format!("{program} plan -f stack.yaml && echo code 0 || echo code $?")).await?.1;
    for text in [
        "+ VPC/main",
        "subnetID: the id of subnet a (known after apply)",
        "Plan: 5 to create; 0 unchanged.",
        "code 2",
    ] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    shell.run(&format!("{program} apply -f stack.yaml --yes --timeout 120")).await?;
    let printed =
        shell.output(&format!("{program} plan -f stack.yaml && echo code 0 || echo code $?")).await?.1;
    assert_eq!(printed, "Nothing changes: 5 unchanged.\ncode 0\n");
    // Everything is ready already, so that there is nothing to ask or to wait for.
    let printed =
        shell.output(&format!("{program} apply -f stack.yaml && echo code 0 || echo code $?")).await?.1;
    assert_eq!(printed, "Nothing changes: 5 unchanged.\ncode 0\n");

    // The replaced subnet has another id: the instance in it follows. A ConfigMap changes a field that stops it.
    values.extend([("CIDR", "10.62.3.0/24"), ("TYPE", "t3.large")]);
    shell.write("stack.yaml", &stack(&values))?;
    let printed =
        shell.output(&format!("{program} plan -f stack.yaml && echo code 0 || echo code $?")).await?.1;
    for text in [
        "± Subnet/a\n",
        "± EC2Instance/web\n",
        "subnetID Subnet/a -> (known after apply)",
        "instanceType t3.micro -> t3.large",
        "because ConfigMap/settings changes",
        "because Subnet/a is replaced",
        "Plan: 1 to change, 2 to replace; 2 unchanged.\ncode 2\n",
    ] {
        assert!(printed.contains(text), "{text}: {printed}");
    }

    let printed = shell.output(&format!("{program} plan --destroy && echo code 0 || echo code $?")).await?.1;
    let order: Vec<_> = printed.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(order.first(), Some(&"- EC2Instance/web"), "{printed}");
    assert_eq!(order.last(), Some(&"- VPC/main"), "{printed}");
    let only_vpc =
        "{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main}}";
    shell.write("vpc.yaml", only_vpc)?;
    let printed = shell.output(&format!("{program} plan --destroy -f vpc.yaml")).await?.1;
    assert!(printed.contains("x VPC/main") && printed.contains("would wait: "), "{printed}");

    // Everything that is wrong in the set is said at once, and nothing of it is applied.
    let wrong = stack(&values)
        .replace("10.62.0.0/16", "10.62.0.1/16")
        .replace("value: 443", "value: 99999")
        .replace("value: 80}", "value: 99999}");
    shell.write("stack.yaml", &wrong)?;
    let before = versions(&shell).await?;
    let (succeeded, printed) = shell.output(&format!("{program} apply -f stack.yaml --yes")).await?;
    assert!(
        !succeeded
            && printed.contains("stack.yaml, document 2: ")
            && printed.contains("stack.yaml, document 4: "),
        "{printed}"
    );
    assert_eq!(before, versions(&shell).await?);
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}

/// One person reviews a plan, and a pipeline applies it: what moved since is named, and nothing is applied then.
#[tokio::test]
async fn a_reviewed_plan_is_applied_only_as_long_as_it_is_the_same() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let mut values: BTreeMap<&str, &str> = BEFORE.into();
    shell.write("stack.yaml", &stack(&values))?;
    let review = format!("{program} plan -f stack.yaml -o json > plan.json || true");
    let apply = format!("{program} apply -f stack.yaml --plan plan.json --timeout 120");
    shell.run(&review).await?;
    shell.run(&apply).await?;

    // Another document: a value that the plan shows.
    shell.run(&review).await?;
    values.insert("CIDR", "10.62.3.0/24");
    shell.write("stack.yaml", &stack(&values))?;
    let (succeeded, printed) = shell.output(&apply).await?;
    assert!(
        !succeeded && printed.contains("Subnet/a in ") && printed.contains("was not reviewed: Replace"),
        "{printed}"
    );
    // A reference: the plan of another ConfigMap's key is not what was reviewed.
    shell.run(&review).await?;
    values.insert("TYPE", "t3.large");
    shell.write("stack.yaml", &stack(&values))?;
    let before = versions(&shell).await?;
    let (succeeded, printed) = shell.output(&apply).await?;
    let named = ["ConfigMap/settings in ", "EC2Instance/web in ", "review it again"];
    assert!(!succeeded && named.iter().all(|text| printed.contains(text)), "{printed}");
    assert_eq!(before, versions(&shell).await?);

    shell.run(&review).await?;
    let printed = shell.run(&apply).await?;
    assert!(printed.contains("Everything is ready"), "{printed}");
    let (succeeded, printed) =
        shell.output(&format!("{program} apply -f stack.yaml --plan stack.yaml")).await?;
    assert!(!succeeded && printed.contains("cannot use the plan in stack.yaml"), "{printed}");
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}

/// One review and one approval for a set with `approval: Manual`; what nobody reviewed is left to a person.
#[tokio::test]
async fn a_reviewed_plan_is_approved_only_for_what_it_says() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let mut values: BTreeMap<&str, &str> = BEFORE.into();
    let manual = |values: &BTreeMap<&str, &str>| {
        let text = stack(values).replace("lifecycle: {", "lifecycle: {approval: Manual, ");
        text.replace("tags: {Team:", "lifecycle: {approval: Manual}, tags: {Team:")
    };
    shell.write("stack.yaml", &manual(&values))?;
    let review = format!("{program} plan -f stack.yaml -o json > plan.json || true");
    let apply = format!("{program} apply -f stack.yaml --plan plan.json --approve --timeout 120");
    shell.run(&review).await?;
    let printed = shell.run(&apply).await?;
    let approved = printed.matches(" approved: plan ").count();
    assert_eq!(approved, 4, "{printed}");

    // The edit of a tag, and a replacement that another one causes.
    values.extend([("TEAM", "other"), ("CIDR", "10.62.3.0/24")]);
    shell.write("stack.yaml", &manual(&values))?;
    shell.run(&review).await?;
    let printed = shell.run(&apply).await?;
    let named = ["VPC/main approved", "Subnet/a approved", "EC2Instance/web approved", "Everything is ready"];
    assert!(named.iter().all(|text| printed.contains(text)), "{printed}");

    // Somebody edits the object in the cloud after the review.
    let vpc = test_env.ready("VPC", "main").await?;
    let id = vpc["status"]["externalIds"][0].as_str().context("no id")?;
    values.insert("DNS", "true");
    shell.write("stack.yaml", &manual(&values))?;
    shell.run(&review).await?;
    let tag = [("ResourceId.1", id), ("Tag.1.Key", "Team"), ("Tag.1.Value", "eve")];
    test_env.env.moto.ec2("CreateTags", &tag).await?;
    let (succeeded, printed) = shell.output(&apply).await?;
    assert!(
        !succeeded && printed.contains("tags.Team eve -> other") && printed.contains("review it again"),
        "{printed}"
    );
    // Without a look at the cloud, what the resource's own plan reverts in addition is not approved with the set.
    shell.run(&review.replace(" plan ", " plan --no-refresh ")).await?;
    let (succeeded, printed) = shell.output(&apply.replace(" apply ", " apply --no-refresh ")).await?;
    let named =
        ["VPC/main was not approved", "also changes what was not reviewed: spec.tags.Team eve -> other"];
    assert!(!succeeded && named.iter().all(|text| printed.contains(text)), "{printed}");
    shell.run(&format!("{program} approve --yes vpc/main")).await?;
    test_env.ready("VPC", "main").await?;
    let automatic = manual(&values).replace("approval: Manual", "approval: Automatic");
    shell.write("stack.yaml", &automatic)?;
    shell.run(&format!("{program} apply -f stack.yaml --yes")).await?;
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}

/// A value changes while a person reads the plan: what they agreed to is not what would happen any more.
#[tokio::test]
async fn a_plan_that_moves_during_the_question_is_not_applied() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let mut values: BTreeMap<&str, &str> = BEFORE.into();
    shell.write("stack.yaml", &stack(&values))?;
    shell.run(&format!("{program} apply -f stack.yaml --yes --timeout 120")).await?;
    values.insert("TEAM", "other");
    shell.write("stack.yaml", &stack(&values))?;
    let edit = "kubectl patch securitygroup web --type merge -p '{\"spec\":{\"description\":{\"value\":\"api\"}}}' >/dev/null";
    let answered = |between: &str| {
        format!(
            "rm -f answer; mkfifo answer; {program} apply -f stack.yaml --timeout 240 <answer >out.txt 2>&1 & command=$!; exec 3>answer
             until grep -q 'Apply?' out.txt; do sleep 0.1; done; {between}; echo y >&3; wait $command || true; cat out.txt"
        )
    };
    let moved = shell.run(&answered(edit)).await?;
    for text in ["SecurityGroup/web in ", "nothing was applied, because by now the plan is another one"] {
        assert!(moved.contains(text), "{text}: {moved}");
    }
    let team = shell.run("kubectl get vpc main -o jsonpath={.spec.tags.Team}").await?;
    assert_eq!(team, "shop");
    // The plan moves as long as the edit is applied.
    for (kind, name) in [("SecurityGroup", "web"), ("EC2Instance", "web")] {
        test_env.ready(kind, name).await?;
    }
    let applied = shell.run(&answered("true")).await?;
    assert!(applied.contains("Everything is ready"), "{applied}");
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}
