//! What fails.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Tamper;
use super::millis;
use super::names::{Controller, Remote};

/// What fails. When faults end, all of it is over: processes run once, calls and watches work, the cloud has no lag
/// beyond the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fault {
    /// The process ends at a call, and is started again.
    Crash {
        /// Which process; the leader if there are two.
        controller: Controller,
        /// At which call of it.
        call: CallMatch,
        /// Before or after the call took effect.
        moment: Moment,
        /// How long nothing runs then.
        #[serde(rename = "downMillis", with = "millis")]
        down: Duration,
    },
    /// The process ends now, and is started again.
    Kill {
        /// Which process; the leader if there are two.
        controller: Controller,
        /// How long nothing runs then.
        #[serde(rename = "downMillis", with = "millis")]
        down: Duration,
    },
    /// A second replica is started, and ended after a while.
    Replica {
        /// Of which controller.
        controller: Controller,
        /// How long it runs.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// The leader's process is suspended like by SIGSTOP, while time advances.
    Suspend {
        /// Which controller's.
        controller: Controller,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// The connection closes without a response.
    Lose {
        /// The caller.
        controller: Controller,
        /// Which.
        call: CallMatch,
        /// Before: it has no effect. After: it has.
        moment: Moment,
        /// How many calls in a row.
        times: u32,
    },
    /// The response is delayed.
    Delay {
        /// The caller.
        controller: Controller,
        /// Which.
        call: CallMatch,
        /// By how much.
        #[serde(rename = "byMillis", with = "millis")]
        by: Duration,
        /// How many calls in a row.
        times: u32,
    },
    /// The API server rejects a request with this status code: 409, 410, 429, 500, 503, 504.
    Refuse {
        /// The caller.
        controller: Controller,
        /// Which.
        call: CallMatch,
        /// The status code.
        status: u16,
        /// How many requests in a row.
        times: u32,
    },
    /// The cloud rejects calls of an action with this documented code.
    Fail {
        /// The caller.
        controller: Controller,
        /// Which.
        call: CallMatch,
        /// The error code.
        code: String,
        /// How many calls in a row.
        times: u32,
    },
    /// All watches of a controller end at once.
    CutWatches {
        /// Which controller's.
        controller: Controller,
    },
    /// The API server compacts its history: watches behind it get 410.
    Compact,
    /// Watch events of one resource or of all are delayed.
    DelayWatches {
        /// Which controller's.
        controller: Controller,
        /// The plural of the resource; without one all, in order.
        plural: Option<String>,
        /// By how much.
        #[serde(rename = "byMillis", with = "millis")]
        by: Duration,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// No request reaches the API server, and all watches end.
    ApiOutage {
        /// The requests of this controller; of all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        controller: Option<Controller>,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// Every call to the cloud fails as unavailable.
    CloudOutage {
        /// The calls of this controller; of all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        controller: Option<Controller>,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// The cloud throttles each action.
    Throttle {
        /// The maximum burst of calls of an action.
        burst: u32,
        /// For how long; one call of an action per second.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// The cloud has room for few instances.
    Capacity {
        /// How many can live at once.
        instances: usize,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// A launch gets fewer instances than requested.
    PartialLaunches {
        /// How many at most.
        most: usize,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// Describe calls show a frozen state of one remote object, like a stale replica.
    Stale {
        /// Which.
        remote: Remote,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// Describe calls do not show one remote object, as a replica that lags.
    Hide {
        /// Which.
        remote: Remote,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// Another client changes a remote object back, soon after each call of a controller.
    Contend {
        /// Which.
        remote: Remote,
        /// To what.
        tamper: Tamper,
        /// For how long.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
}

/// The call of a controller that a fault affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMatch {
    /// To whom.
    pub side: Side,
    /// `CreateVpc` of the cloud, `PATCH vpcs/status` of the API server, `writes` for any call that may change something,
    /// `*` for any.
    pub action: String,
    /// The n-th of those from now on, from 1.
    pub nth: u32,
}

/// The called server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The API server.
    Kube,
    /// The cloud.
    Cloud,
}

/// The moment of a fault in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Moment {
    /// Before the call has an effect.
    Before,
    /// After its effect, before the caller gets the response.
    After,
}

impl CallMatch {
    /// Whether a call of this name is meant, whichever number it is.
    pub fn is_about(&self, side: Side, name: &str, writes: bool) -> bool {
        let named = match self.action.as_str() {
            "*" => true,
            "writes" => writes,
            action => action == name,
        };
        self.side == side && named
    }
}

impl fmt::Display for CallMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.side == Side::Kube { "the API server" } else { "the cloud" };
        let what = match self.action.as_str() {
            "*" => "call".to_owned(),
            "writes" => "writing call".to_owned(),
            action => action.to_owned(),
        };
        let ending = match self.nth % 10 {
            1 if self.nth % 100 != 11 => "st",
            2 if self.nth % 100 != 12 => "nd",
            3 if self.nth % 100 != 13 => "rd",
            _ => "th",
        };
        write!(formatter, "{}{ending} {what} to {to}", self.nth)
    }
}
