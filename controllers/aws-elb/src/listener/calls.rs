//! The calls of listeners. A DescribeListeners call lists the listeners of one load balancer only.

use kraken_aws::{Aws, AwsResource, fields::shown, resolved::exposed, resource::Creation};
use kraken_kind::{Failure, FailureClass, Features};

use super::{
    api::{self, Change, Desired},
    observed::ObservedListener,
};
use crate::{
    elb::{
        ElbClients as _,
        types::{Action, Certificate},
    },
    in_vpc,
    load_balancer::Balancer,
    once,
    tagged::{self, Listed, Selection},
};

const CREATE: &str = "failed to create a listener";

/// The kind Listener.
pub(crate) struct Listeners;

impl Listed for ObservedListener {
    const ARN_PART: &'static str = ":listener/";
    const LISTS_CHEAPLY: bool = false;

    async fn describe(aws: &Aws, selection: Selection) -> Result<Vec<Self>, Failure> {
        let Selection { arns, parent, page_size, .. } = selection;
        let call = aws.elb().describe_listeners().set_listener_arns(arns).set_load_balancer_arn(parent);
        let pages = call.set_page_size(page_size).into_paginator().send();
        aws.items("DescribeListeners", "failed to describe listeners", pages, |page| page.listeners).await
    }

    async fn all(aws: &Aws) -> Result<Vec<Self>, Failure> {
        tagged::in_parents(aws, &Balancer::all(aws).await?).await
    }
}

impl AwsResource for Listeners {
    // Not idempotent: the port is unique in a load balancer, but another client can change it before the listener is visible.
    type Kind = api::Listener;
    const HIDDEN: &[&str] = &["defaultAction.fixedResponse.messageBody"];
    const FEATURES: Features = Features {
        ordered_fields: &["protocol", "certificateARN", "sslPolicy", "defaultAction", "port"],
        ..Features::NONE
    };

    tagged::calls!(ObservedListener);

    async fn within(aws: &Aws, place: &str) -> Result<Vec<ObservedListener>, Failure> {
        in_vpc::tagged_listeners(aws, place).await
    }

    async fn create(
        aws: &Aws,
        desired: &Desired,
        creation: &Creation<'_>,
    ) -> Result<ObservedListener, Failure> {
        let arn = desired.load_balancer_arn.expose();
        let holders = of_port(aws, arn, desired).await?;
        let call = aws
            .elb_once()
            .create_listener()
            .load_balancer_arn(arn)
            .port(*desired.port.expose())
            .protocol(desired.protocol.expose().as_str().into())
            .default_actions(Action::from(desired.default_action.expose()))
            .set_certificates(certificates(desired))
            .set_ssl_policy(exposed(desired.ssl_policy.as_ref()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let call = Box::pin(aws.call("CreateListener", CREATE, call.send()));
        once::create_unless(aws, holders, creation, CREATE, &what(desired), call, |made| made.listeners).await
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
                let action = desired.default_action.expose().sent(listener.action().as_ref());
                call.default_actions(Action::from(&action))
            }
            Change::Port => call.port(*desired.port.expose()),
        };
        match aws.call("ModifyListener", "failed to change the listener", call.send()).await {
            Err(failure) if failure.class == FailureClass::TokenUsed => {
                let arn = listener.load_balancer_arn.as_deref().unwrap_or_default();
                let holders = of_port(aws, arn, desired).await?;
                once::unless_own(aws, holders, listener, failure, &what(desired)).await
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
fn certificates(desired: &Desired) -> Option<Vec<Certificate>> {
    let arn = exposed(desired.certificate_arn.as_ref())?;
    Some(vec![Certificate::builder().certificate_arn(arn).build()])
}

/// The value that is unique in a load balancer.
fn what(desired: &Desired) -> String {
    format!("port {} of the load balancer", shown(&desired.port))
}

/// The listener of this load balancer that has the desired port.
async fn of_port(aws: &Aws, balancer: &str, desired: &Desired) -> Result<Vec<ObservedListener>, Failure> {
    let mut listeners: Vec<ObservedListener> = tagged::in_parent(aws, balancer).await?;
    listeners.retain(|listener| listener.port == Some(*desired.port.expose()));
    Ok(listeners)
}
