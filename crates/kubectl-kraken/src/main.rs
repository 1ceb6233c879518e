//! `kubectl kraken`: what is not ready and why, what depends on what, plans and drift.
//!
//! The core is pure: [`discovery`] knows the kinds, [`graph`] is built from listed objects and answers all questions about them. The
//! shell around it is [`cluster`] (requests) and [`commands`] (one file each). No command reads a Secret.

mod args;
mod cluster;
mod commands;
mod connection;
mod discovery;
mod embedded;
mod failure;
mod graph;
mod output;
mod print;
mod resource;
mod target;
mod yaml;

use std::process::ExitCode;

use clap::Parser as _;

#[tokio::main]
async fn main() -> ExitCode {
    let args = args::Args::parse();
    let code_of_errors = args.command.code_of_errors();
    match commands::run(args).await {
        Ok(code) => code,
        // As with any program whose reader ended, for example `head`.
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", print::clean(&format!("{error:#}")));
            ExitCode::from(code_of_errors)
        }
    }
}
