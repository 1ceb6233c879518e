//! A question to the person at the terminal.

use std::io::{BufRead as _, Write as _};

use anyhow::{Result, bail};

/// What a person answers to a question; `nobody` is the error if standard input has ended.
pub(super) fn answer(question: &str, nobody: &str) -> Result<String> {
    let mut stdout = std::io::stdout().lock();
    write!(stdout, "{question}")?;
    stdout.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        writeln!(stdout)?;
        bail!("{nobody}");
    }
    Ok(line)
}
