//! The fields of a launch template with a comparison of their own. Pure.

use kraken_aws::{
    AwsGroup as _, base64,
    fields::{ABSENT, NOT_SHOWN, SECRET, item_path},
    import::{Fields, literal},
    prelude::*,
};
use serde_json::Value;

use super::{
    api::{BlockDevice, Change, Desired, DesiredBlockDevice, LaunchTemplateSpec},
    observed::{Ebs, Template},
};

impl LaunchTemplateSpec {
    /// A profile is identified by its name or its ARN; an empty name means no profile.
    pub(super) fn compare_profile(desired: &Desired, template: &Template) -> Option<Difference<Change>> {
        let wanted = desired.iam_instance_profile.as_ref()?;
        let name = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
        let want = wanted.expose().as_str();
        let have = template.default.iam_instance_profile.as_deref().unwrap_or_default();
        let is_same = want == have || !(is_arn(want) && is_arn(have)) && name(want) == name(have);
        let have = match have {
            "" => ABSENT,
            _ if wanted.is_secret() => NOT_SHOWN,
            have => have,
        };
        let want = if want.is_empty() { ABSENT.to_owned() } else { shown(wanted) };
        (!is_same).then(|| difference("iamInstanceProfile", want, have, Change::Version))
    }

    pub(super) fn import_profile(template: &Template) -> Option<Value> {
        template.default.iam_instance_profile.as_ref().map(literal)
    }

    /// User data is never shown.
    pub(super) fn compare_user_data(desired: &Desired, template: &Template) -> Option<Difference<Change>> {
        let wanted = base64::encode(desired.user_data.as_ref()?.expose());
        (wanted != template.default.user_data.0)
            .then(|| difference("userData", NOT_SHOWN, NOT_SHOWN, Change::Version))
    }

    /// By device: only what is set.
    pub(super) fn compare_devices(desired: &Desired, template: &Template) -> Vec<Difference<Change>> {
        let devices = desired.block_devices.iter().flatten();
        devices.filter_map(|device| compared(device, template)).collect()
    }

    pub(super) fn import_devices(template: &Template) -> Option<Value> {
        let all = template.default.block_device_mappings.iter().filter_map(|device| {
            let (ebs, mut fields) = (device.ebs.as_ref()?, Fields::default());
            fields.one("deviceName", Some(&device.device_name));
            fields.one("sizeGiB", ebs.volume_size.as_ref());
            fields.one("type", ebs.volume_type.as_ref());
            fields.one("iops", ebs.iops.as_ref());
            fields.one("throughput", ebs.throughput.as_ref());
            fields.one("encrypted", ebs.encrypted.as_ref());
            fields.one("kmsKeyID", ebs.kms_key_id.as_ref());
            fields.one("deleteOnTermination", ebs.delete_on_termination.as_ref());
            fields.group()
        });
        let all: Vec<Value> = all.collect();
        (!all.is_empty()).then(|| all.into())
    }
}

fn is_arn(text: &str) -> bool {
    text.starts_with("arn:")
}

fn compared(device: &DesiredBlockDevice, template: &Template) -> Option<Difference<Change>> {
    let DesiredBlockDevice {
        device_name,
        size_gib,
        volume_type,
        iops,
        throughput,
        encrypted,
        kms_key_id,
        delete_on_termination,
    } = device;
    let mut all = template.default.block_device_mappings.iter();
    let have = all.find(|have| have.device_name == *device_name.expose()).and_then(|have| have.ebs.as_ref());
    let none = Ebs::default();
    let have = have.unwrap_or(&none);
    let text = |value: Option<&dyn ToString>| value.map(ToString::to_string);
    macro_rules! part {
        ($name:literal, $want:ident, $have:expr) => {
            (
                $name,
                text($want.as_ref().map(|value| value.expose() as &dyn ToString)),
                text($have.as_ref().map(|have| have as &dyn ToString)),
            )
        };
    }
    let parts = [
        part!("sizeGiB", size_gib, have.volume_size),
        part!("type", volume_type, have.volume_type),
        part!("iops", iops, have.iops),
        part!("throughput", throughput, have.throughput),
        part!("encrypted", encrypted, have.encrypted),
        part!("kmsKeyID", kms_key_id, have.kms_key_id),
        part!("deleteOnTermination", delete_on_termination, have.delete_on_termination),
    ];
    let (mut want, mut observed) = (vec![], vec![]);
    for (name, wanted, have) in parts {
        if wanted.is_some() && wanted != have {
            want.push(format!("{name} {}", wanted.unwrap_or_default()));
            observed.push(format!("{name} {}", have.as_deref().unwrap_or(ABSENT)));
        }
    }
    if want.is_empty() {
        return None;
    }
    if BlockDevice::is_secret(device) {
        return Some(difference("blockDevices", SECRET, NOT_SHOWN, Change::Version));
    }
    let path = item_path("blockDevices", device_name.expose());
    Some(difference(&path, want.join(", "), observed.join(", "), Change::Version))
}
