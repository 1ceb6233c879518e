//! The table of reasons in `docs/conditions.md`, from the reasons themselves. The rest of the page is written by hand.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use kraken_api::reasons::Reason;

/// The line above the table, and the first line of the table.
const BEGIN: &str =
    "<!-- The table is generated from crates/kraken-api/src/reasons.rs by cargo xtask gen. -->\n";
const HEAD: &str = "| Reason | Ready | Meaning | What to do |\n|---|---|---|---|\n";

/// The page with its current table.
pub(super) fn page(before: &str) -> Result<String> {
    let (above, rest) =
        before.split_once(BEGIN).context("docs/conditions.md has no line that begins the table")?;
    let (_, below) = rest.split_once("\n\n").context("docs/conditions.md ends with the table")?;
    let mut table = HEAD.to_owned();
    for reason in Reason::ALL {
        if let Some(row) = reason.explanation() {
            writeln!(table, "| `{}` | {} | {} | {} |", reason.as_str(), row.ready, row.meaning, row.remedy)?;
        }
    }
    Ok(format!("{above}{BEGIN}{table}\n{below}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_is_replaced() {
        let page = page(&format!("above\n\n{BEGIN}{HEAD}| old |\n\nbelow\n\nend")).unwrap();
        assert!(page.starts_with("above\n\n<!-- ") && page.ends_with("|\n\nbelow\n\nend"), "{page}");
        assert!(
            page.contains("| `Paused` | False | ")
                && !page.contains("| old |")
                && !page.contains("`Created`")
        );
    }
}
