//! `kubectl kraken mcp`: the commands that read, as tools of the Model Context Protocol on standard input and output.
//!
//! A call runs this program again with the flags of the connection: a tool has the rights, the answers and the errors of its command.

mod protocol;
mod tools;

use std::{
    io::{BufRead as _, Write as _},
    process::{ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

use self::{
    protocol::{Answer, Output, Request},
    tools::Call,
};
use crate::connection::Connection;

/// A command that takes longer is stopped, so that the assistant gets an answer.
const LIMIT: Duration = Duration::from_mins(2);
/// The maximum length of an answer, in bytes: assistants read all of it.
const MAX_OUTPUT: usize = 400_000;

pub(super) async fn run(connection: &Connection) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.context("cannot read standard input")?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match protocol::read(&line) {
            Request::Answered(answer) => answer,
            Request::Call { id, call } => {
                let output = called(&program, connection, &call).await;
                Some(Answer::of_call(id, &output))
            }
        };
        if let Some(answer) = answer {
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "{}", answer.text())?;
            stdout.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn called(program: &std::path::Path, connection: &Connection, call: &Call) -> Output {
    let mut command = Command::new(program);
    command.args(flags(connection, call)).args(&call.words).env("NO_COLOR", "1");
    let stdin = if call.input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let finished = timeout(LIMIT, async {
        let mut child = command.spawn()?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), call.input.as_ref()) {
            // A command that rejects its arguments reads nothing.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait_with_output().await
    });
    match finished.await {
        Ok(Ok(output)) => Output {
            is_success: output.status.success(),
            text: shortened(&output.stdout),
            errors: shortened(&output.stderr),
        },
        Ok(Err(error)) => Output { errors: format!("cannot run the command: {error}"), ..Output::default() },
        Err(_) => Output { errors: format!("no answer within {} s", LIMIT.as_secs()), ..Output::default() },
    }
}

/// The flags of the server, except those that the call has itself.
fn flags(connection: &Connection, call: &Call) -> Vec<String> {
    let Connection { kubeconfig, context, namespace, all_namespaces, impersonate } = connection;
    let mut flags = vec![];
    flags.extend(kubeconfig.iter().map(|path| format!("--kubeconfig={}", path.display())));
    flags.extend(context.iter().map(|name| format!("--context={name}")));
    flags.extend(impersonate.iter().map(|user| format!("--as={user}")));
    let own = call.words.iter().any(|word| word.starts_with("--namespace=") || word == "--all-namespaces");
    if !own {
        flags.extend(namespace.iter().map(|name| format!("--namespace={name}")));
        flags.extend(all_namespaces.then(|| "--all-namespaces".to_owned()));
    }
    flags
}

fn shortened(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= MAX_OUTPUT {
        return text.into_owned();
    }
    let end = text.floor_char_boundary(MAX_OUTPUT);
    format!(
        "{}\n… {} more bytes: ask for less, for example for one namespace",
        &text[..end],
        text.len() - end
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_connection_of_the_server_and_its_own_namespace() {
        let connection = Connection {
            context: Some("test".into()),
            namespace: Some("shop".into()),
            impersonate: Some("viewer".into()),
            ..Connection::default()
        };
        let flags = |word: &str| flags(&connection, &Call { words: vec![word.to_owned()], input: None });
        assert_eq!(flags("status"), ["--context=test", "--as=viewer", "--namespace=shop"]);
        assert_eq!(flags("--namespace=x"), ["--context=test", "--as=viewer"]);
    }

    #[test]
    fn a_long_answer_says_what_to_do() {
        let text = shortened("ä".repeat(MAX_OUTPUT).as_bytes());
        assert!(text.len() < MAX_OUTPUT + 100 && text.contains("ask for less"), "{}", text.len());
    }
}
