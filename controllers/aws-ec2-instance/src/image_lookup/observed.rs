//! The observed image, which is the published state.

use kraken_aws::{aws_observed, ec2::types};

#[allow(clippy::struct_field_names)] // AWS's names
#[aws_observed(from = types::Image, id = image_id, non_empty)]
pub(crate) struct Image {
    pub(super) image_id: String,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) architecture: Option<String>,
    /// In RFC 3339, so that the order of texts is that of times.
    pub(super) creation_date: Option<String>,
    pub(super) deprecation_time: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) image_owner_alias: Option<String>,
    pub(super) platform_details: Option<String>,
    pub(super) root_device_name: Option<String>,
    pub(super) root_device_type: Option<String>,
    pub(super) virtualization_type: Option<String>,
    pub(super) boot_mode: Option<String>,
    pub(super) ena_support: Option<bool>,
    pub(super) state: Option<String>,
}
