//! HostedZone, the API type.

use kraken_aws::{aws_kind, bounds::Pattern};
use kraken_kind::{Opt, options::Public};

use crate::names::ZONE_NAME;

static COMMENT: Pattern = Pattern::new(r"(?s)^.*$", 256, "must have up to 256 characters");

/// A public hosted zone of Route 53: the records of a domain.
#[aws_kind(
    kind = "HostedZone",
    plural = "hostedzones",
    shortname = "hz",
    doc = "A public hosted zone of Route 53: the records of a domain. Its main id is its Id.",
    noun = "hosted zone",
    state = "hostedZone",
    tag_name = "web",
    observed = super::observed::Zone,
    summary("Domain" = "Name")
)]
pub(crate) struct HostedZoneSpec {
    /// The domain name, 1 to 254 characters. It is not unique: the registrar of the domain refers to the name servers of one zone. Immutable.
    /// Example: `{value: example.com}`
    #[field("name", rule = ZONE_NAME, fixed, compare = Self::compare_name, import = Self::import_name, published("Name"))]
    pub(crate) name: Public<Opt<String>>,

    /// A comment, up to 256 characters. Changed in place; an empty one removes it. Default: none; an existing one is not managed. Example:
    /// `{value: the shop}`
    #[field(
        "comment",
        rule = COMMENT,
        change = Comment,
        compare = Self::compare_comment,
        import = Self::import_comment,
        published("Config")
    )]
    pub(crate) comment: Option<Opt<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
        assert_round_trips::<HostedZoneSpec>(&json!({
            "name": {"value": "example.com"}, "comment": {"value": "the shop"}, "tags": {"Name": "web"},
        }));
    }
}
