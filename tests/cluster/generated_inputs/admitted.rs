//! Why generated inputs are admitted.

use std::collections::BTreeSet;

use super::generator::Input;

/// Why an input is admitted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Admitted {
    /// It is valid.
    Valid(&'static str),
    /// Only the cloud or another object shows that it is invalid.
    Later(&'static str),
}

use Admitted::{Later, Valid};

const ANY_TEXT: Admitted = Valid("any text is allowed");
const INTERNAL: Admitted = Valid("only the controllers write it, and what they write is checked before");
const SEARCH: Admitted = Later("a search for it finds nothing, and the condition says what was searched for");
const TAG: Admitted = Later("each service of AWS allows other characters in tags, and EC2 allows all");

/// The kind, the path, the change, and the reason; a leading `*` stands for any text. The first that fits applies.
const REASONS: &[(&str, &str, &str, Admitted)] = &[
    ("*", "*", "absent", Valid("the field is optional")),
    ("*", "*", "null", Valid("the same as absent: the API server removes it or sets the default")),
    ("*", "*", "empty list", Valid("the list can be empty")),
    ("*", "*", "empty object", Valid("all fields of the object are optional")),
    ("*", "*", "duplicate item", Valid("a duplicate has no effect")),
    ("DependencyRequest", "*", "*", INTERNAL),
    ("ImportRequest", "*", "*", Later("the spoke answers what is wrong with the question")),
    ("*Lookup", "spec.tags.Team", "*", SEARCH),
    ("ImageLookup", "spec.name.value", "*", SEARCH),
    ("StateDeclaration", "spec.data", "*", Valid("a state is any JSON")),
    ("StateDeclaration", "*", "*", INTERNAL),
    ("ConfigExport", "*.value", "*", Valid("a literal is any JSON")),
    ("ConfigExport", "*.annotations.team", "*", ANY_TEXT),
    ("ConfigExport", "*.labels.team", "empty text", Valid("the value of a label can be empty")),
    ("*", "*.krakenResource.path", "odd text", Valid("the name of a field is any text")),
    ("*", "*.share.include[0]", "odd text", Valid("the name of a field is any text")),
    ("*", "*.templateString", "*", Valid("a template without references is its text")),
    ("*", "*.tags.Name", "empty text", Valid("the value of a tag can be empty")),
    ("Account", "*Tags.Team", "empty text", Valid("the value of a tag can be empty")),
    ("Account", "*.tags.Team", "empty text", Valid("the value of a tag can be empty")),
    ("*", "*.tags.Name", "*", TAG),
    ("*", "*.tags", "odd key", TAG),
    ("Account", "*Tags.Team", "*", TAG),
    ("Account", "*.tags.Team", "*", TAG),
    ("Account", "*.defaultTags", "odd key", TAG),
    ("EC2Instance", "spec.iamInstanceProfile.value", "empty text", Valid("it removes the profile")),
    ("EC2Instance", "spec.userData.value", "*", ANY_TEXT),
    ("LaunchTemplate", "spec.iamInstanceProfile.value", "empty text", Valid("new versions have no profile")),
    ("LaunchTemplate", "spec.userData.value", "*", ANY_TEXT),
    (
        "AutoScalingGroup",
        "spec.launchTemplateVersion.value",
        "*",
        Later("AWS says that the template has no such version"),
    ),
    ("ScalingPolicy", "spec.targetValue.value", "*", Valid("any number above zero is a target")),
    ("Alarm", "spec.threshold.value", "*", Valid("any number is a threshold")),
    ("Alarm", "spec.description.value", "*", ANY_TEXT),
    ("Alarm", "spec.namespace.value", "odd text", Later("AWS knows the characters of namespaces")),
    ("Role", "spec.description.value", "*", ANY_TEXT),
    ("Policy", "spec.description.value", "*", ANY_TEXT),
    ("HostedZone", "spec.comment.value", "*", ANY_TEXT),
    ("Role", "spec.permissionsBoundary.value", "empty text", Valid("it removes the boundary")),
    ("Role", "*.values.value[0]", "*", ANY_TEXT),
    ("Policy", "*.values.value[0]", "*", ANY_TEXT),
    ("Bucket", "*.prefix.value", "*", Valid("the beginning of a name is any text")),
    ("Bucket", "*.id.value", "*", ANY_TEXT),
    ("Bucket", "*.values.value[0]", "*", ANY_TEXT),
    ("Queue", "*.deadLetterTargetARN.value", "empty text", Valid("it removes the redrive policy")),
    ("Queue", "*.values.value[0]", "*", ANY_TEXT),
    ("VPCEndpoint", "*.values.value[0]", "*", ANY_TEXT),
    ("NetworkACL", "*.protocol.value", "below the minimum", Valid("-1 is all protocols")),
    ("Repository", "spec.lifecyclePolicy.value", "*", Later("AWS knows the syntax of lifecycle policies")),
    ("Repository", "*.value.rules", "*", Later("AWS knows the syntax of lifecycle policies")),
    ("Repository", "*.value.rules[0]", "*", Later("AWS knows the syntax of lifecycle policies")),
    ("Repository", "*.value.Statement", "*", Later("AWS knows the syntax of policies")),
    ("Subscription", "spec.filterPolicy.value", "*", Later("AWS knows the syntax of filter policies")),
    ("Subscription", "*.value.event", "*", Later("AWS knows the syntax of filter policies")),
    ("Subscription", "*.value.event[0]", "*", Later("AWS knows the syntax of filter policies")),
    ("Subscription", "*.value.event[1]", "*", Later("AWS knows the syntax of filter policies")),
    ("Topic", "spec.signatureVersion.value", "other case", Valid("a digit has no case")),
    ("LogGroup", "spec.kmsKeyID.value", "empty text", Valid("it removes the key")),
    ("Topic", "spec.kmsKeyID.value", "empty text", Valid("it removes the key")),
    ("Topic", "spec.displayName.value", "*", ANY_TEXT),
    ("Topic", "*.values.value[0]", "*", ANY_TEXT),
    ("Subscription", "spec.deadLetterTargetARN.value", "empty text", Valid("it removes the queue")),
    ("SecretsManagerSecret", "spec.description.value", "*", ANY_TEXT),
    ("SecretsManagerSecret", "*.values.value[0]", "*", ANY_TEXT),
    ("Key", "spec.description.value", "*", ANY_TEXT),
    ("Key", "*.values.value[0]", "*", ANY_TEXT),
    ("DynamoDBTable", "*Key.name.value", "*", Valid("an attribute can have any name")),
    ("DynamoDBTable", "*.nonKeyAttributes.value[0]", "*", Valid("an attribute can have any name")),
    (
        "DynamoDBTable",
        "spec.timeToLiveAttribute.value",
        "*",
        Valid("an attribute can have any name, and an empty text is none"),
    ),
    ("DynamoDBTable", "spec.streamViewType.value", "empty text", Valid("it disables the stream")),
    ("DynamoDBTable", "spec.streamViewType.value", "other case", Valid("the empty text has no case")),
    ("DynamoDBTable", "spec.kmsKeyID.value", "empty text", Valid("it is the key of DynamoDB")),
    ("DynamoDBTable", "*.values.value[0]", "*", ANY_TEXT),
    ("DBSubnetGroup", "spec.description.value", "*", ANY_TEXT),
    ("DBParameterGroup", "spec.description.value", "*", ANY_TEXT),
    ("DBParameterGroup", "*.value.value", "*", Later("AWS knows the values of each parameter")),
    ("*", "*.messageBody.value", "*", ANY_TEXT),
    ("*", "*.query.value", "empty text", Valid("it removes the query")),
    ("*", "*.query.value", "blank", Later("AWS decides how it encodes a query")),
];

/// The rule that explains why an input is admitted.
pub(super) fn why_admitted(input: &Input) -> Option<(usize, Admitted)> {
    let path = input.path.to_string();
    let is = |pattern: &str, text: &str| match pattern.strip_prefix('*') {
        Some(end) => text.ends_with(end),
        None => pattern == text,
    };
    let fits = |(kind, end, change, _): &(&str, &str, &str, Admitted)| {
        is(kind, &input.kind) && is(end, &path) && is(change, input.change)
    };
    REASONS.iter().position(fits).map(|rule| (rule, REASONS[rule].3))
}

/// The reasons that explain no input.
pub(super) fn unused(used: &BTreeSet<usize>) -> Vec<&'static str> {
    let all = REASONS.iter().enumerate().filter(|(rule, _)| !used.contains(rule));
    all.map(|(_, (_, _, _, Valid(why) | Later(why)))| *why).collect()
}
