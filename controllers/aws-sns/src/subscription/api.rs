//! Subscription, the API type.

use std::collections::BTreeMap;

use kraken_aws::{
    aws_kind,
    bounds::{Bytes, Pattern, Words},
    words,
};
use kraken_kind::{Opt, options::Public};
use serde_json::Value;

use super::observed::Subscription as Observed;

static TOPIC: Pattern =
    Pattern::new("^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[a-zA-Z0-9_.-]+$", 512, "must be the ARN of a topic");
static QUEUE: Pattern = Pattern::new(
    "^$|^arn:[a-z-]+:sqs:[a-z0-9-]+:[0-9]{12}:[a-zA-Z0-9_.-]+$",
    256,
    "must be the ARN of a queue, or empty for none",
);
static ROLE: Pattern =
    Pattern::new("^arn:[a-z-]+:iam::[0-9]{12}:role/[!-~]+$", 2_048, "must be the ARN of a role");
const ENDPOINT: Bytes = Bytes(2_048);
const SCOPE: Words = Words(&["MessageAttributes", "MessageBody"]);

words!(
    /// How messages are delivered.
    Protocol {
        Sqs = "sqs", Lambda = "lambda", Firehose = "firehose", Application = "application", Sms = "sms",
        Email = "email", EmailJson = "email-json", Http = "http", Https = "https",
    }
);

/// A subscription of a topic of SNS.
#[aws_kind(
    kind = "Subscription",
    plural = "subscriptions",
    shortname = "snssub",
    doc = "A subscription of a topic of SNS: where its messages are delivered. Its main id is its SubscriptionArn.",
    noun = "subscription",
    state = "subscription",
    untagged,
    observed = Observed,
    summary("Protocol" = "Protocol", "Endpoint" = "Endpoint"),
    whole("filterPolicy"),
    rules = Self::between_fields
)]
pub(crate) struct SubscriptionSpec {
    /// The topic, by ARN. Immutable. Example: `{valueFrom: {ref: Topic/orders}}`
    #[field("topicARN", rule = TOPIC, fixed, observed = &topic_arn, published("TopicArn"))]
    pub(crate) topic_arn: Public<Opt<String>>,

    /// How messages are delivered: `sqs`, `lambda`, `firehose`, `application`, `sms`, `email`, `email-json`, `http` or `https`. Immutable.
    /// Example: `{value: sqs}`
    #[field("protocol", fixed, observed = &protocol)]
    pub(crate) protocol: Opt<Protocol>,

    /// Where messages are delivered, up to 2048 bytes: the ARN of a queue, a function, a delivery stream or a platform endpoint, a phone
    /// number, an email address or a URL, as the protocol says. A topic has one subscription for each protocol and endpoint. Immutable.
    /// Example: `{valueFrom: {ref: Queue/orders}}`
    #[field("endpoint", rule = ENDPOINT, fixed, observed = &endpoint)]
    pub(crate) endpoint: Opt<String>,

    /// Which messages are delivered, as an object in the syntax of SNS; an empty object for all. Changed in place; AWS takes up to 15 minutes
    /// to apply it. Observed after an edit and at deep resyncs, and compared as JSON. Default: AWS's default (all); an existing policy is not
    /// managed. Example: `{value: {event: [created, {prefix: paid-}]}}`
    #[field("filterPolicy", change = Filter, compare = Self::compare_filter, import = Self::import_filter, deep, published(), none_if_unset)]
    pub(crate) filter_policy: Option<Opt<BTreeMap<String, Value>>>,

    /// What `filterPolicy` is compared with: `MessageAttributes` or `MessageBody`. Changed in place. Observed after an edit and at deep
    /// resyncs. Default: AWS's default (`MessageAttributes`). Example: `{value: MessageBody}`
    #[field("filterPolicyScope", rule = SCOPE, change = Filter, observed = filter_policy_scope(), deep, unless = "MessageAttributes", published())]
    pub(crate) filter_policy_scope: Option<Opt<String>>,

    /// Whether queues, delivery streams and URLs get messages without the metadata of SNS. Changed in place. Observed after an edit and at deep
    /// resyncs. Default: AWS's default (false). Example: `{value: true}`
    #[field("rawMessageDelivery", change = RawDelivery, observed = raw_message_delivery(), deep, unless = false, published())]
    pub(crate) raw_message_delivery: Option<Opt<bool>>,

    /// The queue for messages that could not be delivered, by ARN; an empty text for none. Changed in place. Observed after an edit and at deep
    /// resyncs. Default: none; an existing queue is not managed. Example: `{valueFrom: {ref: Queue/undelivered}}`
    #[field("deadLetterTargetARN", rule = QUEUE, change = Redrive, observed = dead_letter_target_arn(), deep, unless = "", published(), none_if_unset)]
    pub(crate) dead_letter_target_arn: Option<Opt<String>>,

    /// The role with which SNS writes to a delivery stream, by ARN. Required for `firehose`, and only for it. Changed in place. Observed after
    /// an edit and at deep resyncs. Default: none. Example: `{valueFrom: {ref: Role/delivery}}`
    #[field("subscriptionRoleARN", rule = ROLE, change = Role, observed = subscription_role_arn(), deep, published(), none_if_unset)]
    pub(crate) subscription_role_arn: Option<Opt<String>>,
}
