//! The observed certificate, which is the published state.

use kraken_aws::{Tags, aws_observed};

use crate::acm::{time, types};

#[allow(clippy::struct_field_names)] // AWS's names
#[aws_observed(from = types::CertificateSummary, id = certificate_arn, non_empty)]
pub(crate) struct Certificate {
    pub(super) certificate_arn: String,
    pub(super) domain_name: Option<String>,
    #[from(sdk.subject_alternative_name_summaries.unwrap_or_default())]
    pub(super) subject_alternative_names: Vec<String>,
    pub(super) status: Option<String>,
    pub(super) r#type: Option<String>,
    pub(super) key_algorithm: Option<String>,
    /// In RFC 3339, so that the order of texts is that of times.
    #[from(sdk.not_after.as_ref().and_then(time))]
    pub(super) not_after: Option<String>,
    #[serde(skip)]
    pub(super) tags: Tags,
}
