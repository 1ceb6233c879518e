//! EC2 instances in moto, through the EC2Instance controller as its real binary.

use anyhow::Result;
use kraken_tests::TestEnv;
use serde_json::json;

const IMAGE: &str = "ami-12c6146b";

fn instance(name: &str, count: i64, more: &str) -> String {
    format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {{name: {name}}}, \
         spec: {{imageID: {{value: {IMAGE}}}, instanceType: {{value: t2.nano}}, \
         minCount: {{value: 1}}, maxCount: {{value: {count}}}{more}}}}}"
    )
}

#[tokio::test]
async fn an_instance_has_identity_tags_and_is_deleted_with_its_resource() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&instance("a", 1, ", tags: {Team: web}")).await?;
    let object = test_env.ready("EC2Instance", "a").await?;
    let alive = test_env.alive("a").await?;
    assert_eq!(alive.len(), 1);
    assert_eq!(object["status"]["externalIds"], json!([alive[0].id]));
    assert_eq!(alive[0].tags["Team"], "web");
    assert_eq!(alive[0].tags["kraken-iac.eoinfennessy.com/uid"], object["metadata"]["uid"]);
    let state = test_env.get("StateDeclaration", "ec2instance.aws.a").await?;
    let first = &state["spec"]["data"]["instances"][0];
    assert_eq!((&first["InstanceId"], &first["InstanceType"]), (&json!(alive[0].id), &json!("t2.nano")));
    assert!(
        first["NetworkInterfaces"][0]["VpcId"].as_str().is_some_and(|id| id.starts_with("vpc-")),
        "{first}"
    );

    test_env.delete("EC2Instance", "a").await?;
    test_env.gone("EC2Instance", "a").await?;
    assert!(test_env.alive("a").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn the_count_scales_up_and_down_newest_first() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&instance("a", 1, "")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let oldest = test_env.alive("a").await?[0].id.clone();
    test_env.apply(&instance("a", 3, "")).await?;
    test_env.ready("EC2Instance", "a").await?;
    assert_eq!(test_env.alive("a").await?.len(), 3);
    test_env.apply(&instance("a", 1, "")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let left: Vec<String> = test_env.alive("a").await?.into_iter().map(|i| i.id).collect();
    assert_eq!(left, [oldest]);
    Ok(())
}

#[tokio::test]
async fn tags_change_in_place_and_an_image_does_not() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&instance("a", 1, ", tags: {Team: web, Old: yes-please}")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let id = test_env.alive("a").await?[0].id.clone();
    test_env.apply(&instance("a", 1, ", tags: {Team: shop}")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let tags = test_env.alive("a").await?[0].tags.clone();
    assert_eq!(tags["Team"], "shop");
    assert!(!tags.contains_key("Old"), "{tags:?}");

    test_env
        .patch("EC2Instance", "a", json!({"spec": {"imageID": {"value": "ami-0b301ce3ce3475b4f"}}}))
        .await?;
    let message = test_env.not_ready("EC2Instance", "a", "ImmutableField").await?;
    assert!(message.contains("spec.imageID") && message.contains(IMAGE), "{message}");
    assert_eq!(test_env.alive("a").await?[0].id, id);
    Ok(())
}

#[tokio::test]
async fn a_deleted_namespace_leaves_no_instances() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&instance("a", 1, "")).await?;
    test_env.apply(&instance("b", 2, "")).await?;
    test_env.ready("EC2Instance", "a").await?;
    test_env.ready("EC2Instance", "b").await?;
    test_env.ns.delete().await?;
    test_env.gone("EC2Instance", "a").await?;
    test_env.gone("EC2Instance", "b").await?;
    assert!(test_env.alive("a").await?.is_empty() && test_env.alive("b").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn an_unowned_instance_is_adopted_and_an_owned_one_is_not() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let team = test_env.ns.name.clone();
    test_env
        .apply(&instance("a", 1, &format!(", tags: {{Team: {team}}}, lifecycle: {{deletion: Retain}}")))
        .await?;
    test_env.ready("EC2Instance", "a").await?;
    let id = test_env.alive("a").await?[0].id.clone();
    test_env.delete("EC2Instance", "a").await?;
    test_env.gone("EC2Instance", "a").await?;

    let adopting = |adopt: &str| format!(", tags: {{Team: {team}}}, lifecycle: {{adopt: {adopt}}}");
    test_env.apply(&instance("b", 1, &adopting(&format!("{{tags: {{Team: {team}}}}}")))).await?;
    let adopted = test_env.ready("EC2Instance", "b").await?;
    assert_eq!(adopted["status"]["externalIds"], json!([id]));
    assert_eq!(test_env.alive("b").await?.len(), 1);

    let by_id = |id: &str| adopting(&format!("{{id: {id}}}"));
    test_env.apply(&instance("c", 1, &by_id(&id))).await?;
    let message = test_env.not_ready("EC2Instance", "c", "AdoptionRefused").await?;
    assert!(message.contains(&format!("is owned by EC2Instance/{team}/b")), "{message}");
    test_env.apply(&instance("d", 1, &by_id("i-0123456789abcdef0"))).await?;
    test_env.not_ready("EC2Instance", "d", "AdoptionRefused").await?;

    test_env.patch("EC2Instance", "b", json!({"spec": {"lifecycle": {"deletion": "Delete"}}})).await?;
    test_env.delete("EC2Instance", "b").await?;
    test_env.gone("EC2Instance", "b").await?;
    test_env.apply(&instance("e", 1, &by_id(&id))).await?;
    let message = test_env.not_ready("EC2Instance", "e", "AdoptionRefused").await?;
    assert!(message.contains("is already deleted"), "{message}");
    assert!(test_env.alive("e").await?.is_empty());
    Ok(())
}

/// moto launches only `minCount` instances: the new ones appear one at a time.
#[tokio::test]
async fn a_replacement_of_several_instances_makes_only_the_necessary_launches() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&instance("a", 2, ", lifecycle: {replace: CreateFirst}")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let image = "ami-0b301ce3ce3475b4f";
    test_env.patch("EC2Instance", "a", json!({"spec": {"imageID": {"value": image}}})).await?;
    test_env.ready("EC2Instance", "a").await?;
    let left = test_env.alive("a").await?;
    assert!(left.len() == 2 && left.iter().all(|instance| instance.image_id == image), "{left:?}");
    let owner = format!("EC2Instance/{}/a", test_env.ns.name);
    let ever = test_env.env.moto.instances().await?;
    let is_own =
        |one: &&kraken_simulator::Instance| one.tags.get("kraken-iac.eoinfennessy.com/owner") == Some(&owner);
    assert_eq!(ever.iter().filter(is_own).count(), 4);
    Ok(())
}
