//! The flags that every spoke has in addition to those of every controller.

use std::time::Duration;

use kraken_api::interval;

/// Flags of the loop.
#[derive(Clone, Debug, clap::Args)]
pub struct LoopArgs {
    /// How long a new remote object may be missing from responses: during this time no object is created a second time,
    /// and no missing object is treated as deleted, if the provider does not distinguish the two cases. AWS documents
    /// no bound; seconds are usual, minutes have been observed
    #[arg(long, env = "KRAKEN_VISIBILITY_WINDOW", value_name = "DURATION", default_value = "90s", value_parser = duration)]
    pub visibility_window: Duration,

    /// How often drift is checked in fields that need one call per resource, such as user data or attributes of a VPC;
    /// the checks of the resources are spread evenly over the interval. 0 disables them
    #[arg(long, env = "KRAKEN_DEEP_RESYNC_INTERVAL", value_name = "DURATION", default_value = "1h", value_parser = duration)]
    pub deep_resync_interval: Duration,
    /// The maximum number of launches of one resource within --launch-window for the same spec: beyond it no launch is
    /// made until the spec is edited or a person confirms; 0 disables the limit
    #[arg(long, env = "KRAKEN_LAUNCH_LIMIT", value_name = "NUMBER", default_value_t = 10)]
    pub launch_limit: usize,

    /// The time window of --launch-limit
    #[arg(long, env = "KRAKEN_LAUNCH_WINDOW", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub launch_window: Duration,

    /// How long a replaced object is kept at most until every dependent is in place with its successor, with
    /// lifecycle.replace: CreateFirst. It begins when the successor is published, and again when the controller restarts. 0
    /// waits for no dependent
    #[arg(long, env = "KRAKEN_REPLACE_TIMEOUT", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub replace_timeout: Duration,

    /// The share of a kind's resources, in percent, whose remote objects may vanish at the same time: beyond it,
    /// nothing is recreated until a person confirms; 100 disables the limit
    #[arg(long, env = "KRAKEN_VANISHED_SHARE", value_name = "PERCENT", default_value_t = 20)]
    pub vanished_share: usize,

    /// The minimum number of resources with vanished objects for --vanished-share to apply
    #[arg(long, env = "KRAKEN_VANISHED_MINIMUM", value_name = "NUMBER", default_value_t = 5)]
    pub vanished_minimum: usize,

    /// The flags of the orphan sweep.
    #[command(flatten)]
    pub orphans: OrphanArgs,
}

impl Default for LoopArgs {
    /// The defaults of the flags, regardless of the environment.
    fn default() -> Self {
        Self {
            visibility_window: Duration::from_secs(90),
            deep_resync_interval: Duration::from_hours(1),
            launch_limit: 10,
            launch_window: Duration::from_mins(10),
            replace_timeout: Duration::from_mins(10),
            vanished_share: 20,
            vanished_minimum: 5,
            orphans: OrphanArgs::default(),
        }
    }
}

/// Flags of the orphan sweep.
#[derive(Clone, Debug, clap::Args)]
pub struct OrphanArgs {
    /// The interval of the sweep for remote objects that no resource owns; 0 disables it
    #[arg(long, env = "KRAKEN_ORPHAN_INTERVAL", value_name = "DURATION", default_value = "1h", value_parser = duration)]
    pub orphan_interval: Duration,

    /// Delete orphans that two consecutive sweeps found, instead of only reporting them
    #[arg(long, env = "KRAKEN_REMOVE_ORPHANS", default_value_t = false, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub remove_orphans: bool,

    /// The maximum number of resources whose orphans one sweep may delete
    #[arg(long, env = "KRAKEN_ORPHAN_LIMIT", value_name = "NUMBER", default_value_t = 10)]
    pub orphan_limit: usize,
}

impl Default for OrphanArgs {
    /// The defaults of the flags, regardless of the environment.
    fn default() -> Self {
        Self { orphan_interval: Duration::from_hours(1), remove_orphans: false, orphan_limit: 10 }
    }
}

/// Parses a duration such as `90s`; `0` is valid.
fn duration(text: &str) -> Result<Duration, String> {
    interval::parse(text).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: LoopArgs,
    }

    #[test]
    fn defaults_in_code_equal_those_of_the_flags() {
        assert_eq!(format!("{:?}", LoopArgs::default()), format!("{:?}", Cli::parse_from(["x"]).args));
    }
}
