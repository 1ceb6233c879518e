//! A new spoke in the process that all spokes of AWS can share.

use anyhow::{Context as _, Result};

/// The folder of the process.
pub(super) const FOLDER: &str = "processes/aws-all";

/// Its `Cargo.toml` with the spoke.
pub(super) fn manifest(text: &str, spoke: &str) -> Result<String> {
    let line = format!("kraken-{spoke} = {{ path = \"../../controllers/{spoke}\" }}");
    with_line(text, "kraken-aws-", line).context("the manifest of the process depends on no spoke")
}

/// Its `main.rs` with the spoke, whose type has this name.
pub(super) fn main(text: &str, spoke: &str, spoke_type: &str) -> Result<String> {
    let line = format!("            spoke::<kraken_{}::{spoke_type}>(args),", spoke.replace('-', "_"));
    with_line(text, "            spoke::<", line).context("the process runs no spoke")
}

/// The text with another line among those with this beginning, which stay sorted; `None` if there are none.
fn with_line(text: &str, beginning: &str, line: String) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_one = |other: &&str| other.starts_with(beginning);
    let last = lines.iter().rposition(is_one)?;
    let at = lines.iter().position(|other| is_one(other) && *other > line.as_str()).unwrap_or(last + 1);
    lines.insert(at, &line);
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use kraken_testing::paths;

    use super::*;

    #[test]
    fn a_new_spoke_is_between_its_neighbours() {
        let read = |file: &str| fs::read_to_string(paths::workspace_root().unwrap().join(FOLDER).join(file));
        let with = manifest(&read("Cargo.toml").unwrap(), "aws-efs").unwrap();
        assert!(
            with.contains(
                "aws-ecr\" }\nkraken-aws-efs = { path = \"../../controllers/aws-efs\" }\nkraken-aws-elb"
            ),
            "{with}"
        );
        let with = main(&read("src/main.rs").unwrap(), "aws-efs", "Efs").unwrap();
        assert!(with.contains("Ecr>(args),\n            spoke::<kraken_aws_efs::Efs>(args),\n            spoke::<kraken_aws_elb"), "{with}");
        let with = main(&with, "aws-waf", "Waf").unwrap();
        assert!(
            with.contains("Network>(args),\n            spoke::<kraken_aws_waf::Waf>(args),\n        ]"),
            "{with}"
        );
    }
}
