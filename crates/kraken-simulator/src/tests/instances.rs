//! Instances: launches, states, changes.

use super::served::{Cloud, IMAGE, launch, moment};

#[tokio::test]
async fn a_token_launches_once_until_its_instances_are_terminated() {
    let cloud = Cloud::new(|_| {});
    let token = [("ClientToken", "t")];
    let first = cloud.run("2", &token).await;
    assert_eq!(cloud.run("2", &token).await, first);
    assert_eq!(cloud.0.instances().len(), 2);
    let (code, _) = cloud.no("RunInstances", &[&launch("3")[..], &token].concat()).await;
    assert_eq!(code, "IdempotentParameterMismatch");

    cloud.ok("TerminateInstances", &[("InstanceId.1", &first[0])]).await;
    cloud.until(&first[0], "terminated").await;
    assert_eq!(cloud.run("2", &token).await, first, "one of the two is still live");
    cloud.ok("TerminateInstances", &[("InstanceId.1", &first[1])]).await;
    cloud.until(&first[1], "terminated").await;
    let (code, _) = cloud.no("RunInstances", &[&launch("2")[..], &token].concat()).await;
    assert_eq!(code, "IdempotentInstanceTerminated");
    assert_eq!(cloud.0.instances().len(), 2);
}

#[tokio::test]
async fn transitions_take_time_and_terminated_instances_are_removed() {
    let cloud = Cloud::new(|options| {
        (options.pending, options.shutting_down, options.terminated_visible) = (moment(), moment(), moment());
    });
    let id = cloud.one().await;
    assert_eq!(cloud.state(&id).await, "pending");
    cloud.until(&id, "running").await;
    cloud.ok("TerminateInstances", &[("InstanceId.1", &id)]).await;
    assert_eq!(cloud.state(&id).await, "shutting-down");
    cloud.until(&id, "terminated").await;
    tokio::time::sleep(moment()).await;
    let other = "i-00000000000000001";
    let (code, message) =
        cloud.no("DescribeInstances", &[("InstanceId.1", &id), ("InstanceId.2", other)]).await;
    assert_eq!(code, "InvalidInstanceID.NotFound");
    assert_eq!(message, format!("The instance IDs '{id}, {other}' do not exist"));
    assert!(cloud.described(&[]).await.is_empty());
    let record = &cloud.0.instances()[0];
    assert!(record.vanished && (record.launched_by, record.ended_by) == (1, Some(record.ended_by.unwrap())));
    assert!(cloud.ok("DescribeTags", &[]).await.items("tagSet").next().is_none());
}

#[tokio::test]
async fn a_change_that_requires_a_stopped_instance_is_rejected_until_it_is_stopped() {
    let cloud = Cloud::new(|_| {});
    let id = cloud.one().await;
    cloud.until(&id, "running").await;
    let about = ("InstanceId", id.as_str());
    let resize = [about, ("InstanceType.Value", "t3.large")];
    let (code, message) = cloud.no("ModifyInstanceAttribute", &resize).await;
    assert_eq!(code, "IncorrectInstanceState");
    assert!(message.contains(&id) && message.contains("'stopped' state"), "{message}");
    cloud.ok("StopInstances", &[("InstanceId.1", &id)]).await;
    assert_eq!(cloud.no("StartInstances", &[("InstanceId.1", &id)]).await.0, "IncorrectInstanceState");
    cloud.until(&id, "stopped").await;
    cloud.ok("ModifyInstanceAttribute", &resize).await;
    cloud.ok("ModifyInstanceAttribute", &[about, ("UserData.Value", "aGVsbG8=")]).await;
    cloud.ok("ModifyInstanceAttribute", &[about, ("EbsOptimized.Value", "true")]).await;
    cloud.ok("StartInstances", &[("InstanceId.1", &id)]).await;
    cloud.until(&id, "running").await;
    assert_eq!(cloud.0.instances()[0].instance.instance_type, "t3.large");
    let data = cloud.ok("DescribeInstanceAttribute", &[about, ("Attribute", "userData")]).await;
    assert_eq!(data.text_at(&["userData", "value"]), "aGVsbG8=");
    cloud.ok("ModifyInstanceAttribute", &[about, ("GroupId.1", "sg-0a0a0a0a")]).await;
    cloud.ok("ModifyInstanceMetadataOptions", &[about, ("HttpTokens", "required")]).await;
    cloud.ok("MonitorInstances", &[("InstanceId.1", &id)]).await;
    let body = cloud.send("DescribeInstances", &[]).await.unwrap().body;
    for part in
        ["<groupId>sg-0a0a0a0a", "<httpTokens>required", "<monitoring><state>enabled", "<ebsOptimized>true"]
    {
        assert!(body.contains(part), "{part}: {body}");
    }
    cloud.ok("TerminateInstances", &[("InstanceId.1", &id)]).await;
    cloud.until(&id, "terminated").await;
    assert_eq!(cloud.no("StopInstances", &[("InstanceId.1", &id)]).await.0, "IncorrectInstanceState");
}

#[tokio::test]
async fn protected_and_missing_instances_are_rejected() {
    let cloud = Cloud::new(|options| options.images = Some([IMAGE.to_owned()].into()));
    let (kept, other) = (cloud.one().await, cloud.one().await);
    cloud.0.protect_out_of_band(&kept, true).unwrap();
    let both = [("InstanceId.1", other.as_str()), ("InstanceId.2", kept.as_str())];
    let (code, message) = cloud.no("TerminateInstances", &both).await;
    assert!(code == "OperationNotPermitted" && message.contains(&kept), "{code} {message}");
    assert!(cloud.0.instances().iter().all(|record| record.instance.is_alive()), "all or none");
    cloud.0.protect_out_of_band(&kept, false).unwrap();
    cloud.ok("TerminateInstances", &both).await;

    for (image, code) in [("ami-0badc0de", "InvalidAMIID.NotFound"), ("moon", "InvalidAMIID.Malformed")] {
        let mut fields = launch("1");
        fields[0].1 = image;
        assert_eq!(cloud.no("RunInstances", &fields).await.0, code);
        assert_eq!(cloud.no("DescribeImages", &[("ImageId.1", image)]).await.0, code);
    }
    assert_eq!(
        cloud.no("DescribeInstances", &[("InstanceId.1", "i-x")]).await.0,
        "InvalidInstanceID.Malformed"
    );
    assert_eq!(cloud.no("DescribeMoons", &[]).await.0, "InvalidAction");
}

#[tokio::test]
async fn a_launch_gets_the_remaining_capacity() {
    let cloud = Cloud::new(|options| options.capacity = Some(3));
    assert_eq!(cloud.run("5", &[]).await.len(), 3);
    assert_eq!(cloud.no("RunInstances", &launch("1")).await.0, "InsufficientInstanceCapacity");
    cloud.0.configure(|options| options.capacity = None);
    cloud.0.limit_next_launch(2);
    assert_eq!(cloud.run("5", &[]).await.len(), 2);
    assert_eq!(cloud.run("5", &[]).await.len(), 5);
    cloud.0.configure(|options| options.per_launch = Some(1));
    assert_eq!((cloud.run("5", &[]).await.len(), cloud.run("5", &[]).await.len()), (1, 1));
    let at_least_two = [&launch("5")[..2], &[("MinCount", "2"), ("MaxCount", "5")]].concat();
    assert_eq!(cloud.no("RunInstances", &at_least_two).await.0, "InsufficientInstanceCapacity");
}

#[tokio::test]
async fn a_profile_is_associated_replaced_and_disassociated() {
    const LIST: &str = "iamInstanceProfileAssociationSet";
    let cloud = Cloud::new(|_| {});
    let id = cloud.one().await;
    cloud.until(&id, "running").await;
    let by = [("Filter.1.Name", "instance-id"), ("Filter.1.Value.1", id.as_str())];
    let list = async || {
        let found = cloud.ok("DescribeIamInstanceProfileAssociations", &by).await;
        let arn = |item: &crate::xml::Element| item.text_at(&["iamInstanceProfile", "arn"]);
        let all = found.items(LIST).map(|item| (item.text_at(&["associationId"]), arn(item)));
        all.collect::<Vec<_>>()
    };
    assert_eq!(list().await, []);
    let associate = [("InstanceId", id.as_str()), ("IamInstanceProfile.Name", "web")];
    cloud.ok("AssociateIamInstanceProfile", &associate).await;
    let (association, arn) = list().await.remove(0);
    assert_eq!(arn, "arn:aws:iam::123456789012:instance-profile/web");
    assert_eq!(cloud.no("AssociateIamInstanceProfile", &associate).await.0, "IncorrectState");
    let named = ("AssociationId", association.as_str());
    cloud.ok("ReplaceIamInstanceProfileAssociation", &[named, ("IamInstanceProfile.Name", "db")]).await;
    assert!(list().await[0].1.ends_with("/db"));
    cloud.ok("DisassociateIamInstanceProfile", &[named]).await;
    assert_eq!(list().await, []);
    assert_eq!(cloud.no("DisassociateIamInstanceProfile", &[named]).await.0, "InvalidAssociationID.NotFound");
}

#[tokio::test]
async fn only_existing_instance_types_are_accepted() {
    let cloud = Cloud::new(|options| {
        options.instance_types = Some(["t3.micro", "t4g.micro"].map(str::to_owned).into());
    });
    let types = [("InstanceType.1", "t3.micro"), ("InstanceType.2", "t4g.micro")];
    let found = cloud.ok("DescribeInstanceTypes", &types).await;
    let architecture = |item: &crate::xml::Element| {
        let processor = item.child("processorInfo").unwrap();
        processor.items("supportedArchitectures").next().unwrap().text.clone()
    };
    let architectures: Vec<_> = found.items("instanceTypeSet").map(architecture).collect();
    assert_eq!(architectures, ["x86_64", "arm64"]);
    let (code, message) = cloud.no("DescribeInstanceTypes", &[("InstanceType.1", "t3.mirco")]).await;
    assert!(code == "InvalidInstanceType" && message.contains("t3.mirco"), "{code} {message}");
}

#[tokio::test]
async fn volumes_have_tags_and_can_be_kept_after_their_instance() {
    let cloud = Cloud::new(|_| {});
    let volume = [
        ("TagSpecification.1.ResourceType", "volume"),
        ("TagSpecification.1.Tag.1.Key", "uid"),
        ("TagSpecification.1.Tag.1.Value", "u"),
    ];
    let keep = [("BlockDeviceMapping.1.Ebs.DeleteOnTermination", "false")];
    for more in [&volume[..], &[&volume[..], &keep].concat()] {
        let id = cloud.run("1", more).await.remove(0);
        cloud.ok("TerminateInstances", &[("InstanceId.1", &id)]).await;
        cloud.until(&id, "terminated").await;
    }
    let owned = [
        ("Filter.1.Name", "key"),
        ("Filter.1.Value.1", "uid"),
        ("Filter.2.Name", "resource-type"),
        ("Filter.2.Value.1", "volume"),
    ];
    let found = cloud.ok("DescribeTags", &owned).await;
    let left: Vec<String> = found.items("tagSet").map(|tag| tag.text_at(&["resourceId"])).collect();
    assert!(left.len() == 1 && left[0].starts_with("vol-"), "{left:?}");
    cloud.ok("DeleteTags", &[("ResourceId.1", &left[0]), ("Tag.1.Key", "uid")]).await;
    assert!(cloud.ok("DescribeTags", &owned).await.items("tagSet").next().is_none());
}
