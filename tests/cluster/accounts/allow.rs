//! The default tags and the rules of an Account.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use kraken_simulator::{Kind, SimulatedAccounts};
use kraken_testing::SuiteOptions;
use kraken_tests::{TestEnv, TestUser, test_env::condition};
use serde_json::{Value, json};

use super::{ONE, OWN, TWO, Tenant, WEST, account, id};

#[tokio::test]
async fn default_tags_are_applied_and_a_change_of_them_is_an_edit() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    let tags = json!({"Team": "shop", "Env": "prod"});
    tenant.account("default", WEST, json!({"defaultTags": tags})).await?;
    // Drift is only reported; an edit is applied.
    let spec = json!({
        "cidrBlock": {"value": "10.0.0.0/16"}, "tags": {"Name": "main", "Env": "test"}, "lifecycle": {"drift": "Report"},
    });
    tenant.resource("VPC", "main", "", spec).await?;
    let vpc = tenant.test_env.ready("VPC", "main").await?;
    tenant.tagged("main", json!({"Name": "main", "Env": "test", "Team": "shop"})).await?;
    let replaced = json!({"spec": {"defaultTags": {"Team": "web", "CostCenter": "4711", "Env": null}}});
    tenant.test_env.patch("Account", "default", replaced).await?;
    tenant
        .tagged("main", json!({"Name": "main", "Env": "test", "Team": "web", "CostCenter": "4711"}))
        .await?;
    tenant.test_env.patch("Account", "default", json!({"spec": {"defaultTags": null}})).await?;
    tenant.tagged("main", json!({"Name": "main", "Env": "test"})).await?;
    let after = tenant.test_env.ready("VPC", "main").await?;
    assert_eq!(id(&after)?, id(&vpc)?);
    assert_eq!(condition(&after, "Drifted"), &Value::Null);
    let events = tenant.test_env.events_of("main").await?;
    assert!(events.iter().all(|(reason, _)| reason != "DriftReverted" && reason != "Drifted"), "{events:?}");
    Ok(())
}

#[tokio::test]
async fn a_value_that_an_account_forbids_is_rejected_before_any_call() -> Result<()> {
    // The spoke, which is another controller than that of Accounts, has started: a resource from before that may be of an earlier
    // process, which may have launched, and is searched for.
    let other = Tenant::of(TWO).await?;
    other.account("default", WEST, json!({})).await?;
    other.vpc("main", "").await?;
    other.test_env.ready("VPC", "main").await?;
    let tenant = Tenant::of(ONE).await?;
    let allow = json!({"vpcs": ["vpc-0aaa*"], "adopt": {"tags": {"Team": "shop"}}});
    tenant.account("shop", WEST, json!({"allow": allow})).await?;
    tenant.test_env.ready("Account", "shop").await?;
    // A creation time has whole seconds.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let subnet = |vpc: Value| json!({"vpcID": vpc, "cidrBlock": {"value": "10.0.1.0/24"}});
    tenant.resource("Subnet", "foreign", "shop", subnet(json!({"value": "vpc-0bbb"}))).await?;
    let why = tenant.test_env.not_ready("Subnet", "foreign", "NotAllowedByAccount").await?;
    assert!(
        why.contains("spec.vpcID: vpc-0bbb is not allowed by spec.allow.vpcs of Account shop: [vpc-0aaa*]"),
        "{why}"
    );
    // Indirectly: by a state that a user wrote, and by a tag that a user chose.
    tenant
        .test_env
        .apply(
            "{apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1, kind: StateDeclaration, metadata: {name: static-vpc}, \
              spec: {id: vpc-0bbb, data: {}}}",
        )
        .await?;
    tenant
        .resource("Subnet", "by-static", "shop", subnet(json!({"valueFrom": {"ref": "static/vpc"}})))
        .await?;
    let why = tenant.test_env.not_ready("Subnet", "by-static", "NotAllowedByAccount").await?;
    assert!(why.contains("vpc-0bbb is not allowed"), "{why}");
    for (name, adopt) in
        [("by-id", json!({"id": "vpc-0aaa1"})), ("by-tags", json!({"tags": {"Name": "prod"}}))]
    {
        let spec = json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"adopt": adopt}});
        tenant.resource("VPC", name, "shop", spec).await?;
        let why = tenant.test_env.not_ready("VPC", name, "NotAllowedByAccount").await?;
        assert!(why.contains("spec.lifecycle.adopt"), "{why}");
    }
    assert_eq!(
        tenant.actions().into_iter().collect::<Vec<_>>(),
        ["GetCallerIdentity"],
        "the check of the Account itself"
    );
    assert!(tenant.cloud(ONE, WEST).journal().iter().all(|call| !call.parameters.contains("vpc-0bbb")));

    // The VPC of the namespace is always allowed.
    tenant.vpc("main", "shop").await?;
    tenant.resource("Subnet", "own", "shop", subnet(json!({"valueFrom": {"ref": "VPC/main"}}))).await?;
    let own = tenant.test_env.ready("Subnet", "own").await?;

    // Stricter rules are reported for existing resources, and do not prevent their deletion.
    let vpc = id(&tenant.test_env.ready("VPC", "main").await?)?;
    tenant.test_env.patch("Account", "shop", json!({"spec": {"allow": {"vpcs": [vpc]}}})).await?;
    tenant.resource("Subnet", "own", "shop", subnet(json!({"value": vpc}))).await?;
    tenant.test_env.ready("Subnet", "own").await?;
    tenant.test_env.patch("Account", "shop", json!({"spec": {"allow": {"vpcs": []}}})).await?;
    tenant.test_env.not_ready("Subnet", "own", "NotAllowedByAccount").await?;
    assert_eq!(id(&tenant.test_env.get("Subnet", "own").await?)?, id(&own)?);
    tenant.test_env.delete("Subnet", "own").await?;
    tenant.test_env.gone("Subnet", "own").await
}

/// Without a subnet, AWS runs an instance in the default VPC of the account.
#[tokio::test]
async fn an_instance_without_a_subnet_is_refused_by_rules_about_subnets_and_vpcs() -> Result<()> {
    let aws = Arc::new(SimulatedAccounts::start()?);
    aws.add_key("testing", OWN);
    aws.add_key("AKIADEFAULTS", ONE);
    let suite = SuiteOptions {
        only: Some(["hub", "aws-account", "aws-ec2-instance"].map(str::to_owned).to_vec()),
        webhooks: true,
        resync_interval: Some("2s".to_owned()),
        cloud_endpoint: Some(aws.endpoint().to_owned()),
        ..SuiteOptions::default()
    };
    let test_env = TestEnv::with(suite).await?;
    let tenant = Tenant { test_env, aws, key: "AKIADEFAULTS".to_owned(), _shared: None };
    let instance = |account: &str| {
        let value = |value: Value| json!({"value": value});
        json!({
            "account": {"name": account}, "imageID": value(json!("ami-12c6146b")), "instanceType": value(json!("t2.nano")),
            "minCount": value(json!(1)), "maxCount": value(json!(1)),
        })
    };
    let form = |name: &str, spec: Value| {
        json!({"apiVersion": super::AWS, "kind": "EC2Instance", "metadata": {"name": name}, "spec": spec})
            .to_string()
    };
    for rule in ["subnets", "vpcs"] {
        // The Account does not exist yet: admission knows no rules, and the loop has them when it does.
        let early = format!("early-{rule}");
        tenant.test_env.apply(&form(&early, instance(rule))).await?;
        tenant.test_env.not_ready("EC2Instance", &early, "AccountNotFound").await?;
        tenant.account(rule, WEST, json!({"allow": {rule: []}})).await?;
        let words = format!("spec.subnetID: is required by spec.allow.{rule} of Account {rule}");
        let why = tenant.test_env.not_ready("EC2Instance", &early, "NotAllowedByAccount").await?;
        assert!(why.contains(&words), "{why}");
        // Now that the controller has the Account, admission knows it too.
        let why = tenant.test_env.refused(&form("late", instance(rule))).await?;
        assert!(why.contains(&words), "{why}");
        tenant.test_env.delete("EC2Instance", &early).await?;
        tenant.test_env.gone("EC2Instance", &early).await?;
    }
    assert!(!tenant.actions().contains("RunInstances"), "{:?}", tenant.actions());
    // The same spec is launched where every subnet and VPC is allowed.
    tenant.account("open", WEST, json!({"allow": {"subnets": ["*"], "vpcs": ["*"]}})).await?;
    tenant.test_env.ready("Account", "open").await?;
    tenant.test_env.apply(&form("open", instance("open"))).await?;
    let launched = tenant.test_env.ready("EC2Instance", "open").await?;
    assert!(tenant.actions().contains("RunInstances"), "{:?}", tenant.actions());

    // Stricter rules are reported, and what runs already is kept until its resource is deleted.
    tenant.account("open", WEST, json!({"allow": {"subnets": []}})).await?;
    let why = tenant.test_env.not_ready("EC2Instance", "open", "NotAllowedByAccount").await?;
    assert!(why.contains("spec.subnetID: is required by spec.allow.subnets of Account open"), "{why}");
    assert_eq!(id(&tenant.test_env.get("EC2Instance", "open").await?)?, id(&launched)?);
    tenant.test_env.delete("EC2Instance", "open").await?;
    tenant.test_env.gone("EC2Instance", "open").await
}

#[tokio::test]
async fn an_account_that_the_schema_forbids_is_rejected_with_its_field() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    let literal = json!({"accessKeyID": {"value": "AKIA"}, "secretAccessKey": {"value": "x"}});
    for (spec, words) in [
        (
            json!({"credentials": literal}),
            ".spec.credentials.accessKeyID.value: field not declared in schema",
        ),
        (json!({"externalID": "shop"}), "externalID requires assumeRoleARN"),
        (json!({"region": "Europe"}), "spec.region"),
        (json!({"assumeRoleARN": "kraken"}), "spec.assumeRoleARN"),
        (json!({"allowedAccountIDs": ["12"]}), "spec.allowedAccountIDs[0]"),
        (json!({"defaultTags": {"aws:x": "y"}}), "do not start with aws:"),
        (json!({"defaultTags": {"kraken-iac.eoinfennessy.com/uid": "y"}}), "do not start with aws:"),
        (json!({"allow": {"vpcs": [""]}}), "spec.allow.vpcs[0]"),
    ] {
        let account =
            json!({"apiVersion": super::AWS, "kind": "Account", "metadata": {"name": "x"}, "spec": spec});
        let why = tenant.test_env.refused(&account.to_string()).await?;
        assert!(why.contains(words), "{words}: {why}");
    }
    Ok(())
}

#[tokio::test]
async fn accounts_are_written_by_administrators_who_may_read_their_secrets() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    tenant.secret("aws", &tenant.key).await?;
    let wanted = account("aws", "shop", WEST, json!({}));
    for role in ["edit", "admin"] {
        let user = TestUser::bound(&tenant.test_env, role, "ClusterRole", role).await?;
        let why = user.refused(&wanted).await?;
        assert!(why.contains("cannot patch resource \"accounts\""), "{role}: {why}");
    }
    let administrator = TestUser::bound(&tenant.test_env, "clerk", "ClusterRole", "kraken-admin").await?;
    let why = administrator.refused(&wanted).await?;
    assert!(
        why.contains("you must be allowed to get the Secrets that this resource refers to: aws"),
        "{why}"
    );
    administrator.apply(&account("", "rules", WEST, json!({"credentials": null}))).await?;
    let get =
        json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["aws"], "verbs": ["get"]}]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"}, "rules": get,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "clerk", "namespace": tenant.test_env.ns.name}],
    });
    tenant.test_env.apply(&format!("{role}\n---\n{binding}")).await?;
    let mut written = administrator.apply(&wanted).await;
    // The authorizer receives the binding by a watch.
    for _ in 0..50 {
        if written.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        written = administrator.apply(&wanted).await;
    }
    written?;
    tenant.test_env.ready("Account", "shop").await.map(drop)
}

#[test]
fn every_field_that_names_a_network_or_a_profile_is_restricted() -> Result<()> {
    use kraken_testing::{manifests, paths};
    // Names of other objects, which `allow` has no rules for.
    const OTHERS: [&str; 3] = ["vpcPeeringConnectionID", "subnetMappings", "vpcSecurityGroupIDs"];
    let mut unknown = vec![];
    for crd in manifests::read(&paths::workspace_root()?.join("crds"))? {
        let spec = &crd.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let is_of_aws = crd.value["spec"]["group"].as_str().is_some_and(|group| group.starts_with("aws."));
        if is_of_aws && crd.value["spec"]["names"]["kind"] != "Account" {
            names(spec, &mut unknown);
        }
    }
    let restricted = [
        "vpcID",
        "peerVPCID",
        "subnetID",
        "subnetIDs",
        "iamInstanceProfile",
        "dbSubnetGroupName",
        "launchTemplateID",
    ];
    let is_restricted =
        |name: &String| restricted.contains(&name.as_str()) || OTHERS.contains(&name.as_str());
    assert!(unknown.iter().any(|name| name == "vpcID"), "the search finds nothing");
    unknown.retain(|name| !is_restricted(name));
    assert!(unknown.is_empty(), "add to RESTRICTED of kraken-aws: {unknown:?}");
    Ok(())
}

/// The names of all properties that look like ids of networks or like instance profiles.
fn names(schema: &Value, found: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let lower = name.to_lowercase();
        if (lower.contains("vpc") || lower.contains("subnet")) && lower.contains("id")
            || lower.contains("profile")
            || lower.contains("subnetgroup")
            || lower.contains("template") && lower.contains("id")
        {
            found.push(name.clone());
        }
        names(property, found);
    }
    names_in_items(schema, found);
}

fn names_in_items(schema: &Value, found: &mut Vec<String>) {
    if schema["items"].is_object() {
        names(&schema["items"], found);
    }
}

#[tokio::test]
async fn an_account_restricts_the_answer_of_a_lookup_and_adds_no_tags_to_its_search() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    let cloud = tenant.cloud(ONE, WEST);
    let id = cloud.create_out_of_band(Kind::Vpc, "shared", &[("Test", &tenant.test_env.ns.name)])?;
    let rules = |allowed: &str| json!({"allow": {"vpcs": [allowed]}, "defaultTags": {"Team": "shop"}});
    tenant.account("default", WEST, rules("vpc-0other")).await?;
    let spec = json!({"tags": {"Test": tenant.test_env.ns.name}});
    tenant.resource("VPCLookup", "shared", "", spec).await?;
    let why = tenant.test_env.not_ready("VPCLookup", "shared", "NotAllowedByAccount").await?;
    assert!(why.contains(&format!("{id} is not allowed by spec.allow.vpcs of Account default")), "{why}");
    tenant.test_env.patch("Account", "default", json!({"spec": rules(&id)})).await?;
    let lookup = tenant.test_env.ready("VPCLookup", "shared").await?;
    assert_eq!(lookup["status"]["answer"]["ids"], json!([id]));
    assert_eq!(lookup["status"]["location"], json!({"account": ONE, "region": WEST}));
    Ok(())
}
