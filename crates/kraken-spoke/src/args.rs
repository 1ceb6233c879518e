//! The flags that every spoke has beside those of every controller.

use std::time::Duration;

use kraken_api::interval;

use crate::orphans::OrphanArgs;

/// Flags of the loop.
#[derive(Clone, Debug, clap::Args)]
pub struct LoopArgs {
    /// How long the cloud may take to show what it has just created: so long nothing is created a second time, and nothing
    /// is taken for gone, where the cloud cannot tell. AWS gives no bound; seconds are usual, minutes have been seen
    #[arg(long, env = "KRAKEN_VISIBILITY_WINDOW", value_name = "DURATION", default_value = "90s", value_parser = duration)]
    pub visibility_window: Duration,

    /// How often drift is looked for in fields that cost a call per resource to read, such as user data or attributes of a
    /// VPC; each resource has its own turn, so that the calls are spread evenly. 0 turns it off
    #[arg(long, env = "KRAKEN_DEEP_RESYNC_INTERVAL", value_name = "DURATION", default_value = "1h", value_parser = duration)]
    pub deep_resync_interval: Duration,

    /// The sweep for things that no resource owns.
    #[command(flatten)]
    pub orphans: OrphanArgs,
}

/// A duration such as `90s`; `0` is one.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    interval::parse(text).map(Option::unwrap_or_default)
}
