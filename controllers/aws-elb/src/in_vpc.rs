//! What exists in a VPC, for imports: Elastic Load Balancing has no such filter, so that all load balancers are listed, up to 400 per
//! call, and only those of the VPC are looked into.

use kraken_aws::Aws;
use kraken_kind::Failure;

use crate::{
    listener::ObservedListener,
    listener_rule::Rule,
    load_balancer::Balancer,
    tagged::{Listed, in_parents, with_tags},
    target_group::Group,
};

/// The load balancers in the VPC, without tags.
async fn balancers(aws: &Aws, vpc: &str) -> Result<Vec<Balancer>, Failure> {
    let mut all = Balancer::all(aws).await?;
    all.retain(|balancer| balancer.vpc_id.as_deref() == Some(vpc));
    Ok(all)
}

pub(crate) async fn tagged_balancers(aws: &Aws, vpc: &str) -> Result<Vec<Balancer>, Failure> {
    with_tags(aws, balancers(aws, vpc).await?).await
}

pub(crate) async fn target_groups(aws: &Aws, vpc: &str) -> Result<Vec<Group>, Failure> {
    let mut all = Group::all(aws).await?;
    all.retain(|group| group.vpc_id.as_deref() == Some(vpc));
    with_tags(aws, all).await
}

/// The listeners of the load balancers in the VPC, without tags.
async fn listeners(aws: &Aws, vpc: &str) -> Result<Vec<ObservedListener>, Failure> {
    in_parents(aws, &balancers(aws, vpc).await?).await
}

pub(crate) async fn tagged_listeners(aws: &Aws, vpc: &str) -> Result<Vec<ObservedListener>, Failure> {
    with_tags(aws, listeners(aws, vpc).await?).await
}

pub(crate) async fn rules(aws: &Aws, vpc: &str) -> Result<Vec<Rule>, Failure> {
    with_tags(aws, in_parents(aws, &listeners(aws, vpc).await?).await?).await
}
