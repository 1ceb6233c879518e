//! RunInstances: once per client token, all or as many as there is room for.

use crate::simulator::cloud::{Cloud, Used};
use crate::simulator::form::Form;
use crate::simulator::instance::{ACCOUNT, Instance, Life, Metadata, Settings, State, id};
use crate::simulator::markup::Xml;
use crate::simulator::refusal::{Refusal, is_well_formed};
use crate::simulator::tags::{History, Tags};

use super::describe::{image_exists, write_reservation};
use super::tags::checked;
use super::{Answer, attributes};

/// Carries out a launch, or answers with the one that its token was used for.
pub(super) fn run(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let token = form.text("ClientToken").filter(|token| !token.is_empty());
    if let Some(used) = token.as_ref().and_then(|token| cloud.tokens.get(token)) {
        replay(cloud, used, form)?;
        return Ok(answer(cloud, &used.instances));
    }
    if token.as_ref().is_some_and(|token| token.len() > 64) {
        return Err(Refusal::new(
            "InvalidParameterValue",
            "Client token may not be longer than 64 ASCII characters",
        ));
    }
    let settings = settings(cloud, form)?;
    let tags = specified(form, "instance")?;
    let volume_tags = specified(form, "volume")?;
    let count = count(cloud, form, &settings.instance_type)?;
    let first = cloud.next_number();
    let numbers: Vec<u64> = (first..).take(count).collect();
    let now = cloud.now;
    for (index, number) in numbers.iter().enumerate() {
        cloud.add(Instance {
            number: *number,
            id: id("i-", *number),
            volume: id("vol-", *number),
            reservation: id("r-", first),
            index,
            token: token.clone(),
            launch_time: k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string(),
            settings: settings.clone(),
            life: Life::new(State::Pending, State::Running, now, cloud.options.pending),
            tags: History::new(now, tags.clone()),
            volume_tags: History::new(now, volume_tags.clone()),
            described_from: now + cloud.options.describe_lag,
            known_from: now + cloud.options.change_lag,
            launched_by: cloud.call,
            ended_by: None,
        });
    }
    let answer = answer(cloud, &numbers);
    if let Some(token) = token {
        cloud.tokens.insert(token, Used { digest: form.digest(), instances: numbers });
    }
    Ok(answer)
}

/// Whether a token's second call gets the first one's answer. Of several instances AWS does not say when a token is spent;
/// here it is when all are terminated, so that a launch that can still be found by its token is.
fn replay(cloud: &Cloud, used: &Used, form: &Form) -> Result<(), Refusal> {
    if used.digest != form.digest() {
        let message = "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).";
        return Err(Refusal::new("IdempotentParameterMismatch", message));
    }
    let over =
        |number| cloud.instances.get(number).is_none_or(|one| one.state(cloud.now) == State::Terminated);
    if used.instances.iter().all(over) {
        let message = "The client token you have provided is associated with a terminated instance. \
                       Please use a different client token.";
        return Err(Refusal::new("IdempotentInstanceTerminated", message));
    }
    Ok(())
}

fn answer(cloud: &Cloud, numbers: &[u64]) -> Answer {
    let members: Vec<&Instance> = numbers.iter().filter_map(|number| cloud.instances.get(number)).collect();
    let mut body = Xml::default();
    write_reservation(&mut body, &members, cloud);
    Answer { body, ids: members.iter().map(|instance| instance.id.clone()).collect() }
}

fn count(cloud: &mut Cloud, form: &Form, instance_type: &str) -> Result<usize, Refusal> {
    form.required("MinCount")?;
    form.required("MaxCount")?;
    let (min, max) = (form.number("MinCount")?.unwrap_or(0), form.number("MaxCount")?.unwrap_or(0));
    if min < 1 || max < min {
        let message = format!(
            "Value ({max}) for parameter maxCount is invalid. It must be at least minCount ({min}) and 1."
        );
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    let room = cloud.room().min(cloud.next_launch.take().unwrap_or(usize::MAX));
    if room < min { Err(Refusal::no_capacity(instance_type)) } else { Ok(max.min(room)) }
}

fn settings(cloud: &Cloud, form: &Form) -> Result<Settings, Refusal> {
    let image = form.required("ImageId")?.to_owned();
    image_exists(cloud, &image)?;
    let instance_type = form.text("InstanceType").unwrap_or_else(|| "m1.small".to_owned());
    attributes::type_exists(&instance_type)?;
    let interface = form.structures("NetworkInterface").into_iter().next();
    if interface.is_some()
        && ["SubnetId", "PrivateIpAddress", "SecurityGroupId.1"].iter().any(|name| form.get(name).is_some())
    {
        let message =
            "Network interfaces and an instance-level subnet ID may not be specified on the same request";
        return Err(Refusal::new("InvalidParameterCombination", message));
    }
    let network = interface.as_ref().unwrap_or(form);
    let subnet = network.text("SubnetId").unwrap_or_else(|| "subnet-0123456789abcdef0".to_owned());
    if !is_well_formed(&subnet, "subnet-") {
        return Err(Refusal::new(
            "InvalidSubnetID.NotFound",
            format!("The subnet ID '{subnet}' does not exist"),
        ));
    }
    let mut groups: Vec<String> = network.list("SecurityGroupId").into_iter().map(str::to_owned).collect();
    if groups.is_empty() {
        groups.push("sg-0123456789abcdef0".to_owned());
    }
    attributes::groups_exist(&groups)?;
    let user_data = form.text("UserData");
    attributes::is_user_data(user_data.as_deref().unwrap_or_default())?;
    let named = form.get("IamInstanceProfile.Name");
    let profile = named.map(|name| format!("arn:aws:iam::{ACCOUNT}:instance-profile/{name}"));
    let volume = form.structures("BlockDeviceMapping").into_iter().next().unwrap_or_default();
    Ok(Settings {
        image,
        instance_type,
        subnet,
        groups,
        key_name: form.text("KeyName"),
        user_data,
        profile: form.text("IamInstanceProfile.Arn").or(profile),
        private_address: network.text("PrivateIpAddress"),
        public: network.flag("AssociatePublicIpAddress")?.unwrap_or(true),
        monitoring: form.flag("Monitoring.Enabled")?.unwrap_or(false),
        ebs_optimized: form.flag("EbsOptimized")?.unwrap_or(false),
        metadata: Metadata {
            tokens: form.text("MetadataOptions.HttpTokens").unwrap_or_else(|| "optional".to_owned()),
            hop_limit: form.number("MetadataOptions.HttpPutResponseHopLimit")?.unwrap_or(1),
            endpoint: form.text("MetadataOptions.HttpEndpoint").unwrap_or_else(|| "enabled".to_owned()),
        },
        protected: form.flag("DisableApiTermination")?.unwrap_or(false),
        keeps_volume: !volume.flag("Ebs.DeleteOnTermination")?.unwrap_or(true),
    })
}

fn specified(form: &Form, kind: &str) -> Result<Tags, Refusal> {
    let specifications = form.structures("TagSpecification").into_iter();
    let of_kind = specifications.filter(|specification| specification.get("ResourceType") == Some(kind));
    checked(
        of_kind
            .flat_map(|specification| specification.tags())
            .map(|(k, v)| (k, v.unwrap_or_default()))
            .collect(),
    )
}
