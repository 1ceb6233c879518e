//! A sample of what `cargo xtask crash` does: the controller is killed around some of its calls.

use anyhow::Result;
use kraken_testing::ControlPlane;
use kraken_testing::explorer::{Fault, Options, explore};

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_killed_around_a_call_creates_no_second_and_leaves_none_behind() -> Result<()> {
    let options = Options {
        // `hurry` edits right after the launch: what a crash there leaves must be counted after the restart.
        scenarios: ["create", "delete", "hurry"].map(str::to_owned).to_vec(),
        faults: vec![Fault::Kill, Fault::Conflict],
        every: 6,
        lanes: 3,
    };
    // Its own: the controllers of the shared one would work here too.
    let control_plane = ControlPlane::start().await?;
    let verdicts = explore(&control_plane, &options, |_| {}).await?;
    assert!(verdicts.iter().filter(|verdict| verdict.point.is_some() && verdict.reached).count() > 2);
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
