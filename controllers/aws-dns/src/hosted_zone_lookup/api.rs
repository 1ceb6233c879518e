//! HostedZoneLookup, the API type.

use kraken_aws::{aws_lookup, rules::any};
use kraken_kind::{Opt, options::Public};

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
