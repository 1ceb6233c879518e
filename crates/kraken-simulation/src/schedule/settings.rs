//! How the controllers are started and how slow the cloud is: small figures, so that intervals and windows of hours
//! meet within minutes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::millis;
use super::names::{Controller, Suite};

/// Flags of the controllers, and times of the cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Which controllers run.
    #[serde(skip_serializing_if = "is_aws")]
    pub suite: Suite,
    /// `--resync-interval`
    #[serde(with = "millis")]
    pub resync_interval: Duration,
    /// `--deep-resync-interval`
    #[serde(with = "millis")]
    pub deep_resync_interval: Duration,
    /// `--visibility-window`; always longer than `describe_lag`.
    #[serde(with = "millis")]
    pub visibility_window: Duration,
    /// `--launch-limit`
    pub launch_limit: u32,
    /// `--launch-window`
    #[serde(with = "millis")]
    pub launch_window: Duration,
    /// `--replace-timeout`
    #[serde(with = "millis")]
    pub replace_timeout: Duration,
    /// `--vanished-minimum`
    pub vanished_minimum: u32,
    /// `--orphan-interval`
    #[serde(with = "millis")]
    pub orphan_interval: Duration,
    /// `--remove-orphans`
    pub remove_orphans: bool,
    /// `--lease-duration`
    #[serde(with = "millis")]
    pub lease_duration: Duration,
    /// `--concurrency`
    pub concurrency: u32,
    /// How long a call to the API server takes.
    #[serde(with = "millis")]
    pub kube_latency: Duration,
    /// How long a call to the cloud takes.
    #[serde(with = "millis")]
    pub cloud_latency: Duration,
    /// The delays of new objects, launches and changes in the cloud's responses.
    #[serde(with = "millis")]
    pub describe_lag: Duration,
    /// How long a new instance is unknown to calls that change it.
    #[serde(with = "millis")]
    pub change_lag: Duration,
    /// How long changed tags are described as they were.
    #[serde(with = "millis")]
    pub tag_lag: Duration,
    /// The duration of the cloud's transitional states: pending, stopping, provisioning, ...
    #[serde(with = "millis")]
    pub transition: Duration,
    /// How long the terminated are still described.
    #[serde(with = "millis")]
    pub terminated_visible: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_aws(suite: &Suite) -> bool {
    *suite == Suite::Aws
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            suite: Suite::Aws,
            resync_interval: seconds(60),
            deep_resync_interval: seconds(180),
            visibility_window: seconds(20),
            launch_limit: 10,
            launch_window: seconds(600),
            replace_timeout: seconds(30),
            vanished_minimum: 5,
            orphan_interval: seconds(300),
            remove_orphans: false,
            lease_duration: seconds(15),
            concurrency: 32,
            kube_latency: Duration::from_millis(2),
            cloud_latency: Duration::from_millis(20),
            describe_lag: Duration::ZERO,
            change_lag: Duration::ZERO,
            tag_lag: Duration::ZERO,
            transition: seconds(1),
            terminated_visible: seconds(120),
        }
    }
}

impl Settings {
    /// Whether the cloud shows everything well within the visibility window, which is its definition: otherwise a second object is no
    /// violation.
    pub(crate) fn is_visible_in_time(&self) -> bool {
        let lags = [self.describe_lag, self.change_lag, self.tag_lag];
        lags.into_iter().all(|lag| lag <= self.visibility_window / 2)
    }

    /// The time within which a resync has observed every change in the cloud. One resync may still read the former tags.
    pub(crate) fn observed_after(&self) -> Duration {
        self.tag_lag + self.resync_interval
    }

    /// The time within which a deep resync has observed every change in the cloud: the first resync after it is due.
    pub(crate) fn deeply_observed_after(&self) -> Duration {
        self.deep_resync_interval + self.resync_interval + self.observed_after()
    }

    /// The time within which a controller that starts has become the leader and has begun its first orphan sweep.
    pub(crate) fn swept_after(&self) -> Duration {
        self.lease_duration + self.visibility_window.min(self.orphan_interval)
    }

    /// The flags of a controller's `run` that these settings are about; region, lease namespace and the like are added by
    /// who starts it.
    pub fn flags(&self, controller: Controller) -> Vec<String> {
        let text = |duration: Duration| format!("{}ms", duration.as_millis());
        let mut flags = vec![
            ("--resync-interval", text(self.resync_interval)),
            ("--lease-duration", format!("{}s", self.lease_duration.as_secs())),
            ("--concurrency", self.concurrency.to_string()),
        ];
        if controller.is_spoke() {
            flags.extend([
                ("--deep-resync-interval", text(self.deep_resync_interval)),
                ("--visibility-window", text(self.visibility_window)),
                ("--launch-limit", self.launch_limit.to_string()),
                ("--launch-window", text(self.launch_window)),
                ("--replace-timeout", text(self.replace_timeout)),
                ("--vanished-minimum", self.vanished_minimum.to_string()),
                ("--orphan-interval", text(self.orphan_interval)),
                ("--remove-orphans", self.remove_orphans.to_string()),
            ]);
        }
        // `--flag=value`, as some take a value only so.
        flags.into_iter().map(|(flag, value)| format!("{flag}={value}")).collect()
    }
}
