//! Columns of text.

use super::{Color, Style, clean};

/// Rows of cells; the columns are as wide as their widest cell, and the last one is cut at the end of the terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<(String, Option<Color>)>>,
}

impl Table {
    /// With a line of headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| ((*heading).to_owned(), None)).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = (S, Option<Color>)>) {
        self.rows.push(cells.into_iter().map(|(text, color)| (clean(text.as_ref()), color)).collect());
    }

    /// Adds a row without colors.
    pub(crate) fn plain<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.row(cells.into_iter().map(|text| (text, None)));
    }

    /// The lines.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut widths: Vec<usize> = vec![];
        for row in &self.rows {
            for (index, (text, _)) in row.iter().enumerate() {
                let width = text.chars().count();
                match widths.get_mut(index) {
                    Some(known) => *known = width.max(*known),
                    None => widths.push(width),
                }
            }
        }
        self.rows.iter().map(|row| line(row, &widths, style)).collect()
    }
}

fn line(row: &[(String, Option<Color>)], widths: &[usize], style: Style) -> String {
    let mut line = String::new();
    let mut column = 0;
    for (index, ((text, color), width)) in row.iter().zip(widths).enumerate() {
        if index + 1 == row.len() {
            line.push_str(
                &style.paint(&cut(text, style.width.map(|all| all.saturating_sub(column))), *color),
            );
        } else {
            line.push_str(&style.paint(text, *color));
            line.push_str(&" ".repeat(width - text.chars().count() + 2));
            column += width + 2;
        }
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

fn cut(text: &str, room: Option<usize>) -> String {
    // A narrow terminal shows a part of the message on a second line rather than nothing.
    match room.filter(|room| *room >= 20 && text.chars().count() > *room) {
        Some(room) => text.chars().take(room - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { has_color: false, is_terminal: false, width: None };

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_spaces() {
        let mut table = Table::new(&["NAME", "NOTE"]);
        table.plain(["├ a", ""]);
        table.row([("long-name", Some(Color::Red)), ("note\nof two lines", None)]);
        assert_eq!(table.render(PLAIN), "NAME       NOTE\n├ a\nlong-name  note of two lines\n");
    }

    #[test]
    fn the_last_column_is_cut_at_the_end_of_the_terminal() {
        let mut table = Table::new(&["A", "B"]);
        table.plain(["a".to_owned(), "x".repeat(100)]);
        let width = |width| Style { width: Some(width), ..PLAIN };
        let lines = table.render(width(30));
        assert_eq!(lines.lines().nth(1).map(|line| line.chars().count()), Some(30));
        assert!(lines.ends_with("…\n"));
        assert!(table.render(width(10)).contains(&"x".repeat(100)));
    }
}
