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
    /// How many launches one resource may make within --launch-window for the same spec: then it is stopped until its spec is
    /// edited or a person confirms; 0 turns it off
    #[arg(long, env = "KRAKEN_LAUNCH_LIMIT", value_name = "NUMBER", default_value_t = 10)]
    pub launch_limit: usize,

    /// The time that --launch-limit is about
    #[arg(long, env = "KRAKEN_LAUNCH_WINDOW", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub launch_window: Duration,

    /// The share of a kind's resources, in percent, that may lose what they manage at once: of more, nothing is created again
    /// until a person confirms; 100 turns it off
    #[arg(long, env = "KRAKEN_VANISHED_SHARE", value_name = "PERCENT", default_value_t = 20)]
    pub vanished_share: usize,

    /// How many resources at least have to be concerned for --vanished-share
    #[arg(long, env = "KRAKEN_VANISHED_MINIMUM", value_name = "NUMBER", default_value_t = 5)]
    pub vanished_minimum: usize,

    /// The sweep for things that no resource owns.
    #[command(flatten)]
    pub orphans: OrphanArgs,
}

impl Default for LoopArgs {
    /// The defaults of the flags, whatever the environment says.
    fn default() -> Self {
        Self {
            visibility_window: Duration::from_secs(90),
            deep_resync_interval: Duration::from_hours(1),
            launch_limit: 10,
            launch_window: Duration::from_mins(10),
            vanished_share: 20,
            vanished_minimum: 5,
            orphans: OrphanArgs::default(),
        }
    }
}

/// A duration such as `90s`; `0` is one.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
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
