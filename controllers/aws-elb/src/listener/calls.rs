//! The calls of listeners. A DescribeListeners call lists the listeners of one load balancer only.

use futures::future::try_join_all;
use kraken_aws::{
    Aws, AwsResource, Tags,
    elb::{
        operation::describe_load_balancers::DescribeLoadBalancersOutput as Page,
        types::{self, Action as SdkAction, Certificate as SdkCertificate},
    },
    fields::shown,
    from_sdk,
    resolved::exposed,
    resource::{Creation, FromSdk as _},
};
use kraken_spoke::{Failure, FailureClass};

use super::{
    api::{self, Change, Desired},
    observed::{Certificate, ObservedListener},
};
use crate::{
    action::Action,
    once::{first, holder, made_by_us, ours},
    tagged::{self, Listed, PAGE, or_nothing},
};

const READ: &str = "failed to describe listeners";
const CREATE: &str = "failed to create a listener";
const CHANGE: &str = "failed to change the listener";
/// The number of load balancers whose listeners are described concurrently.
const AT_ONCE: usize = 8;

/// The kind Listener.
pub(crate) struct Listeners;

from_sdk!(types::Listener as listener => ObservedListener {
    listener_arn, load_balancer_arn, port, protocol, certificates, ssl_policy, default_actions;
    tags: Tags::new(),
});
from_sdk!(SdkCertificate => Certificate { certificate_arn });

impl Listed for ObservedListener {
    const ARN_PART: &'static str = ":listener/";
    const LISTS_CHEAPLY: bool = false;

    async fn by_arns(aws: &Aws, arns: Vec<String>) -> Result<Vec<Self>, Failure> {
        let call = aws.elb().describe_listeners().set_listener_arns(Some(arns));
        let answer = aws.call("DescribeListeners", READ, call.send()).await?;
        Ok(Vec::of(answer.listeners))
    }

    async fn all(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let pages = aws.elb().describe_load_balancers().page_size(PAGE).into_paginator().send();
        let pages = aws.pages("DescribeLoadBalancers", "failed to describe load balancers", pages).await?;
        let balancers: Vec<&str> = pages
            .iter()
            .flat_map(Page::load_balancers)
            .filter_map(|balancer| balancer.load_balancer_arn())
            .collect();
        let mut found = vec![];
        for balancers in balancers.chunks(AT_ONCE) {
            found.extend(try_join_all(balancers.iter().map(|arn| of_balancer(aws, arn))).await?.concat());
        }
        Ok(found)
    }

    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

/// The listeners of a load balancer; none if it does not exist.
pub(crate) async fn of_balancer(aws: &Aws, arn: &str) -> Result<Vec<ObservedListener>, Failure> {
    let call = aws.elb().describe_listeners().load_balancer_arn(arn).page_size(PAGE);
    let pages = or_nothing(aws.pages("DescribeListeners", READ, call.into_paginator().send()).await)?;
    Ok(pages.into_iter().flat_map(|page| Vec::of(page.listeners)).collect())
}

impl AwsResource for Listeners {
    type Kind = api::Listener;
    // By its port, which is unique in a load balancer.
    const IS_IDEMPOTENT: bool = true;
    const IDEMPOTENT_BY_NAME: bool = true;

    tagged::calls!(ObservedListener);

    async fn create(
        aws: &Aws,
        desired: &Desired,
        creation: &Creation<'_>,
    ) -> Result<ObservedListener, Failure> {
        let (arn, port) = (desired.load_balancer_arn.expose(), *desired.port.expose());
        let what = format!("port {} of the load balancer", shown(&desired.port));
        let mut there = of_balancer(aws, arn).await?;
        there.retain(|listener| listener.port == Some(port));
        if let Some(listener) = tagged::with_tags(aws, there).await?.pop() {
            return ours(listener, creation, CREATE, &what);
        }
        let call = aws
            .elb_once()
            .create_listener()
            .load_balancer_arn(arn)
            .port(port)
            .protocol(desired.protocol.expose().as_str().into())
            .default_actions(SdkAction::from(desired.default_action.expose()))
            .set_certificates(certificates(desired))
            .set_ssl_policy(exposed(desired.ssl_policy.as_ref()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let answer = aws.call("CreateListener", CREATE, call.send()).await?;
        let made = first(Vec::of(answer.listeners));
        made_by_us(aws, made, creation, CREATE, &what).await
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        listener: &ObservedListener,
    ) -> Result<(), Failure> {
        let call = aws.elb().modify_listener().listener_arn(&listener.listener_arn);
        let call = match change {
            Change::Protocol => {
                // AWS accepts a secure protocol only with a certificate; an existing certificate is kept.
                let is_bare = listener.certificates.is_empty();
                let certificates = certificates(desired).filter(|_| is_bare);
                let policy = exposed(desired.ssl_policy.as_ref()).filter(|_| is_bare);
                call.protocol(desired.protocol.expose().as_str().into())
                    .set_certificates(certificates)
                    .set_ssl_policy(policy)
            }
            Change::Certificate => call.set_certificates(certificates(desired)),
            Change::SslPolicy => call.set_ssl_policy(exposed(desired.ssl_policy.as_ref())),
            Change::Action => {
                let action =
                    desired.default_action.expose().sent(Action::of(&listener.default_actions).as_ref());
                call.default_actions(SdkAction::from(&action))
            }
            Change::Port => call.port(*desired.port.expose()),
        };
        match aws.call("ModifyListener", CHANGE, call.send()).await {
            Err(failure) if failure.class == FailureClass::TokenUsed => {
                port_is_taken(aws, desired, listener, failure).await
            }
            answer => answer.map(drop),
        }
    }

    async fn delete(aws: &Aws, listener: &ObservedListener) -> Result<(), Failure> {
        let call = aws.elb().delete_listener().listener_arn(&listener.listener_arn);
        aws.call("DeleteListener", "failed to delete the listener", call.send()).await.map(drop)
    }
}

/// The certificate as a list with one item.
fn certificates(desired: &Desired) -> Option<Vec<SdkCertificate>> {
    let certificate = |arn: String| SdkCertificate::builder().certificate_arn(arn).build();
    exposed(desired.certificate_arn.as_ref()).map(|arn| vec![certificate(arn)])
}

/// Interprets AWS's error that the new port of a listener is in use: success, if this listener has it.
async fn port_is_taken(
    aws: &Aws,
    desired: &Desired,
    listener: &ObservedListener,
    refusal: Failure,
) -> Result<(), Failure> {
    let mut there = of_balancer(aws, listener.load_balancer_arn.as_deref().unwrap_or_default()).await?;
    there.retain(|other| other.port == Some(*desired.port.expose()));
    if there.iter().any(|other| other.listener_arn == listener.listener_arn) {
        return Ok(());
    }
    let what = format!("port {} of the load balancer", shown(&desired.port));
    Err(holder(aws, there, &listener.tags, refusal, &what).await)
}
