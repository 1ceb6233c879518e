//! `kubectl kraken completion`, and the candidates that kubectl asks for.
//!
//! kubectl completes a plugin by running `kubectl_complete-<plugin>` with the words so far. It expects one candidate per line, a tab
//! before a description, and a last line with a colon and a number of flags.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{CommandFactory as _, Parser as _};
use tokio::time::timeout;

use crate::{
    args::Args,
    cluster::Cluster,
    connection::Connection,
    print::{clean, out},
};

/// No names of files are candidates.
const NO_FILES: &str = ":4\n";
/// Neither are they, and no space follows the candidate: the name follows the kind.
const NO_SPACE: &str = ":6\n";
/// A completion that takes longer is of no use.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn script() -> Result<ExitCode> {
    out(
        "#!/bin/sh\n# kubectl runs this to complete `kubectl kraken`; it must be on PATH and executable.\nexec kubectl-kraken __complete \"$@\"\n",
    )?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run(words: Vec<String>) -> Result<ExitCode> {
    let (before, last) = match words.split_last() {
        Some((last, before)) => (before, last.as_str()),
        None => (&[][..], ""),
    };
    let command = before.iter().find(|word| !word.starts_with('-')).map(String::as_str);
    let text = match command {
        _ if last.starts_with('-') => flags(command, last),
        None => commands(last),
        Some(
            "status" | "why" | "deps" | "drift" | "approve" | "paths" | "undelete" | "mv" | "reconcile"
            | "pause" | "resume",
        ) => {
            let found = timeout(PATIENCE, resources(before, last)).await;
            found.ok().and_then(Result::ok).unwrap_or_else(|| NO_FILES.to_owned())
        }
        Some(_) => NO_FILES.to_owned(),
    };
    out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn commands(prefix: &str) -> String {
    let command = Args::command();
    let visible =
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name().starts_with(prefix));
    let line = |one: &clap::Command| {
        format!("{}\t{}\n", one.get_name(), one.get_about().map(ToString::to_string).unwrap_or_default())
    };
    visible.map(line).collect::<String>() + NO_FILES
}

fn flags(command: Option<&str>, prefix: &str) -> String {
    let mut all = Args::command();
    all.build();
    let of_command = command.and_then(|name| all.find_subcommand(name)).unwrap_or(&all);
    let flags = of_command.get_arguments().filter_map(|argument| {
        let long = format!("--{}", argument.get_long()?);
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        long.starts_with(prefix).then(|| format!("{long}\t{}\n", clean(&help)))
    });
    flags.collect::<String>() + NO_FILES
}

/// Kinds until there is a slash, then the resources of the kind.
async fn resources(before: &[String], last: &str) -> Result<String> {
    let cluster = Cluster::connect(&connection(before)).await?;
    let Some((word, prefix)) = last.split_once('/') else {
        let lower = last.to_lowercase();
        let names = cluster.kinds.users().map(|kind| kind.resource.kind.to_lowercase());
        return Ok(names
            .filter(|name| name.starts_with(&lower))
            .map(|name| format!("{name}/\n"))
            .collect::<String>()
            + NO_SPACE);
    };
    let kind = cluster.kind(word)?;
    let listed = cluster.list(&[kind]).await?;
    let names = listed.objects.into_iter().filter_map(|object| object.metadata.name);
    Ok(names
        .filter(|name| name.starts_with(prefix))
        .map(|name| format!("{word}/{name}\n"))
        .collect::<String>()
        + NO_FILES)
}

/// The flags that are complete already; the words may not be a valid command yet.
fn connection(words: &[String]) -> Connection {
    let mut line = vec!["kubectl-kraken".to_owned()];
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let has_value = matches!(word.as_str(), "-n" | "--namespace" | "--context" | "--kubeconfig" | "--as");
        if has_value && let Some(value) = words.peek() {
            line.extend([word.clone(), (*value).clone()]);
        } else if word.starts_with("--") && word.contains('=') {
            line.push(word.clone());
        }
    }
    line.extend(["version".to_owned(), "--client".to_owned()]);
    Args::try_parse_from(line).map(|args| args.connection).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_flags_are_completed_in_the_format_of_kubectl() {
        let found = commands("de");
        assert!(found.starts_with("deps\tShow what a resource depends on"), "{found}");
        assert!(found.ends_with(":4\n") && !commands("").contains("__complete"));
        let found = flags(Some("deps"), "--");
        assert!(found.contains("--reverse\t") && found.contains("--namespace\t"), "{found}");
    }

    #[test]
    fn the_connection_is_read_from_an_incomplete_line() {
        let words: Vec<_> =
            ["why", "-n", "shop", "--context=test", "--unknown=1"].map(str::to_owned).to_vec();
        assert_eq!(connection(&words).namespace, None, "an unknown flag makes the line invalid");
        let found = connection(&words[..4]);
        assert_eq!((found.namespace.as_deref(), found.context.as_deref()), (Some("shop"), Some("test")));
    }
}
