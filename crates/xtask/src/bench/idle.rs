//! `bench idle`: the memory of controllers without resources, in a process for each and in one process.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use kraken_testing::{Suite, SuiteOptions, suite};

use super::report::{MEBIBYTE, number_of};
use super::{row, with_audit};
use crate::ui;

const SHARED: &str = "aws-all";
/// In MiB.
const MEMORY_OF_ALL: f64 = 128.0;

#[derive(Args)]
pub(crate) struct Idle {
    /// How long the controllers rest before their memory is read: the first orphan sweep is after 90 s.
    #[arg(long, default_value = "2m", value_parser = humantime::parse_duration)]
    rest: Duration,
}

pub(crate) async fn run(options: Idle) -> Result<ExitCode> {
    let environment = with_audit(SuiteOptions::default()).await?;
    let rest = || {
        ui::step("resting", async {
            tokio::time::sleep(options.rest).await;
            Ok(())
        })
    };
    rest().await?;
    let mut separate = 0.0;
    let mut rows = vec![];
    for controller in environment.suite.controllers() {
        let memory = number_of(controller.rss_bytes()?) / MEBIBYTE;
        rows.push([format!("kraken-{}", controller.name()), format!("{memory:.1}")]);
        if controller.name().starts_with("aws-") {
            separate += memory;
            controller.terminate().await?;
        }
    }
    suite::bind(&environment.control_plane, "config/overlays/one-process").await?;
    let only = Some(vec![SHARED.to_owned()]);
    let options = SuiteOptions { only, ..SuiteOptions::default() };
    let start = Suite::start_installed(&environment.control_plane, &environment.moto, options);
    let shared = ui::step("starting all controllers of AWS in one process", start).await?;
    rest().await?;
    let together = number_of(shared.controller(SHARED)?.rss_bytes()?) / MEBIBYTE;
    rows.push(["controllers of AWS, separate".to_owned(), format!("{separate:.1}")]);
    print!("{}", ui::table(&["", "MiB"], rows));
    let result = row("controllers of AWS, in one process, MiB", together, MEMORY_OF_ALL);
    let is_met = result[3] == "ok";
    print!("{}", ui::table(&["", "measured", "target", ""], [result]));
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
