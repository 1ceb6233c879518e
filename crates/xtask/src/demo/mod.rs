//! `cargo xtask demo`: Kraken at work, from nothing to everything deleted again.

mod show;
mod story;

use std::time::{Duration, Instant};

use anyhow::Result;
use kraken_testing::{Environment, EnvironmentOptions};

use crate::signals::Stop;
use crate::{stage, ui};
use story::Story;

/// Sets the stage, tells the story, and either stays up until asked to stop or (`once`) ends at once.
pub(crate) async fn run(stop: &mut Stop, once: bool, timeout: Duration) -> Result<()> {
    let began = Instant::now();
    let environment = stop.race(set_up()).await?;
    let mut story = stop.race(Story::begin(&environment, timeout)).await?;
    stop.race(story.create()).await?;
    stop.race(story.supply_what_is_missing()).await?;
    stop.race(story.scale()).await?;
    stop.race(story.results()).await?;
    if !once {
        show::what_to_try(&environment);
        stop.requested().await;
        println!();
    }
    stop.race(story.delete()).await?;
    ui::headline("Done");
    println!(
        "Everything is Ready, changed and gone again as it should, {:.0} s in all.",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

async fn set_up() -> Result<Environment> {
    ui::headline("Setting the stage");
    stage::prepare().await?;
    let environment = stage::start(EnvironmentOptions::default()).await?;
    println!("   Kubernetes: {}", environment.control_plane.server());
    println!("   AWS:        {} (moto)", environment.moto.endpoint());
    Ok(environment)
}
