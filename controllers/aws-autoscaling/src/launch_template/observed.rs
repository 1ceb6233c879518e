//! The observed launch template with its default and latest version. The versions are not published.

use std::fmt;

use kraken_aws::{aws_observed, ec2::types, items::sorted};

#[aws_observed(from = types::LaunchTemplate, id = launch_template_id)]
pub(crate) struct Template {
    pub(super) launch_template_id: String,
    pub(super) launch_template_name: String,
    pub(super) default_version_number: Option<i64>,
    pub(super) latest_version_number: Option<i64>,
    /// Read by another call.
    #[serde(skip)]
    pub(super) default: Data,
    #[serde(skip)]
    pub(super) latest: Data,
}

/// The content of a version.
#[aws_observed(from = types::ResponseLaunchTemplateData)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(super) struct Data {
    pub(super) image_id: Option<String>,
    pub(super) instance_type: Option<String>,
    pub(super) key_name: Option<String>,
    #[from(sorted(sdk.security_group_ids))]
    pub(super) security_group_ids: Vec<String>,
    /// The name or the ARN, whichever was set.
    #[from(sdk.iam_instance_profile.and_then(|profile| profile.arn.or(profile.name)))]
    pub(super) iam_instance_profile: Option<String>,
    #[from(UserData(sdk.user_data.unwrap_or_default().split_whitespace().collect()))]
    pub(super) user_data: UserData,
    #[from(sdk.monitoring.and_then(|monitoring| monitoring.enabled))]
    pub(super) monitoring: Option<bool>,
    pub(super) ebs_optimized: Option<bool>,
    pub(super) metadata_options: Option<Metadata>,
    pub(super) block_device_mappings: Vec<Device>,
}

#[aws_observed(from = types::LaunchTemplateInstanceMetadataOptions)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(super) struct Metadata {
    pub(super) http_tokens: Option<String>,
    pub(super) http_put_response_hop_limit: Option<i32>,
    pub(super) http_endpoint: Option<String>,
}

#[aws_observed(from = types::LaunchTemplateBlockDeviceMapping)]
pub(super) struct Device {
    pub(super) device_name: String,
    pub(super) ebs: Option<Ebs>,
}

#[aws_observed(from = types::LaunchTemplateEbsBlockDevice)]
pub(super) struct Ebs {
    pub(super) volume_size: Option<i32>,
    pub(super) volume_type: Option<String>,
    pub(super) iops: Option<i32>,
    pub(super) throughput: Option<i32>,
    pub(super) encrypted: Option<bool>,
    pub(super) kms_key_id: Option<String>,
    pub(super) delete_on_termination: Option<bool>,
}

/// User data in base64, which may contain secrets.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(super) struct UserData(pub(super) String);

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(kraken_aws::fields::NOT_SHOWN)
    }
}

impl Template {
    pub(super) fn image_id(&self) -> Option<&String> {
        self.default.image_id.as_ref()
    }

    pub(super) fn instance_type(&self) -> Option<&String> {
        self.default.instance_type.as_ref()
    }

    pub(super) fn key_name(&self) -> Option<&String> {
        self.default.key_name.as_ref()
    }

    pub(super) fn security_group_ids(&self) -> &[String] {
        &self.default.security_group_ids
    }

    pub(super) fn monitoring(&self) -> Option<&bool> {
        self.default.monitoring.as_ref()
    }

    pub(super) fn ebs_optimized(&self) -> Option<&bool> {
        self.default.ebs_optimized.as_ref()
    }

    pub(super) fn http_tokens(&self) -> Option<&String> {
        self.default.metadata_options.as_ref()?.http_tokens.as_ref()
    }

    pub(super) fn hop_limit(&self) -> Option<&i32> {
        self.default.metadata_options.as_ref()?.http_put_response_hop_limit.as_ref()
    }

    pub(super) fn http_endpoint(&self) -> Option<&String> {
        self.default.metadata_options.as_ref()?.http_endpoint.as_ref()
    }

    /// This template, if its latest version were the default.
    pub(super) fn with_latest(&self) -> Self {
        Self { default: self.latest.clone(), ..self.clone() }
    }
}
