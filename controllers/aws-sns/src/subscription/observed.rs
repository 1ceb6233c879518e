//! The observed subscription, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    resource::{Phase, RemoteObject},
};
use serde_json::{Map, Value, json};

/// In place of the ARN of a subscription that was not confirmed, in a list.
const UNCONFIRMED: &str = "PendingConfirmation";

/// The filter policy that all messages match.
pub(super) const NO_FILTER: &str = "{}";

#[aws_observed]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Subscription {
    pub(super) subscription_arn: String,
    pub(super) topic_arn: String,
    pub(super) protocol: String,
    pub(super) endpoint: String,
    /// Whether its endpoint has to confirm it first.
    #[serde(skip)]
    pub(super) is_unconfirmed: bool,
    /// Read only in deep observations, and therefore not published. None if they were not read.
    #[serde(skip)]
    pub(super) attributes: Option<Attributes>,
    /// From the tags of its topic.
    #[serde(skip)]
    pub(super) tags: Tags,
}

/// What one more call reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attributes {
    /// JSON with sorted keys.
    pub(super) filter_policy: String,
    pub(super) filter_policy_scope: String,
    pub(super) raw_message_delivery: bool,
    /// Empty for none.
    pub(super) dead_letter_target_arn: String,
    pub(super) subscription_role_arn: Option<String>,
}

impl Subscription {
    /// Whether it is one of a list that was not confirmed, which has no ARN there.
    pub(super) fn has_arn(&self) -> bool {
        self.subscription_arn != UNCONFIRMED
    }

    pub(super) fn is_same(&self, protocol: &str, endpoint: &str) -> bool {
        self.protocol == protocol && self.endpoint == endpoint
    }

    /// From AWS's attributes by name; none if they are not those of a subscription.
    pub(super) fn new(texts: &BTreeMap<String, String>, tags: Tags) -> Self {
        let text = |name: &str| texts.get(name).cloned().unwrap_or_default();
        Self {
            subscription_arn: text("SubscriptionArn"),
            topic_arn: text("TopicArn"),
            protocol: text("Protocol"),
            endpoint: text("Endpoint"),
            is_unconfirmed: text("PendingConfirmation") == "true",
            attributes: Some(Attributes::new(texts)),
            tags,
        }
    }

    pub(super) fn filter_policy_scope(&self) -> Option<&String> {
        Some(&self.attributes.as_ref()?.filter_policy_scope)
    }

    pub(super) fn raw_message_delivery(&self) -> Option<&bool> {
        Some(&self.attributes.as_ref()?.raw_message_delivery)
    }

    pub(super) fn dead_letter_target_arn(&self) -> Option<&String> {
        Some(&self.attributes.as_ref()?.dead_letter_target_arn)
    }

    pub(super) fn subscription_role_arn(&self) -> Option<&String> {
        self.attributes.as_ref()?.subscription_role_arn.as_ref()
    }
}

impl Attributes {
    fn new(texts: &BTreeMap<String, String>) -> Self {
        let json = |name: &str| -> Value {
            serde_json::from_str(texts.get(name).map_or("", String::as_str)).unwrap_or_default()
        };
        let scope = texts.get("FilterPolicyScope").map_or("MessageAttributes", String::as_str);
        Self {
            filter_policy: json("FilterPolicy").as_object().map_or_else(|| NO_FILTER.to_owned(), written),
            filter_policy_scope: scope.to_owned(),
            raw_message_delivery: texts.get("RawMessageDelivery").is_some_and(|text| text == "true"),
            dead_letter_target_arn: json("RedrivePolicy")["deadLetterTargetArn"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            subscription_role_arn: texts.get("SubscriptionRoleArn").cloned(),
        }
    }
}

/// A filter policy as text, in which equal ones are equal.
fn written(policy: &Map<String, Value>) -> String {
    let sorted: BTreeMap<&String, &Value> = policy.iter().collect();
    json!(sorted).to_string()
}

impl Tagged for Subscription {
    fn id(&self) -> &str {
        &self.subscription_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Its ARN is that of no other one; but an untagged one is that of others: its owner is a tag of the topic, and is not lost alone.
    fn has_own_id(&self) -> bool {
        false
    }
}

impl RemoteObject for Subscription {
    fn phase(&self) -> Phase {
        if self.is_unconfirmed {
            return Phase::Pending("not confirmed by its endpoint".to_owned());
        }
        Phase::Available
    }
}
