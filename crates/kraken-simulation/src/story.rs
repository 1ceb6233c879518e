//! The story of a simulation: one line per event, by time. Reads and repetitions are omitted.

use std::fmt::Write as _;

use crate::engine::{CallEvent, EventKind, Report};
use crate::run;
use crate::schedule::{Schedule, Side};

/// Calls that are omitted, because they only concern the controllers themselves.
const SILENT: [&str; 4] = [" leases", " events", " subjectaccessreviews", " selfsubjectreviews"];

/// The story of a schedule and what came of it.
pub fn story(report: &Report) -> String {
    let mut text = String::new();
    for event in &report.trace.0 {
        let line = match &event.what {
            EventKind::Call(call) => call_in_words(call),
            EventKind::Operation(text) => Some(format!("* {text}")),
            EventKind::Fault(text) => Some(format!("! {text}")),
            EventKind::Process(text) => Some(format!("  {text}")),
            EventKind::Phase(text) => Some(format!("== {text}")),
        };
        if let Some(line) = line {
            let _ = writeln!(text, "{:>10.3} s  {line}", event.at.as_secs_f64());
        }
    }
    for violation in &report.violations {
        let _ = writeln!(
            text,
            "{:>10.3} s  VIOLATION of \"{}\": {}",
            violation.at.as_secs_f64(),
            violation.invariant,
            violation.message
        );
    }
    text
}

/// A mutating call, or a call that was affected by a fault.
fn call_in_words(call: &CallEvent) -> Option<String> {
    let is_silent = SILENT.iter().any(|end| call.name.ends_with(end));
    if (!call.writes || is_silent) && call.effect.is_none() {
        return None;
    }
    let mut text = format!("  {} {}", call.process, what(call));
    match call.status {
        Some(status) if status >= 300 => {
            let _ = write!(text, ", rejected with {status}");
        }
        Some(_) => {}
        None => text.push_str(", without effect"),
    }
    if let Some(effect) = call.effect {
        let _ = write!(text, " (fault: {effect})");
    }
    Some(text)
}

/// `updates the status of vpcs prod/a`, `calls CreateRoute of rtb-1`.
fn what(call: &CallEvent) -> String {
    if call.side == Side::Cloud {
        let of = if call.object.is_empty() { String::new() } else { format!(" of {}", call.object) };
        return format!("calls {}{of}", call.name);
    }
    let (method, resource) = call.name.split_once(' ').unwrap_or(("", &call.name));
    let verb = match method {
        "POST" => "creates",
        "PUT" => "replaces",
        "PATCH" => "patches",
        "DELETE" => "deletes",
        "GET" => "reads",
        other => other,
    };
    let object = match (call.namespace.as_str(), call.object.as_str()) {
        ("", object) => object.to_owned(),
        (namespace, "") => format!("in {namespace}"),
        (namespace, object) => format!("{namespace}/{object}"),
    };
    match resource.split_once('/') {
        Some((plural, "status")) => format!("updates the status of {plural} {object}"),
        _ => format!("{verb} {resource} {object}").trim_end().to_owned(),
    }
}

/// The report of a failure: the violated invariant, the steps, the story, and how to reproduce it.
pub fn explain(title: &str, schedule: &Schedule, report: &Report, replay: &str) -> String {
    let mut text = format!("{title}: {}\n", run::class(report).unwrap_or("no violation"));
    for violation in &report.violations {
        let _ = writeln!(text, "  {violation}");
    }
    let _ = writeln!(text, "\nThe necessary steps ({}):", schedule.steps.len());
    for step in &schedule.steps {
        let _ = writeln!(text, "{:>10.3} s  {}", step.at.as_secs_f64(), step.action);
    }
    let _ = writeln!(text, "\nThe story:\n{}", story(report));
    let _ = writeln!(text, "Again: {replay}");
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::ProcessId;
    use crate::schedule::Controller;

    #[test]
    fn calls_are_described() {
        let call = |side, name: &str, object: &str, status| CallEvent {
            process: ProcessId { controller: Controller::Vpc, replica: 0, incarnation: 2 },
            side,
            name: name.to_owned(),
            writes: true,
            namespace: if side == Side::Kube { "prod".to_owned() } else { String::new() },
            object: object.to_owned(),
            status,
            body: 0,
            answer: 0,
            effect: None,
        };
        for (call, words) in [
            (call(Side::Kube, "PATCH vpcs/status", "a", Some(200)), "updates the status of vpcs prod/a"),
            (call(Side::Kube, "PATCH vpcs", "a", Some(409)), "patches vpcs prod/a, rejected with 409"),
            (call(Side::Kube, "POST configmaps", "b", None), "creates configmaps prod/b, without effect"),
            (call(Side::Cloud, "CreateVpc", "", Some(200)), "calls CreateVpc"),
            (call(Side::Cloud, "DeleteVpc", "vpc-1", Some(200)), "calls DeleteVpc of vpc-1"),
        ] {
            assert_eq!(call_in_words(&call).unwrap(), format!("  kraken-aws-vpc/0#2 {words}"));
        }
    }
}
