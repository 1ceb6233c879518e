//! Descriptions of actions: one line each, for the story.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::{Action, Controller, Fault, Lost, Moment, Operation, Propagation, Remote, Tamper};

/// What of a value is shown.
const SHOWN: usize = 160;

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(operation) => operation.fmt(formatter),
            Self::Fault(fault) => fault.fmt(formatter),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply { object } => write!(to, "apply {} with {}", name(object), spec(object)),
            Self::Replace { object } => {
                write!(to, "replace {} with {}, without metadata of others", name(object), spec(object))
            }
            Self::Recreate { object } => {
                write!(to, "delete and recreate {} with {}", name(object), spec(object))
            }
            Self::Edit { object, path, value: Some(value) } => {
                write!(to, "edit {object}: set {} to {}", field(path), short(value))
            }
            Self::Edit { object, path, value: None } => write!(to, "edit {object}: remove {}", field(path)),
            Self::SetData { object, key, value: Some(value) } => {
                write!(to, "set key {key} of {object} to {value:?}")
            }
            Self::SetData { object, key, value: None } => write!(to, "remove key {key} of {object}"),
            Self::Scale { object, replicas } => write!(to, "scale {object} to {replicas}"),
            Self::Delete { object, propagation } => {
                let how = match propagation {
                    Propagation::Background => "",
                    Propagation::Foreground => " and its dependents first",
                    Propagation::Orphan => " and orphan its dependents",
                };
                write!(to, "delete {object}{how}")
            }
            Self::DeleteNamespace { name } => write!(to, "delete namespace {name}"),
            Self::CreateNamespace { name } => write!(to, "create namespace {name}"),
            Self::Adopt { object, remote, by_id } => {
                let by = if *by_id { "id" } else { "tags" };
                write!(to, "edit {object}: adopt {remote} by {by}")
            }
            Self::Approve { object, stale: false } => write!(to, "approve the plan of {object}"),
            Self::Approve { object, stale: true } => write!(to, "approve a former plan of {object}"),
            Self::Annotate { object, annotation } => write!(to, "annotate {object} with {annotation}=now"),
            Self::Strip { object, lost } => {
                let what = match lost {
                    Lost::Finalizers => "finalizers",
                    Lost::OwnerReferences => "owner references",
                    Lost::Ledger => "ledger annotation",
                    Lost::Annotations => "annotations",
                    Lost::Labels => "labels",
                    Lost::Status => "status",
                    Lost::FirstId => "first id in the status",
                };
                write!(to, "remove the {what} of {object}")
            }
            Self::ForgeStatus { object, status } => {
                write!(to, "forge the status of {object}: {}", short(status))
            }
            Self::ForgePlan { object } => {
                write!(to, "store the plan of {object} under the hash of its last approval")
            }
            Self::Own { object, owner } => write!(to, "make {owner} the owner of {object}"),
            Self::CreateRemote { kind, name, tags_of: None } => {
                write!(to, "create a remote {kind} {name} out of band")
            }
            Self::CreateRemote { kind, name, tags_of: Some(object) } => {
                write!(to, "create a remote {kind} {name} out of band, with the owner tags of {object}")
            }
            Self::TamperRemote { remote, tamper } => to.write_str(&tampering(remote, tamper)),
            Self::Restart { controller, region, account } => {
                write!(to, "restart {controller}")?;
                if let Some(region) = region {
                    write!(to, " with region {region}")?;
                }
                if let Some(account) = account {
                    write!(to, " with account {account}")?;
                }
                Ok(())
            }
            Self::ExpireCredentials { lasts } => write!(to, "credentials expire for {}", time(*lasts)),
            Self::Backup => to.write_str("back up the API server"),
            Self::Restore => to.write_str("restore the last backup of the API server"),
            Self::SaveManifests { object } => write!(to, "save the manifests of {object}"),
            Self::Vanish { object } => write!(to, "lose {object} without its finalizers"),
            Self::RestoreManifests { object, finalizers, status } => {
                let how = |is_restored: bool| if is_restored { "with" } else { "without" };
                let (finalizers, status) = (how(*finalizers), how(*status));
                write!(to, "restore {object} from its manifests, {finalizers} finalizers, {status} status")
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { controller, call, moment, down } => {
                let when = moment_of(*moment);
                write!(to, "fault: {controller} will crash {when} its {call}, for {}", time(*down))
            }
            Self::Kill { controller, down } => {
                write!(to, "fault: {controller} crashes, for {}", time(*down))
            }
            Self::Replica { controller, lasts } => {
                write!(to, "fault: a second replica of {controller} runs for {}", time(*lasts))
            }
            Self::Suspend { controller, lasts } => {
                write!(to, "fault: the leader of {controller} is suspended for {}", time(*lasts))
            }
            Self::Lose { controller, call, moment, times } => {
                let what = if *moment == Moment::Before { "request" } else { "response" };
                write!(to, "fault: the {what} of {controller}'s {call} will be lost{}", in_a_row(*times))
            }
            Self::Delay { controller, call, by, times } => {
                let by = time(*by);
                write!(
                    to,
                    "fault: the response of {controller}'s {call} will be {by} late{}",
                    in_a_row(*times)
                )
            }
            Self::Refuse { controller, call, status, times } => {
                write!(to, "fault: {controller}'s {call} will be rejected with {status}{}", in_a_row(*times))
            }
            Self::Fail { controller, call, code, times } => {
                write!(to, "fault: {controller}'s {call} will be rejected with {code}{}", in_a_row(*times))
            }
            Self::CutWatches { controller } => write!(to, "fault: all watches of {controller} end"),
            Self::Compact => to.write_str("fault: the API server's history is compacted"),
            Self::DelayWatches { controller, plural, by, lasts } => {
                let of = plural.as_deref().unwrap_or("all resources");
                let (by, lasts) = (time(*by), time(*lasts));
                write!(to, "fault: watch events of {of} reach {controller} {by} late, for {lasts}")
            }
            Self::ApiOutage { controller, lasts } => {
                write!(
                    to,
                    "fault: the API server is unreachable{} for {}",
                    to_controller(*controller),
                    time(*lasts)
                )
            }
            Self::CloudOutage { controller, lasts } => {
                write!(
                    to,
                    "fault: the cloud is unavailable{} for {}",
                    to_controller(*controller),
                    time(*lasts)
                )
            }
            Self::Throttle { burst, lasts } => {
                write!(
                    to,
                    "fault: the cloud throttles after {burst} calls of an action, for {}",
                    time(*lasts)
                )
            }
            Self::Capacity { instances, lasts } => {
                write!(to, "fault: the cloud has capacity for {instances} instances, for {}", time(*lasts))
            }
            Self::PartialLaunches { most, lasts } => {
                write!(to, "fault: a launch gets {most} instances at most, for {}", time(*lasts))
            }
            Self::Stale { remote, lasts } => {
                write!(to, "fault: reads show {remote} as it is now for {}", time(*lasts))
            }
            Self::Hide { remote, lasts } => {
                write!(to, "fault: reads do not show {remote} for {}", time(*lasts))
            }
            Self::Contend { remote, tamper, lasts } => {
                let what = tampering(remote, tamper);
                write!(to, "fault: another client will {what} after each call, for {}", time(*lasts))
            }
        }
    }
}

fn tampering(remote: &Remote, tamper: &Tamper) -> String {
    match tamper {
        Tamper::Delete => format!("delete {remote} out of band"),
        Tamper::StripOwnerTags => format!("remove the owner tags of {remote}"),
        Tamper::OwnerTagsOf(object) => format!("give {remote} the owner tags of {object}"),
        Tamper::Tag { key, value: Some(value) } => format!("set tag {key}={value} of {remote}"),
        Tamper::Tag { key, value: None } => format!("remove tag {key} of {remote}"),
        Tamper::Change { number } => format!("change {remote} out of band (change {number})"),
    }
}

fn to_controller(controller: Option<Controller>) -> String {
    controller.map(|controller| format!(" to {controller}")).unwrap_or_default()
}

fn moment_of(moment: Moment) -> &'static str {
    if moment == Moment::Before { "before" } else { "after" }
}

fn in_a_row(times: u32) -> String {
    if times == 1 { String::new() } else { format!(", and the {} after it", times.saturating_sub(1)) }
}

/// A duration without needless digits.
pub(crate) fn time(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) { format!("{} s", millis / 1000) } else { format!("{millis} ms") }
}

fn name(object: &Value) -> String {
    let part = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?").to_owned();
    format!("{}/{}/{}", part("/metadata/namespace"), part("/kind"), part("/metadata/name"))
}

fn spec(object: &Value) -> String {
    let content = ["spec", "data", "stringData"].iter().find_map(|key| object.get(key));
    content.map_or_else(|| "nothing".to_owned(), short)
}

fn field(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{CallMatch, Side};
    use super::*;

    #[test]
    fn actions_are_described() {
        let vpc = "prod/VPC/main".parse().unwrap();
        let edit = Operation::Edit { object: vpc, path: "/spec/tags/a".to_owned(), value: Some(json!("b")) };
        assert_eq!(edit.to_string(), r#"edit prod/VPC/main: set spec.tags.a to "b""#);
        let crash = Fault::Crash {
            controller: Controller::Vpc,
            call: CallMatch { side: Side::Cloud, action: "CreateVpc".to_owned(), nth: 2 },
            moment: Moment::After,
            down: Duration::from_millis(2500),
        };
        assert_eq!(
            crash.to_string(),
            "fault: kraken-aws-vpc will crash after its 2nd CreateVpc to the cloud, for 2500 ms"
        );
    }
}
