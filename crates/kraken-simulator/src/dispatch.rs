//! Dispatches calls to actions. One call is executed at a time, so each is atomic.

use super::answer::{Answer, Handler};
use super::cloud::Cloud;
use super::form::Form;
use super::refusal::Refusal;
use super::service::Service;
use super::{actions, elb, network, sts};

/// Executes one call.
pub(super) fn carry_out(cloud: &mut Cloud, action: &str, form: &Form) -> Result<Answer, Refusal> {
    let handler = handler(Service::of(form.get("Version")), action);
    let unknown = || {
        let message = format!("The action {action} is not valid for this web service.");
        Refusal::new("InvalidAction", message)
    };
    handler.ok_or_else(unknown)?(cloud, form)
}

fn handler(service: Service, action: &str) -> Option<Handler> {
    match service {
        Service::Ec2 => actions::handler(action).or_else(|| network::handler(action)),
        Service::Elb => elb::handler(action),
        Service::Sts => sts::handler(action),
    }
}

/// Whether any of the services has an action.
pub fn is_simulated(action: &str) -> bool {
    [Service::Ec2, Service::Elb, Service::Sts].into_iter().any(|service| handler(service, action).is_some())
}
