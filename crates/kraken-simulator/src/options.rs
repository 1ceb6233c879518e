//! The options of the simulated cloud: times, delays, limits and resources.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use jiff::Timestamp;

use super::kind::mixed;

/// The default region, which moto has too.
pub const REGION: &str = "us-east-1";
const ACCOUNT: &str = "123456789012";

/// The behaviour of a [`super::Simulator`]. All of it but `listen` can be changed while it runs.
#[derive(Debug, Clone)]
pub struct SimulatorOptions {
    /// The address on which it listens. Default: a free loopback port.
    pub listen: SocketAddr,
    /// The account that the credentials belong to. Default: 123456789012.
    pub account: String,
    /// The region. Default: us-east-1.
    pub region: String,
    /// The seed of ids, together with the account and the region: ids of two accounts never collide. Default: 0.
    pub seed: u64,
    /// The wall-clock time at its start, which then follows the clock of tokio. Default: now.
    pub epoch: Option<Timestamp>,
    /// The minimum duration of every response. Default: none.
    pub latency: Duration,
    /// From `pending` to `running`, after a launch and after a start. Default: 50 ms.
    pub pending: Duration,
    /// From `stopping` to `stopped`. Default: 50 ms.
    pub stopping: Duration,
    /// From `shutting-down` to `terminated`. Default: 50 ms.
    pub shutting_down: Duration,
    /// How long a new load balancer is `provisioning`. Default: 50 ms.
    pub provisioning: Duration,
    /// How long the interfaces of a deleted load balancer exist and block the deletion of its subnets and security
    /// groups. Default: 50 ms.
    pub releasing: Duration,
    /// How long a registered target is `initial`. Default: 50 ms.
    pub target_initial: Duration,
    /// How long a deregistered target is `draining`. Default: 50 ms.
    pub draining: Duration,
    /// How long a NAT gateway is `pending`. Default: 50 ms.
    pub nat_pending: Duration,
    /// How long a NAT gateway is `deleting`. Default: 50 ms.
    pub nat_deleting: Duration,
    /// How long a volume is `creating`, and `modifying`. Default: 50 ms.
    pub volume_creating: Duration,
    /// How long a volume is `attaching`, and `detaching`. Default: 50 ms.
    pub volume_attaching: Duration,
    /// How long a terminated instance or deleted NAT gateway is still described, in AWS about an hour. Default: 10 s.
    pub terminated_visible: Duration,
    /// How long it takes until Describe calls return all objects that a call created. The instances of one launch
    /// appear one by one, the last of them first. Default: none.
    pub describe_lag: Duration,
    /// How long a new instance is unknown to calls that change it. Default: none.
    pub change_lag: Duration,
    /// How long Describe calls return the former values of changed tags. Default: none.
    pub tag_lag: Duration,
    /// The maximum page size, regardless of the request. Default: 1000.
    pub page_size: usize,
    /// The existing images; `None` (the default) accepts every well-formed id.
    pub images: Option<BTreeSet<String>>,
    /// Whether a launch with a missing subnet, security group or key pair is rejected. Default: no, every well-formed
    /// id is accepted.
    pub strict_network: bool,
    /// The maximum number of live instances; a launch gets the remaining capacity. Default: no limit.
    pub capacity: Option<usize>,
    /// The maximum number of instances per launch, regardless of its `MaxCount`; fewer than its `MinCount` is an error.
    /// Default: no limit.
    pub per_launch: Option<usize>,
    /// The existing instance types; `None` (the default) accepts every well-formed name.
    pub instance_types: Option<BTreeSet<String>>,
    /// Token buckets by action; `*` applies to each action without its own. Default: none, no call is throttled.
    pub limits: BTreeMap<String, Limit>,
}

impl SimulatorOptions {
    /// The region and the account, as they are in an ARN.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.region, self.account)
    }

    /// The first number of objects, from which ids are derived.
    pub(super) fn base(&self) -> u64 {
        if self.seed == 0 && self.region == REGION && self.account == ACCOUNT {
            return 0;
        }
        let place = self.place();
        let mixed = place.bytes().fold(mixed(self.seed), |hash, byte| mixed(hash ^ u64::from(byte)));
        // Values that use only the last digits, such as addresses, still count from 1.
        (mixed >> 33) << 32
    }
}

/// A token bucket: each call takes one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The size of the bucket.
    pub burst: f64,
    /// The tokens per second.
    pub per_second: f64,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        let short = Duration::from_millis(50);
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            account: ACCOUNT.to_owned(),
            region: REGION.to_owned(),
            seed: 0,
            epoch: None,
            latency: Duration::ZERO,
            pending: short,
            stopping: short,
            shutting_down: short,
            nat_pending: short,
            nat_deleting: short,
            volume_creating: short,
            volume_attaching: short,
            provisioning: short,
            releasing: short,
            target_initial: short,
            draining: short,
            terminated_visible: Duration::from_secs(10),
            describe_lag: Duration::ZERO,
            change_lag: Duration::ZERO,
            tag_lag: Duration::ZERO,
            page_size: 1000,
            images: None,
            strict_network: false,
            capacity: None,
            per_launch: None,
            instance_types: None,
            limits: BTreeMap::new(),
        }
    }
}
