//! HostedZoneLookup, the API type.

use kraken_aws::{aws_lookup, rules::ValidationResult};
use kraken_spoke::{Opt, options::Public};

use crate::{hosted_zone::Zone, names::ZONE_NAME};

/// An existing hosted zone.
#[aws_lookup(
    kind = "HostedZoneLookup",
    plural = "hostedzonelookups",
    doc = "An existing hosted zone of Route 53, which is looked up and not managed. Its main id is its Id.",
    noun = "hosted zone",
    state = "hostedZone",
    observed = Zone,
    summary("Name" = "Name")
)]
pub(crate) struct HostedZoneLookupSpec {
    /// The domain name of the zone, exactly, up to 254 characters. Example: `{value: example.com}`
    #[field("name", rule = ZONE_NAME)]
    pub(crate) name: Public<Opt<String>>,

    /// Whether it is a private zone, for the names inside of VPCs. Default: false. Example: `{value: true}`
    #[field("isPrivate", check = any)]
    pub(crate) is_private: Option<Public<Opt<bool>>>,
}

/// Both values are valid.
#[expect(clippy::trivially_copy_pass_by_ref, clippy::unnecessary_wraps, reason = "the type of all rules")]
fn any(_: &bool) -> ValidationResult {
    Ok(())
}
