//! IAM instance profiles, changed in place: AWS models them as associations, at most one per instance.

use kraken_aws::{Aws, ec2::types::IamInstanceProfileSpecification, release::filter, resolved::exposed};
use kraken_kind::Failure;

use crate::{api::Desired, instance::Instance};

const ACTION: &str = "failed to change the IAM instance profile";

/// The profile as a parameter of calls: by name or ARN.
pub(super) fn specification(profile: &str) -> IamInstanceProfileSpecification {
    let builder = IamInstanceProfileSpecification::builder();
    if profile.starts_with("arn:") { builder.arn(profile).build() } else { builder.name(profile).build() }
}

/// Replaces the profile of an instance; an empty string removes it. The association is read first, so that the change
/// is idempotent.
pub(super) async fn change(aws: &Aws, instance: &Instance, desired: &Desired) -> Result<(), Failure> {
    let (ec2, id) = (aws.ec2(), &instance.instance_id);
    let call = ec2
        .describe_iam_instance_profile_associations()
        .filters(filter("instance-id", vec![id.clone()]))
        .filters(filter("state", vec!["associating".to_owned(), "associated".to_owned()]));
    let answer = aws.call("DescribeIamInstanceProfileAssociations", ACTION, call.send()).await?;
    let known = answer.iam_instance_profile_associations().first().and_then(|known| known.association_id());
    let wanted = exposed(desired.iam_instance_profile.as_ref()).filter(|profile| !profile.is_empty());
    match (known, wanted.map(|profile| specification(&profile))) {
        (None, None) => Ok(()),
        (None, Some(profile)) => {
            let call = ec2.associate_iam_instance_profile().instance_id(id).iam_instance_profile(profile);
            aws.call("AssociateIamInstanceProfile", ACTION, call.send()).await.map(drop)
        }
        (Some(known), None) => {
            let call = ec2.disassociate_iam_instance_profile().association_id(known);
            aws.call("DisassociateIamInstanceProfile", ACTION, call.send()).await.map(drop)
        }
        (Some(known), Some(profile)) => {
            let call = ec2.replace_iam_instance_profile_association().association_id(known);
            let call = call.iam_instance_profile(profile).send();
            aws.call("ReplaceIamInstanceProfileAssociation", ACTION, call).await.map(drop)
        }
    }
}
