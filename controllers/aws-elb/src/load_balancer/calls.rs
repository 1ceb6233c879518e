//! The calls of load balancers.

use kraken_aws::{Aws, AwsResource, missing::or_nothing, resolved::exposed, resource::Creation};
use kraken_kind::{Failure, FailureClass, Features, Opt};

use super::{
    api::{self, Change, Desired},
    observed::{Balancer, DELETION_PROTECTION, IDLE_TIMEOUT},
};
use crate::{
    elb::{ElbClients as _, types::LoadBalancerAttribute},
    in_vpc, once,
    tagged::{self, Listed, Selection},
};

const CREATE: &str = "failed to create a load balancer";

/// The kind LoadBalancer.
pub(crate) struct Balancers;

impl Listed for Balancer {
    const ARN_PART: &'static str = ":loadbalancer/";

    async fn describe(aws: &Aws, selection: Selection) -> Result<Vec<Self>, Failure> {
        let Selection { arns, names, page_size, .. } = selection;
        let call = aws.elb().describe_load_balancers().set_load_balancer_arns(arns).set_names(names);
        let pages = call.set_page_size(page_size).into_paginator().send();
        let action = "failed to describe load balancers";
        aws.items("DescribeLoadBalancers", action, pages, |page| page.load_balancers).await
    }
}

impl AwsResource for Balancers {
    type Kind = api::LoadBalancer;
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };

    tagged::calls!(Balancer);

    async fn within(aws: &Aws, place: &str) -> Result<Vec<Balancer>, Failure> {
        in_vpc::tagged_balancers(aws, place).await
    }

    async fn complete(aws: &Aws, balancer: &mut Balancer, deep: bool) -> Result<(), Failure> {
        if !deep {
            return Ok(());
        }
        let call =
            aws.elb().describe_load_balancer_attributes().load_balancer_arn(&balancer.load_balancer_arn);
        let action = "failed to describe the attributes of a load balancer";
        let answer = aws.call("DescribeLoadBalancerAttributes", action, call.send()).await;
        balancer.attributes = or_nothing(answer.map(|answer| {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            Some(answer.attributes().iter().map(|pair| (text(pair.key()), text(pair.value()))).collect())
        }))?;
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Balancer, Failure> {
        let call = aws
            .elb_once()
            .create_load_balancer()
            .name(once::name(desired.name.as_ref(), creation))
            .set_subnets(Some(desired.subnet_ids.expose().clone()))
            .set_type(exposed(desired.balancer_type.as_ref()).map(|kind| kind.as_str().into()))
            .set_scheme(exposed(desired.scheme.as_ref()).map(|scheme| scheme.as_str().into()))
            .set_security_groups(exposed(desired.security_group_ids.as_ref()))
            .set_ip_address_type(exposed(desired.ip_address_type.as_ref()).map(|kind| kind.as_str().into()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let call = Box::pin(aws.call("CreateLoadBalancer", CREATE, call.send()));
        once::create(aws, desired.name.as_ref(), creation, CREATE, call, |made| made.load_balancers).await
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        balancer: &Balancer,
    ) -> Result<(), Failure> {
        let (elb, arn) = (aws.elb(), balancer.load_balancer_arn.as_str());
        match change {
            Change::Subnets => {
                let subnets = desired.subnet_ids.expose().clone();
                let call = elb.set_subnets().load_balancer_arn(arn).set_subnets(Some(subnets));
                aws.call("SetSubnets", "failed to change the subnets", call.send()).await.map(drop)
            }
            Change::SecurityGroups => {
                let groups = exposed(desired.security_group_ids.as_ref());
                let call = elb.set_security_groups().load_balancer_arn(arn).set_security_groups(groups);
                let action = "failed to change the security groups";
                aws.call("SetSecurityGroups", action, call.send()).await.map(drop)
            }
            Change::IpAddressType => {
                let kind = exposed(desired.ip_address_type.as_ref()).map(|kind| kind.as_str().into());
                let call = elb.set_ip_address_type().load_balancer_arn(arn).set_ip_address_type(kind);
                let action = "failed to change the IP address type";
                aws.call("SetIpAddressType", action, call.send()).await.map(drop)
            }
            Change::DeletionProtection => {
                let value = exposed(desired.deletion_protection.as_ref()).map(|value| value.to_string());
                attribute(aws, arn, DELETION_PROTECTION, value).await
            }
            Change::IdleTimeout => {
                let value = exposed(desired.idle_timeout_seconds.as_ref()).map(|value| value.to_string());
                attribute(aws, arn, IDLE_TIMEOUT, value).await
            }
        }
    }

    fn unprotected_by(spec: &api::LoadBalancerSpec) -> Option<&'static str> {
        matches!(spec.deletion_protection, Some(Opt::Value(false))).then_some("deletionProtection")
    }

    async fn unprotect(aws: &Aws, balancer: &Balancer) -> Result<(), Failure> {
        attribute(aws, &balancer.load_balancer_arn, DELETION_PROTECTION, Some(false.to_string())).await
    }

    async fn delete(aws: &Aws, balancer: &Balancer) -> Result<(), Failure> {
        let call = aws.elb().delete_load_balancer().load_balancer_arn(&balancer.load_balancer_arn);
        let action = "failed to delete the load balancer";
        aws.call("DeleteLoadBalancer", action, call.send()).await.map(drop).map_err(protected)
    }
}

/// AWS uses this code for other errors too, such as a missing permission of the account.
fn protected(failure: Failure) -> Failure {
    let is_protected =
        failure.code == "OperationNotPermitted" && failure.message.contains("deletion protection");
    if !is_protected {
        return failure;
    }
    let message = format!(
        "{}: disable it in AWS, or set spec.deletionProtection to {{value: false}}, so that Kraken disables it",
        failure.message
    );
    Failure { class: FailureClass::Protected, message, ..failure }
}

async fn attribute(aws: &Aws, arn: &str, key: &str, value: Option<String>) -> Result<(), Failure> {
    let attribute = LoadBalancerAttribute::builder().key(key).set_value(value).build();
    let call = aws.elb().modify_load_balancer_attributes().load_balancer_arn(arn).attributes(attribute);
    let action = "failed to change an attribute of the load balancer";
    aws.call("ModifyLoadBalancerAttributes", action, call.send()).await.map(drop)
}
