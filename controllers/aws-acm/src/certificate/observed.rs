//! The observed certificate, which is the published state.

use kraken_aws::{Tags, aws_observed, observed::text, resource::Phase, tags};
use serde_json::{Value, json};

use crate::acm::{time, types};

#[allow(clippy::struct_field_names)] // AWS's names
#[aws_observed(
    from = types::CertificateDetail,
    id = certificate_arn,
    phase = Self::phase,
    pending = Self::pending_state
)]
pub(crate) struct Certificate {
    pub(crate) certificate_arn: String,
    pub(crate) domain_name: Option<String>,
    pub(crate) subject_alternative_names: Vec<String>,
    /// The main domain first, then the others in their order.
    #[from(validations(sdk.domain_validation_options, sdk.domain_name.as_deref()))]
    pub(crate) domain_validation_options: Vec<Validation>,
    pub(crate) status: Option<String>,
    pub(crate) r#type: Option<String>,
    /// AWS returns `RSA-2048` for the `RSA_2048` of the request.
    #[from(text(sdk.key_algorithm).map(|name| name.replace('-', "_")))]
    pub(crate) key_algorithm: Option<String>,
    #[from(sdk.not_after.as_ref().and_then(time))]
    pub(crate) not_after: Option<String>,
    #[serde(skip)]
    #[from(text(sdk.failure_reason))]
    pub(crate) failure_reason: Option<String>,
    #[serde(skip)]
    #[from(sdk.in_use_by.unwrap_or_default())]
    pub(crate) in_use_by: Vec<String>,
    #[serde(serialize_with = "tags::written")]
    #[from(Tags::new())]
    pub(crate) tags: Tags,
}

#[aws_observed(from = types::DomainValidation)]
pub(crate) struct Validation {
    #[from(sdk.domain_name)]
    pub(crate) domain_name: String,
    pub(crate) resource_record: Option<Record>,
}

#[aws_observed(from = types::ResourceRecord)]
pub(crate) struct Record {
    #[from(sdk.name)]
    pub(crate) name: String,
    #[from(sdk.r#type.as_str().to_owned())]
    pub(crate) r#type: String,
    #[from(sdk.value)]
    pub(crate) value: String,
}

fn validations(found: Option<Vec<types::DomainValidation>>, main: Option<&str>) -> Vec<Validation> {
    let mut found: Vec<Validation> = found.unwrap_or_default().into_iter().map(Validation::from).collect();
    found.sort_by_cached_key(|one| (Some(one.domain_name.as_str()) != main, one.domain_name.clone()));
    found
}

impl Certificate {
    fn phase(&self) -> Phase {
        match self.status.as_deref() {
            // The response of the create call has only the ARN.
            None | Some("PENDING_VALIDATION") => Phase::Pending(self.pending()),
            Some("FAILED" | "VALIDATION_TIMED_OUT" | "EXPIRED" | "REVOKED" | "INACTIVE") => {
                let why = [self.status.as_deref(), self.failure_reason.as_deref()];
                Phase::Failed(why.into_iter().flatten().collect::<Vec<_>>().join(": "))
            }
            Some(_) => Phase::Available,
        }
    }

    /// What is awaited, in words.
    fn pending(&self) -> String {
        match self.domain_validation_options.as_slice() {
            [Validation { resource_record: Some(record), .. }, rest @ ..] => {
                let others =
                    if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                format!(
                    "waiting for its validation by the record {} {} {}{others}",
                    record.name, record.r#type, record.value
                )
            }
            _ => "waiting for its validation records".to_owned(),
        }
    }

    /// The records that validate it, as soon as AWS returns all of them.
    #[allow(clippy::unnecessary_wraps)] // the form of the trait
    fn pending_state(&self) -> Option<Value> {
        let is_complete = !self.domain_validation_options.is_empty()
            && self.domain_validation_options.iter().all(|one| one.resource_record.is_some());
        is_complete.then(|| json!({"DomainValidationOptions": self.domain_validation_options}))
    }
}
