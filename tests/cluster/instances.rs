//! EC2 instances in moto, through the EC2Instance controller as its real binary.

use anyhow::Result;
use kraken_tests::{World, world::condition};
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
async fn an_instance_runs_with_its_identity_as_tags_and_goes_with_its_resource() -> Result<()> {
    let world = World::new().await?;
    world.apply(&instance("a", 1, ", tags: {Team: web}")).await?;
    let object = world.ready("EC2Instance", "a").await?;
    let alive = world.alive("a").await?;
    assert_eq!(alive.len(), 1);
    assert_eq!(object["status"]["externalIds"], json!([alive[0].id]));
    assert_eq!(alive[0].tags["Team"], "web");
    assert_eq!(alive[0].tags["kraken-iac.eoinfennessy.com/uid"], object["metadata"]["uid"]);
    let state = world.get("StateDeclaration", "ec2instance.aws.a").await?;
    let first = &state["spec"]["data"]["instances"][0];
    assert_eq!((&first["InstanceId"], &first["InstanceType"]), (&json!(alive[0].id), &json!("t2.nano")));
    assert!(
        first["NetworkInterfaces"][0]["VpcId"].as_str().is_some_and(|id| id.starts_with("vpc-")),
        "{first}"
    );

    world.delete("EC2Instance", "a").await?;
    world.gone("EC2Instance", "a").await?;
    assert!(world.alive("a").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn the_count_scales_up_and_the_newest_go_first_when_it_scales_down() -> Result<()> {
    let world = World::new().await?;
    world.apply(&instance("a", 1, "")).await?;
    world.ready("EC2Instance", "a").await?;
    let oldest = world.alive("a").await?[0].id.clone();
    world.apply(&instance("a", 3, "")).await?;
    world.ready("EC2Instance", "a").await?;
    assert_eq!(world.alive("a").await?.len(), 3);
    world.apply(&instance("a", 1, "")).await?;
    world.ready("EC2Instance", "a").await?;
    let left: Vec<String> = world.alive("a").await?.into_iter().map(|i| i.id).collect();
    assert_eq!(left, [oldest]);
    Ok(())
}

#[tokio::test]
async fn tags_change_in_place_and_an_image_does_not() -> Result<()> {
    let world = World::new().await?;
    world.apply(&instance("a", 1, ", tags: {Team: web, Old: yes-please}")).await?;
    world.ready("EC2Instance", "a").await?;
    let id = world.alive("a").await?[0].id.clone();
    world.apply(&instance("a", 1, ", tags: {Team: shop}")).await?;
    world.ready("EC2Instance", "a").await?;
    let tags = world.alive("a").await?[0].tags.clone();
    assert_eq!(tags["Team"], "shop");
    assert!(!tags.contains_key("Old"), "{tags:?}");

    world.patch("EC2Instance", "a", json!({"spec": {"imageID": {"value": "ami-0b301ce3ce3475b4f"}}})).await?;
    let message = world.not_ready("EC2Instance", "a", "ImmutableField").await?;
    assert!(message.contains("spec.imageID") && message.contains(IMAGE), "{message}");
    assert_eq!(world.alive("a").await?[0].id, id);
    Ok(())
}

#[tokio::test]
async fn user_data_may_come_from_a_secret_and_shows_nowhere() -> Result<()> {
    let world = World::new().await?;
    let secret = "canary-hunter2"; // the end of each test searches for it
    world
        .apply(&format!("{{apiVersion: v1, kind: Secret, metadata: {{name: boot}}, stringData: {{script: 'echo {secret}'}}}}"))
        .await?;
    let user_data = ", userData: {valueFrom: {secret: {name: boot, key: script}}}";
    world.apply(&instance("a", 1, user_data)).await?;
    world.ready("EC2Instance", "a").await?;
    // A provider's refusal is quoted without the value, and so is a value that is not of the field's type.
    for (name, field) in [("refused", "subnetID"), ("unparsed", "monitoring")] {
        let from_secret = format!(", {field}: {{valueFrom: {{secret: {{name: boot, key: script}}}}}}");
        world.apply(&instance(name, 1, &from_secret)).await?;
        world.until("EC2Instance", name, |object| condition(object, "Ready")["status"] == "False").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_namespace_that_is_deleted_leaves_nothing_running() -> Result<()> {
    let world = World::new().await?;
    world.apply(&instance("a", 1, "")).await?;
    world.apply(&instance("b", 2, "")).await?;
    world.ready("EC2Instance", "a").await?;
    world.ready("EC2Instance", "b").await?;
    world.ns.delete().await?;
    world.gone("EC2Instance", "a").await?;
    world.gone("EC2Instance", "b").await?;
    assert!(world.alive("a").await?.is_empty() && world.alive("b").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn an_instance_that_exists_is_adopted_and_never_one_that_is_somebody_elses() -> Result<()> {
    let world = World::new().await?;
    let team = world.ns.name.clone();
    world
        .apply(&instance("a", 1, &format!(", tags: {{Team: {team}}}, lifecycle: {{deletion: Retain}}")))
        .await?;
    world.ready("EC2Instance", "a").await?;
    let id = world.alive("a").await?[0].id.clone();
    world.delete("EC2Instance", "a").await?;
    world.gone("EC2Instance", "a").await?;

    let adopting = |adopt: &str| format!(", tags: {{Team: {team}}}, lifecycle: {{adopt: {adopt}}}");
    world.apply(&instance("b", 1, &adopting(&format!("{{tags: {{Team: {team}}}}}")))).await?;
    let adopted = world.ready("EC2Instance", "b").await?;
    assert_eq!(adopted["status"]["externalIds"], json!([id]));
    assert_eq!(world.alive("b").await?.len(), 1);

    let by_id = |id: &str| adopting(&format!("{{id: {id}}}"));
    world.apply(&instance("c", 1, &by_id(&id))).await?;
    let message = world.not_ready("EC2Instance", "c", "AdoptionRefused").await?;
    assert!(message.contains(&format!("belongs to EC2Instance/{team}/b")), "{message}");
    world.apply(&instance("d", 1, &by_id("i-0123456789abcdef0"))).await?;
    world.not_ready("EC2Instance", "d", "AdoptionRefused").await?;

    world.patch("EC2Instance", "b", json!({"spec": {"lifecycle": {"deletion": "Delete"}}})).await?;
    world.delete("EC2Instance", "b").await?;
    world.gone("EC2Instance", "b").await?;
    world.apply(&instance("e", 1, &by_id(&id))).await?;
    let message = world.not_ready("EC2Instance", "e", "AdoptionRefused").await?;
    assert!(message.contains("is deleted already"), "{message}");
    assert!(world.alive("e").await?.is_empty());
    Ok(())
}

/// moto gives a launch its `minCount`, never more: the new ones come one by one.
#[tokio::test]
async fn a_replacement_of_several_is_as_many_launches_as_it_takes_and_no_more() -> Result<()> {
    let world = World::new().await?;
    world.apply(&instance("a", 2, ", lifecycle: {replace: CreateFirst}")).await?;
    world.ready("EC2Instance", "a").await?;
    let image = "ami-0b301ce3ce3475b4f";
    world.patch("EC2Instance", "a", json!({"spec": {"imageID": {"value": image}}})).await?;
    world.ready("EC2Instance", "a").await?;
    let left = world.alive("a").await?;
    assert!(left.len() == 2 && left.iter().all(|instance| instance.image_id == image), "{left:?}");
    let owner = format!("EC2Instance/{}/a", world.ns.name);
    let ever = world.env.moto.instances().await?;
    let is_own = |one: &&kraken_testing::moto::Instance| {
        one.tags.get("kraken-iac.eoinfennessy.com/owner") == Some(&owner)
    };
    assert_eq!(ever.iter().filter(is_own).count(), 4);
    Ok(())
}
