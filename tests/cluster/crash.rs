//! A sample of `cargo xtask crash`: controllers and the hub are killed before and after some of their calls.

use anyhow::Result;
use kraken_testing::ControlPlane;
use kraken_testing::crash_test::{Fault, Options, run_crash_test};

#[tokio::test(flavor = "multi_thread")]
async fn controllers_killed_around_a_call_neither_duplicate_nor_leak() -> Result<()> {
    let options = Options {
        // A kind with tokens and one without, load balancing, and the hub. `hurry` edits right after the launch: objects of a
        // crashed launch must be counted after the restart. `export-edit` loses its watches behind its own status.
        scenarios: ["delete", "hurry", "vpc-create-first", "balancing-edit", "hub-secret", "export-edit"]
            .map(str::to_owned)
            .to_vec(),
        faults: vec![Fault::Kill, Fault::Conflict, Fault::Reset],
        sample: Some(12),
        parallel: 8,
        ..Options::default()
    };
    // A separate control plane: the controllers of the shared one would reconcile these resources too.
    let control_plane = ControlPlane::start().await?;
    let verdicts = run_crash_test(&control_plane, &options, |_| {}).await?;
    assert!(verdicts.iter().filter(|verdict| verdict.point.is_some() && verdict.reached).count() > 8);
    for verdict in verdicts {
        let journal: Vec<&str> = verdict.journal.iter().map(|entry| entry.text.as_str()).collect();
        assert!(
            verdict.violations.is_empty(),
            "{} {:?}: {:?}\n{}\n{}",
            verdict.scenario,
            verdict.point,
            verdict.violations,
            journal.join("\n"),
            verdict.log.unwrap_or_default()
        );
    }
    Ok(())
}
