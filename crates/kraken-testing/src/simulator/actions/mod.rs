//! What each action of the API does. One call is carried out at a time, so each is atomic.

mod attributes;
mod describe;
mod filters;
mod run;
mod states;
mod tags;

use super::cloud::Cloud;
use super::form::Form;
use super::markup::Xml;
use super::refusal::Refusal;

/// What an action did.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) body: Xml,
    /// What it changed or returned, for the journal.
    pub(super) ids: Vec<String>,
}

/// Carries out one call.
pub(super) fn carry_out(cloud: &mut Cloud, action: &str, form: &Form) -> Result<Answer, Refusal> {
    match action {
        "RunInstances" => run::run(cloud, form),
        "DescribeInstances" => describe::instances(cloud, form),
        "DescribeTags" => describe::tags(cloud, form),
        "DescribeImages" => describe::images(cloud, form),
        "CreateTags" => tags::create(cloud, form),
        "DeleteTags" => tags::delete(cloud, form),
        "TerminateInstances" => states::terminate(cloud, form),
        "StartInstances" => states::start(cloud, form),
        "StopInstances" => states::stop(cloud, form),
        "MonitorInstances" => attributes::monitor(cloud, form, true),
        "UnmonitorInstances" => attributes::monitor(cloud, form, false),
        "ModifyInstanceAttribute" => attributes::modify(cloud, form),
        "ModifyInstanceMetadataOptions" => attributes::metadata(cloud, form),
        "DescribeInstanceAttribute" => attributes::describe(cloud, form),
        unknown => {
            let message = format!("The action {unknown} is not valid for this web service.");
            Err(Refusal::new("InvalidAction", message))
        }
    }
}

/// The ids that most actions are about; at least one.
fn instance_ids(form: &Form) -> Result<Vec<&str>, Refusal> {
    let ids = form.list("InstanceId");
    if ids.is_empty() {
        form.required("InstanceId")?;
    }
    Ok(ids)
}

/// What an action without an answer of its own answers.
fn done(ids: Vec<String>) -> Answer {
    let mut body = Xml::default();
    body.text("return", true);
    Answer { body, ids }
}
