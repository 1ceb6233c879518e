//! What the status of a resource reports about the hub. Pure.

use jiff::Timestamp;
use kraken_api::HUB_NAME;
use kraken_runtime::lease::Holder;

/// What the status of a resource reports about the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Followed {
    /// The references of the resource are kept up to date, or it has none.
    #[default]
    Yes,
    /// Unchanged from the status: not known yet.
    Unknown,
    /// The hub is not running, with the message of the condition.
    No(String),
}

impl Followed {
    /// For a resource that has references.
    pub fn by(holder: Holder, namespace: &str) -> Self {
        match holder {
            Holder::Unknown => Self::Unknown,
            Holder::Alive => Self::Yes,
            Holder::Silent(since) => Self::No(message(since, namespace)),
        }
    }
}

fn message(since: Option<Timestamp>, namespace: &str) -> String {
    let since =
        since.map(|since| format!(" since {}", since.strftime("%Y-%m-%dT%H:%M:%SZ"))).unwrap_or_default();
    format!(
        "{HUB_NAME} has not renewed its lease{since}: it is not running, and changes of the referenced objects have no effect. \
         The last resolved values stay in use. Check the Deployment {HUB_NAME} in namespace {namespace}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_contains_the_time_and_the_deployment() {
        let since = "2026-01-31T12:00:00.5Z".parse().ok();
        let Followed::No(message) = Followed::by(Holder::Silent(since), "infra") else { panic!() };
        for part in ["since 2026-01-31T12:00:00Z:", "Deployment kraken-hub", "namespace infra"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
