//! The observed secret, which is the published state. It has no value: that is never read.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    resource::{Phase, RemoteObject},
    tags,
};

use crate::secrets::{self, DateTime, DateTimeFormat, DescribeSecretOutput, types::SecretListEntry};

/// The stage of the version with the current value.
const CURRENT: &str = "AWSCURRENT";

#[aws_observed]
pub(crate) struct Secret {
    #[serde(rename = "ARN")]
    pub(super) arn: String,
    pub(super) name: String,
    pub(super) description: String,
    /// None for AWS's own.
    pub(super) kms_key_id: Option<String>,
    /// The id of the version with the current value.
    #[serde(skip)]
    pub(super) version: Option<String>,
    /// When AWS deletes it, if it is scheduled for deletion.
    #[serde(skip)]
    pub(super) deleted_date: Option<String>,
    /// The service of AWS that manages it.
    #[serde(skip)]
    pub(super) owning_service: Option<String>,
    /// The region of the secret that it is a replica of, or has replicas.
    #[serde(skip)]
    pub(super) primary_region: Option<String>,
    /// JSON; empty for none. Read only in deep observations, and therefore not published. None if it was not read.
    #[serde(skip)]
    pub(super) policy: Option<String>,
    /// For how many days its deletion keeps it.
    #[serde(skip)]
    pub(super) recovery_window_days: i32,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// A list and a description have the same fields, and another name for one of them.
macro_rules! secret_from {
    ($from:ty, $stages:ident) => {
        impl From<$from> for Secret {
            fn from(sdk: $from) -> Self {
                Self {
                    arn: sdk.arn.unwrap_or_default(),
                    name: sdk.name.unwrap_or_default(),
                    description: sdk.description.unwrap_or_default(),
                    kms_key_id: sdk.kms_key_id.filter(|key| !key.is_empty()),
                    version: sdk.$stages.and_then(current),
                    deleted_date: sdk.deleted_date.as_ref().map(written),
                    owning_service: sdk.owning_service,
                    primary_region: sdk.primary_region,
                    tags: secrets::tags(sdk.tags),
                    ..Self::default()
                }
            }
        }
    };
}
secret_from!(SecretListEntry, secret_versions_to_stages);
secret_from!(DescribeSecretOutput, version_ids_to_stages);

/// The id of the version with the current value.
pub(super) fn current(stages: impl IntoIterator<Item = (String, Vec<String>)>) -> Option<String> {
    let is_current = |stages: &[String]| stages.iter().any(|stage| stage == CURRENT);
    stages.into_iter().find(|(_, stages)| is_current(stages)).map(|(version, _)| version)
}

fn written(date: &DateTime) -> String {
    date.fmt(DateTimeFormat::DateTime).unwrap_or_else(|_| "an unknown date".to_owned())
}

impl Secret {
    /// Whether a text is an ARN of a secret. AWS accepts names too, also of a secret that was created again.
    pub(super) fn is_arn(text: &str) -> bool {
        text.starts_with("arn:") && text.split(':').nth(2) == Some("secretsmanager")
    }

    /// The region in its ARN.
    pub(super) fn region(&self) -> &str {
        self.arn.split(':').nth(3).unwrap_or_default()
    }
}

impl Tagged for Secret {
    /// Its end is random: a secret that is created again has another one.
    fn id(&self) -> &str {
        &self.arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Secret {
    /// A secret that is scheduled for deletion has no value for anybody.
    fn phase(&self) -> Phase {
        if self.deleted_date.is_some() { Phase::Deleted } else { Phase::Available }
    }
}
