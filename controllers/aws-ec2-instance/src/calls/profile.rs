//! IAM instance profiles, changed in place: AWS models them as associations, at most one per instance.

use kraken_aws::{
    Aws,
    ec2::types::{IamInstanceProfileAssociation, IamInstanceProfileSpecification},
    release::filter,
};
use kraken_spoke::Failure;

const ACTION: &str = "failed to change the IAM instance profile";

/// The profile as a parameter of calls: by name or ARN.
pub(super) fn specification(profile: &str) -> IamInstanceProfileSpecification {
    let builder = IamInstanceProfileSpecification::builder();
    if profile.starts_with("arn:") { builder.arn(profile).build() } else { builder.name(profile).build() }
}

/// Replaces the profile of an instance; an empty string removes it. The association is read first, so that the change
/// is idempotent.
pub(super) async fn change(aws: &Aws, id: &str, profile: &str) -> Result<(), Failure> {
    let ec2 = aws.ec2();
    let call = ec2
        .describe_iam_instance_profile_associations()
        .filters(filter("instance-id", vec![id.to_owned()]))
        .filters(filter("state", vec!["associating".to_owned(), "associated".to_owned()]));
    let answer = aws.call("DescribeIamInstanceProfileAssociations", ACTION, call.send()).await?;
    let associations = answer.iam_instance_profile_associations();
    let known = associations.first().and_then(IamInstanceProfileAssociation::association_id);
    match (known, profile) {
        (None, "") => {}
        (None, profile) => {
            let call = ec2.associate_iam_instance_profile().instance_id(id);
            let call = call.iam_instance_profile(specification(profile)).send();
            aws.call("AssociateIamInstanceProfile", ACTION, call).await?;
        }
        (Some(association), "") => {
            let call = ec2.disassociate_iam_instance_profile().association_id(association).send();
            aws.call("DisassociateIamInstanceProfile", ACTION, call).await?;
        }
        (Some(association), profile) => {
            let call = ec2.replace_iam_instance_profile_association().association_id(association);
            let call = call.iam_instance_profile(specification(profile)).send();
            aws.call("ReplaceIamInstanceProfileAssociation", ACTION, call).await?;
        }
    }
    Ok(())
}
