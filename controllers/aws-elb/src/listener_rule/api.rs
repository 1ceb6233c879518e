//! ListenerRule, the API type.

use kraken_aws::{
    aws_group, aws_kind,
    bounds::{Bound, Pattern},
    cidr,
    rules::{ValidationError, ValidationResult, ensure},
};
use kraken_kind::{
    Opt,
    options::{ListOpt, Public},
};
use serde_json::Value;

use super::observed::Rule;
use crate::{action::ActionSpec, rules};

/// A rule of a listener: the action for requests that match all of its conditions.
#[aws_kind(
    kind = "ListenerRule",
    plural = "listenerrules",
    shortname = "lsr",
    doc = "A rule of a listener of an application load balancer: the action for requests that match all of its conditions. Its main id is its RuleArn.",
    noun = "rule",
    state = "rule",
    observed = Rule,
    summary("Priority" = "Priority"),
    whole(
        "conditions.hostHeaders",
        "conditions.pathPatterns",
        "conditions.httpHeaders",
        "conditions.methods",
        "conditions.queryStrings",
        "conditions.sourceIPs",
        "action.forward.targetGroups",
    )
)]
pub(crate) struct ListenerRuleSpec {
    /// The listener of the rule. Immutable. Example: `{valueFrom: {ref: Listener/web}}`
    #[field("listenerARN", rule = rules::LISTENER_ARN, fixed)]
    pub(crate) listener_arn: Public<Opt<String>>,

    /// The priority, 1 to 50000, unique in the listener. The rule with the lowest number is evaluated first. Changed in
    /// place. Example: `{value: 10}`
    #[field(
        "priority",
        rule = rules::PRIORITY,
        change = Priority,
        compare = Self::compare_priority,
        import = Self::import_priority,
        published("Priority")
    )]
    pub(crate) priority: Opt<i32>,

    /// The conditions that a request must match, at least one, with at most 5 values in total. A request must match all of
    /// them. Changed in place, as a whole. Example: `{pathPatterns: {value: [/api/*]}}`
    #[field(
        "conditions",
        group,
        parts,
        change = Conditions,
        observed = known_conditions(),
        import = Self::import_conditions,
        published("Conditions")
    )]
    pub(crate) conditions: ConditionsSpec,

    /// The action for matching requests: exactly one of `forward`, `redirect` and `fixedResponse`. Changed in place, as a
    /// whole; fields that are not set have AWS's defaults. Example:
    /// `{forward: {targetGroupARN: {valueFrom: {ref: TargetGroup/api}}}}`
    #[field(
        "action",
        group,
        parts,
        change = Action,
        observed = action(),
        import = Self::import_action,
        published("Actions")
    )]
    pub(crate) action: ActionSpec,
}

/// The maximum number of values in all conditions of a rule.
pub(super) const MAX_VALUES: usize = 5;
/// A value of a condition.
static VALUE: Pattern = Pattern::new(
    "^[ -~]*[!-~][ -~]*$",
    128,
    "must have 1 to 128 printable ASCII characters, not only spaces",
);
static HOST: Pattern = Pattern::new(
    r"^[a-zA-Z0-9.*?-]*\.[a-zA-Z0-9.*?-]*$",
    128,
    "must be a host name of up to 128 characters, such as *.example.com",
);
static METHOD: Pattern = Pattern::new("^[A-Z_-]+$", 40, "must be a method in capital letters, such as GET");
/// The name of a header. That it is not `Host` is validated separately.
static HEADER: Pattern = Pattern::new(
    r"^[a-zA-Z0-9!#$%&'+.^_`|~*?-]+$",
    40,
    "must be the name of a header, of up to 40 characters",
);
static BLOCK: Pattern = Pattern::new(r"^[0-9A-Fa-f:.]+/[0-9]{1,3}$", 49, "must be a CIDR block");

/// An IPv4 or IPv6 block.
struct Block;

impl Bound for Block {
    type Of = str;

    fn schema(&self) -> Value {
        BLOCK.schema()
    }

    fn validate(&self, block: &str) -> ValidationResult<ValidationError> {
        if block.contains(':') { cidr::v6(block) } else { cidr::v4(block) }
    }
}

fn a_header(name: &str) -> ValidationResult {
    HEADER.check(name)?;
    ensure(!name.eq_ignore_ascii_case("host"), || "must not be Host: use hostHeaders".to_owned())
}

/// The conditions that a request must match. One matching value per list is sufficient, except in `httpHeaders`.
#[aws_group(rules = Self::have_values)]
#[schemars(extend("minProperties" = 1))]
pub(crate) struct ConditionsSpec {
    /// Host names, case-insensitive, up to 128 characters each; `*` matches any number of characters and `?` matches one.
    /// Default: any host. Example: `{value: [shop.example.com, "*.shop.example.com"]}`
    #[field("hostHeaders", rule = HOST, items(1, MAX_VALUES))]
    pub(crate) host_headers: Option<ListOpt<String>>,

    /// Paths, case-sensitive, up to 128 characters each; `*` and `?` are wildcards as in host names. Default: any path.
    /// Example: `{value: [/api/*]}`
    #[field("pathPatterns", rule = VALUE, items(1, MAX_VALUES))]
    pub(crate) path_patterns: Option<ListOpt<String>>,

    /// Request methods, in upper case, up to 40 characters each. Default: any method. Example: `{value: [GET, HEAD]}`
    #[field("methods", rule = METHOD, items(1, MAX_VALUES))]
    pub(crate) methods: Option<ListOpt<String>>,

    /// Source addresses, as IPv4 or IPv6 CIDR blocks. Default: any address. Example: `{value: [10.0.0.0/8]}`
    #[field("sourceIPs", rule = Block, items(1, MAX_VALUES))]
    pub(crate) source_ips: Option<ListOpt<String>>,

    /// Headers that a request must have, all of them. Default: any headers. Example:
    /// `[{name: {value: X-Stage}, values: {value: [beta]}}]`
    #[schemars(length(min = 1, max = 5))]
    #[field("httpHeaders", group)]
    pub(crate) http_headers: Option<Vec<HttpHeader>>,

    /// Query parameters. One matching parameter is sufficient. Default: any query. Example:
    /// `[{key: {value: version}, value: {value: v2}}]`
    #[schemars(length(min = 1, max = 5))]
    #[field("queryStrings", group)]
    pub(crate) query_strings: Option<Vec<QueryString>>,
}

/// A header that a request must have.
#[aws_group(rules = Self::has_values)]
pub(crate) struct HttpHeader {
    /// The header name, case-insensitive, up to 40 characters. For `Host`, use `hostHeaders`. Example:
    /// `{value: X-Stage}`
    #[field("name", rule = HEADER, check = a_header)]
    pub(crate) name: Opt<String>,

    /// The header values, case-insensitive, up to 128 characters each; `*` and `?` are wildcards as in host names. One
    /// matching value is sufficient. Example: `{value: [beta]}`
    #[field("values", rule = VALUE, items(1, MAX_VALUES))]
    pub(crate) values: ListOpt<String>,
}

/// A query parameter.
#[aws_group]
pub(crate) struct QueryString {
    /// The key, case-insensitive, up to 128 characters; `*` and `?` are wildcards as in host names. Default: any key.
    /// Example: `{value: version}`
    #[field("key", rule = VALUE)]
    pub(crate) key: Option<Opt<String>>,

    /// The value, case-insensitive, up to 128 characters; `*` and `?` are wildcards as in host names. Example:
    /// `{value: v2}`
    #[field("value", rule = VALUE)]
    pub(crate) value: Opt<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
        assert_round_trips::<ListenerRuleSpec>(&json!({
            "listenerARN": {"value": "arn:1"},
            "priority": {"value": 10},
            "conditions": {
                "hostHeaders": {"value": ["a.example"]}, "pathPatterns": {"value": ["/a"]},
                "httpHeaders": [{"name": {"value": "X-A"}, "values": {"value": ["b"]}}],
                "methods": {"value": ["GET"]},
                "queryStrings": [{"key": {"value": "k"}, "value": {"value": "v"}}],
                "sourceIPs": {"value": ["10.0.0.0/8"]},
            },
            "action": {"fixedResponse": {"statusCode": {"value": 503}}},
            "tags": {"Name": "web"},
        }));
    }
}
