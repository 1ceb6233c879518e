//! Console output: plain aligned lines, coloured only on a terminal.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use kraken_testing::moto;

/// Colours of a line's important word.
#[derive(Clone, Copy)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
    Bold,
}

/// `text` in that colour if standard output is a terminal.
pub(crate) fn paint(colour: Colour, text: &str) -> String {
    if !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return text.to_owned();
    }
    let code = match colour {
        Colour::Green => 32,
        Colour::Yellow => 33,
        Colour::Red => 31,
        Colour::Bold => 1,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Starts a chapter.
pub(crate) fn headline(text: &str) {
    println!("\n{}", paint(Colour::Bold, &format!("== {text}")));
}

/// Prints an action, performs it, and prints its duration.
pub(crate) fn step<T>(what: &str, work: impl Future<Output = Result<T>>) -> impl Future<Output = Result<T>> {
    let work = Box::pin(work); // a step can be a large future
    async move {
        println!("-> {what}");
        let started = Instant::now();
        let result = work.await;
        let seconds = format!("{:.1} s", started.elapsed().as_secs_f64());
        match &result {
            Ok(_) => println!("   {} in {seconds}", paint(Colour::Green, "done")),
            Err(_) => println!("   {} after {seconds}", paint(Colour::Red, "FAILED")),
        }
        result
    }
}

/// A table without borders.
pub(crate) fn table<R, C>(header: &[&str], rows: R) -> String
where
    R: IntoIterator<Item = C>,
    C: IntoIterator<Item = String>,
{
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    // The cells are padded to the right; trailing white space is removed.
    table.to_string().lines().flat_map(|line| ["  ", line.trim_end(), "\n"]).collect()
}

/// What `kubectl` and `aws` need, to be pasted into a shell.
pub(crate) fn exports(kubeconfig: &Path, aws_endpoint: &str) -> String {
    let kubeconfig = ("KUBECONFIG".to_owned(), kubeconfig.display().to_string());
    let all = std::iter::once(kubeconfig).chain(moto::cli_environment(aws_endpoint));
    all.map(|(name, value)| format!("export {name}={value}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aws_command_gets_an_endpoint_a_region_and_credentials() {
        let text = exports(Path::new("kubeconfig"), "http://127.0.0.1:5000");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "export KUBECONFIG=kubeconfig");
        assert!(lines.contains(&"export AWS_ENDPOINT_URL=http://127.0.0.1:5000"), "{text}");
        for name in ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            assert!(lines.iter().any(|line| line.starts_with(&format!("export {name}="))), "{name}: {text}");
        }
    }
}
