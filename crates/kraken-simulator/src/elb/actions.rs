//! Which actions the listeners of a load balancer can have.

use crate::cloud::Cloud;
use crate::model::action::Action;
use crate::model::{LoadBalancer, TargetGroup};
use crate::refusal::Refusal;

impl Action {
    /// Rejects a target group that this load balancer cannot use with this protocol.
    pub(super) fn check(&self, cloud: &Cloud, one: &LoadBalancer, protocol: &str) -> Result<(), Refusal> {
        if !one.settings.application && !matches!(self, Self::Forward { .. }) {
            let message = "Only forward actions are supported by the listeners of a network load balancer";
            return Err(Refusal::new("InvalidLoadBalancerAction", message));
        }
        for (arn, _) in self.groups() {
            let missing = || Refusal::new("TargetGroupNotFound", format!("Target group '{arn}' not found"));
            let group = cloud.existing::<TargetGroup>(arn).ok_or_else(missing)?;
            if group.settings.vpc != one.vpc {
                return Err(Refusal::misconfigured(format!(
                    "The target group '{arn}' is not in the load balancer's VPC '{}'",
                    one.vpc
                )));
            }
            if group.load_balancers(cloud).iter().any(|other| *other != one.arn) {
                let message = format!(
                    "The following target groups cannot be associated with more than one load balancer: {arn}"
                );
                return Err(Refusal::new("TargetGroupAssociationLimit", message));
            }
            if group.settings.is_http() != protocol.starts_with("HTTP") {
                let message = format!(
                    "The listener protocol '{protocol}' is incompatible with the target group protocol '{}'",
                    group.settings.protocol
                );
                return Err(Refusal::new("IncompatibleProtocols", message));
            }
        }
        Ok(())
    }
}
