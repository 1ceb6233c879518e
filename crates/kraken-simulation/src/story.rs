//! The story of a simulation: one line per event, by time, in words. Reads and what repeats are left out.

use std::fmt::Write as _;

use crate::run;
use crate::schedule::{Schedule, Side};
use crate::world::{CallEvent, Report, What};

/// What is not told: it is about the controllers and not about what they do.
const SILENT: [&str; 4] = [" leases", " events", " subjectaccessreviews", " selfsubjectreviews"];

/// The story of a schedule and what came of it.
pub fn story(report: &Report) -> String {
    let mut text = String::new();
    let mut reads = 0_usize;
    for event in &report.trace.0 {
        let told = match &event.what {
            What::Call(call) => {
                let told = call_in_words(call);
                reads += usize::from(told.is_none());
                told
            }
            What::Operation(text) => Some(format!("* {text}")),
            What::Fault(text) => Some(format!("! {text}")),
            What::Process(text) => Some(format!("  {text}")),
            What::Phase(text) => Some(format!("== {text}")),
        };
        if let Some(told) = told {
            if reads > 0 {
                reads = 0;
            }
            let _ = writeln!(text, "{:>10.3} s  {told}", event.at.as_secs_f64());
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

/// A call that changes something, or that a fault struck.
fn call_in_words(call: &CallEvent) -> Option<String> {
    let is_silent = SILENT.iter().any(|end| call.name.ends_with(end));
    if (!call.writes || is_silent) && call.struck.is_none() {
        return None;
    }
    let mut text = format!("  {}: {}", call.process, call.name);
    if call.side == Side::Kube && !call.object.is_empty() {
        let _ = write!(text, " {}/{}", call.namespace, call.object);
    }
    match call.status {
        Some(status) if status >= 300 => {
            let _ = write!(text, ", refused with {status}");
        }
        Some(_) => {}
        None => text.push_str(", without effect"),
    }
    if let Some(struck) = call.struck {
        let _ = write!(text, " (fault: {struck})");
    }
    Some(text)
}

/// All that there is to say about a failure: what must hold and did not, the steps, the story, and how to see it again.
pub fn explain(title: &str, schedule: &Schedule, report: &Report, replay: &str) -> String {
    let mut text = format!("{title}: {}\n", run::class(report).unwrap_or("no violation"));
    for violation in &report.violations {
        let _ = writeln!(text, "  {violation}");
    }
    let _ = writeln!(text, "\nThe steps that it takes ({}):", schedule.steps.len());
    for step in &schedule.steps {
        let _ = writeln!(text, "{:>10.3} s  {}", step.at.as_secs_f64(), step.action);
    }
    let _ = writeln!(text, "\nThe story:\n{}", story(report));
    let _ = writeln!(text, "Again: {replay}");
    text
}
