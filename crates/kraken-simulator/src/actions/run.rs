//! RunInstances: once per client token; launches `MaxCount` instances, or as many as the capacity allows.

use crate::answer::Answer;
use crate::cloud::{Cloud, Used};
use crate::form::Form;
use crate::given_tags::specified;
use crate::kind::{Kind, id};
use crate::markup::Xml;
use crate::model::Instance;
use crate::model::instance::{Metadata, Settings, State};
use crate::network::{Root, Site, key_exists, place, site};
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;
use crate::store::CloudObject as _;

use super::describe::{image_exists, write_reservation};
use super::{attributes, profiles};

/// Executes a launch, or returns the one that its token was used for.
pub(super) fn run(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    if let Some(used) = cloud.used(Kind::Instance, form)? {
        replay(cloud, &used)?;
        return Ok(answer(cloud, &used.made));
    }
    let interface = form.structures("NetworkInterface").into_iter().next();
    let alone = ["SubnetId", "PrivateIpAddress", "SecurityGroupId.1"];
    if interface.is_some() && alone.iter().any(|name| form.get(name).is_some()) {
        let message =
            "Network interfaces and an instance-level subnet ID may not be specified on the same request";
        return Err(Refusal::new("InvalidParameterCombination", message));
    }
    let site = site(cloud, interface.as_ref().unwrap_or(form), form.number("MinCount")?.unwrap_or(1))?;
    let settings = settings(cloud, form, &site)?;
    let tags = specified(form, Kind::Instance)?;
    let mapping = form.structures("BlockDeviceMapping").into_iter().next().unwrap_or_default();
    let root = Root::of(&mapping, specified(form, Kind::Volume)?)?;
    let count = count(cloud, form, &site, &settings.instance_type)?;
    let token = form.text("ClientToken").filter(|token| !token.is_empty());
    let first = cloud.registry.next_number(Kind::Instance);
    let transition = StateTransition::new(State::Pending, State::Running, cloud.now, cloud.options.pending);
    let launch_time = cloud.timestamp();
    let mut numbers = vec![];
    for (index, number) in (first..).take(count).enumerate() {
        let its_id = id("i-", number);
        let place = place(cloud, &site, number, &its_id);
        let volume = root.make(cloud, &its_id, &place.zone);
        let instance = Instance {
            number,
            id: its_id.clone(),
            place,
            volumes: vec![volume],
            reservation: id("r-", first),
            index,
            token: token.clone(),
            launch_time: launch_time.clone(),
            settings: settings.clone(),
            transition,
            ended_by: None,
            elastic: None,
        };
        numbers.push(cloud.make_as(its_id, tags.clone(), instance));
    }
    appear_one_by_one(cloud, &numbers);
    cloud.use_token(Kind::Instance, form, numbers.clone());
    Ok(answer(cloud, &numbers))
}

/// The objects of a launch become visible one by one in the least favorable order: the first of every list becomes visible last.
fn appear_one_by_one(cloud: &mut Cloud, numbers: &[u64]) {
    let (lag, count) = (cloud.options.describe_lag, u32::try_from(numbers.len()).unwrap_or(u32::MAX));
    for (turn, number) in (1..).zip(numbers.iter().rev()) {
        let time = cloud.now + lag * turn / count;
        cloud.registry.described_from(Instance::object(*number), time);
    }
}

/// Whether a second call with a token returns the first response. AWS does not document when the token of several
/// instances expires; here it does when all are terminated, so that a launch can be found by its token.
fn replay(cloud: &Cloud, used: &Used) -> Result<(), Refusal> {
    let over = |number| {
        cloud.store.instances.get(number).is_none_or(|one| one.state(cloud.now) == State::Terminated)
    };
    if used.made.iter().all(over) {
        let message = "The client token you have provided is associated with a terminated instance. \
                       Please use a different client token.";
        return Err(Refusal::new("IdempotentInstanceTerminated", message));
    }
    Ok(())
}

fn answer(cloud: &Cloud, numbers: &[u64]) -> Answer {
    let members: Vec<&Instance> =
        numbers.iter().filter_map(|number| cloud.store.instances.get(number)).collect();
    let mut body = Xml::default();
    write_reservation(&mut body, &members, cloud);
    Answer { body, ids: members.iter().map(|instance| instance.id.clone()).collect() }
}

fn count(cloud: &mut Cloud, form: &Form, site: &Site, instance_type: &str) -> Result<usize, Refusal> {
    form.required("MinCount")?;
    form.required("MaxCount")?;
    let (min, max) = (form.number("MinCount")?.unwrap_or(0), form.number("MaxCount")?.unwrap_or(0));
    if min < 1 || max < min {
        let message = format!(
            "Value ({max}) for parameter maxCount is invalid. It must be at least minCount ({min}) and 1."
        );
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    let limits = [cloud.next_launch.take(), cloud.options.per_launch].into_iter().flatten();
    let capacity = limits.fold(cloud.remaining_capacity().min(site.capacity), usize::min);
    if capacity < min { Err(Refusal::no_capacity(instance_type)) } else { Ok(max.min(capacity)) }
}

fn settings(cloud: &Cloud, form: &Form, site: &Site) -> Result<Settings, Refusal> {
    let image = form.required("ImageId")?.to_owned();
    image_exists(cloud, &image)?;
    let instance_type = form.text("InstanceType").unwrap_or_else(|| "m1.small".to_owned());
    attributes::type_exists(cloud, &instance_type)?;
    form.get("KeyName").map_or(Ok(()), |name| key_exists(cloud, name))?;
    let user_data = form.text("UserData");
    attributes::is_user_data(user_data.as_deref().unwrap_or_default())?;
    Ok(Settings {
        image,
        instance_type,
        subnet: site.subnet.clone(),
        groups: site.groups.clone(),
        key_name: form.text("KeyName"),
        user_data,
        profile: profiles::named(cloud, form),
        public: site.public,
        monitoring: form.flag("Monitoring.Enabled")?.unwrap_or(false),
        ebs_optimized: form.flag("EbsOptimized")?.unwrap_or(false),
        metadata: Metadata {
            tokens: form.text("MetadataOptions.HttpTokens").unwrap_or_else(|| "optional".to_owned()),
            hop_limit: form.number("MetadataOptions.HttpPutResponseHopLimit")?.unwrap_or(1),
            endpoint: form.text("MetadataOptions.HttpEndpoint").unwrap_or_else(|| "enabled".to_owned()),
        },
        protected: form.flag("DisableApiTermination")?.unwrap_or(false),
    })
}
