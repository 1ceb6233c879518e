//! Text for a terminal or a pipe.

mod table;

use std::io::{IsTerminal as _, Write as _};

use anyhow::Result;

pub(crate) use table::Table;

/// The colors of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Green,
    Red,
    Yellow,
}

/// Whether the output has colors, and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) has_color: bool,
    pub(crate) is_terminal: bool,
    /// The number of columns; `None` without a limit.
    pub(crate) width: Option<usize>,
}

impl Style {
    /// Of standard output.
    pub(crate) fn of_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self {
            has_color: is_terminal && !is_set("NO_COLOR") && !is_dumb,
            is_terminal,
            width: width.filter(|_| is_terminal),
        }
    }

    /// The text in a color, if there are any.
    pub(crate) fn paint(self, text: &str, color: Option<Color>) -> String {
        let code = match color.filter(|_| self.has_color) {
            Some(Color::Green) => 32,
            Some(Color::Red) => 31,
            Some(Color::Yellow) => 33,
            None => return text.to_owned(),
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Writes to standard output. Unlike `print!`, the end of a reader is an error and not a panic.
pub(crate) fn out(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// One line without control characters: a name or a message of others must not move the cursor or change colors.
pub(crate) fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => line.push(' '),
            letter if letter.is_control() => line.push('\u{fffd}'),
            letter => line.push(letter),
        }
    }
    line.trim_end().to_owned()
}

/// Text that is built line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    text: String,
}

impl Lines {
    /// Adds a line, without control characters.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(&clean(line.as_ref()));
        self.text.push('\n');
    }

    /// Whether there is no line yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds lines that were rendered already, and may have colors.
    pub(crate) fn rendered(&mut self, lines: &str) {
        self.text.push_str(lines);
    }

    /// The whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// `1 resource`, `2 resources`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_others_are_not_printed() {
        assert_eq!(clean("a\u{1b}[2Jb\nc\td\u{7}"), "a\u{fffd}[2Jb c d\u{fffd}");
        assert_eq!(clean("Zürich → ok"), "Zürich → ok");
    }

    #[test]
    fn without_colors_text_is_unchanged() {
        let plain = Style { has_color: false, is_terminal: true, width: None };
        assert_eq!(plain.paint("True", Some(Color::Green)), "True");
        let colored = Style { has_color: true, ..plain };
        assert_eq!(colored.paint("True", Some(Color::Green)), "\u{1b}[32mTrue\u{1b}[0m");
        assert_eq!(colored.paint("True", None), "True");
    }
}
