//! The observed topic, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    resource::{RemoteObject, is_generated_name},
    tags,
};

/// The end of the name of each FIFO topic, and of no other one.
pub(super) const FIFO: &str = ".fifo";

#[aws_observed]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Topic {
    pub(super) topic_arn: String,
    pub(super) topic_name: String,
    pub(super) fifo_topic: bool,
    /// Read only in deep observations, and therefore not published. None if they were not read.
    #[serde(skip)]
    pub(super) attributes: Option<Attributes>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// What one more call reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attributes {
    pub(super) content_based_deduplication: bool,
    /// Empty for none, as the key.
    pub(super) display_name: String,
    pub(super) kms_key_id: String,
    pub(super) signature_version: String,
    pub(super) tracing_config: String,
    /// JSON.
    pub(super) policy: String,
}

impl Topic {
    /// None if it is no ARN of a topic: `arn:aws:sns:REGION:ACCOUNT:NAME`.
    pub(super) fn new(arn: &str, tags: Tags) -> Option<Self> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", _, "sns", _, _, name] = parts.as_slice() else { return None };
        Some(Self {
            topic_arn: arn.to_owned(),
            topic_name: (*name).to_owned(),
            fifo_topic: name.ends_with(FIFO),
            attributes: None,
            tags,
        })
    }
}

impl Attributes {
    /// From AWS's texts by name, with AWS's defaults.
    pub(super) fn new(texts: &BTreeMap<String, String>) -> Self {
        let text = |name: &str, default: &str| texts.get(name).map_or(default, String::as_str).to_owned();
        Self {
            content_based_deduplication: text("ContentBasedDeduplication", "") == "true",
            display_name: text("DisplayName", ""),
            kms_key_id: text("KmsMasterKeyId", ""),
            signature_version: text("SignatureVersion", "1"),
            tracing_config: text("TracingConfig", "PassThrough"),
            policy: text("Policy", ""),
        }
    }
}

/// The attribute of this name, if attributes were read.
macro_rules! attributes {
    ($($name:ident: $type:ty),+ $(,)?) => {
        impl Topic {
            $(pub(super) fn $name(&self) -> Option<&$type> {
                Some(&self.attributes.as_ref()?.$name)
            })+
        }
    };
}
attributes! {
    content_based_deduplication: bool, display_name: String, kms_key_id: String, signature_version: String,
    tracing_config: String,
}

impl Tagged for Topic {
    fn id(&self) -> &str {
        &self.topic_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a topic of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(self.topic_name.trim_end_matches(FIFO))
    }
}

impl RemoteObject for Topic {}
