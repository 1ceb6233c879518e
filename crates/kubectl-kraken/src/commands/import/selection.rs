//! The options of an import: which objects, and whose credentials.

use clap::Args;

/// What to import.
#[derive(Args, Clone, Debug)]
pub(crate) struct Selection {
    /// The VPC with this id, and what is in it.
    #[arg(long, value_name = "ID", required_unless_present_any = ["tags", "account"])]
    pub(crate) vpc: Option<String>,
    /// Only objects with this tag; several must all match.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = tag, conflicts_with_all = ["vpc", "account"])]
    pub(crate) tags: Vec<(String, String)>,
    /// Everything in the account and region.
    #[arg(long, conflicts_with = "vpc")]
    pub(crate) account: bool,
    /// The Account whose credentials and region are used [default: that of a resource that names none].
    #[arg(long, value_name = "NAME")]
    pub(crate) use_account: Option<String>,
    /// How long to wait for the controllers, in seconds.
    #[arg(long, default_value_t = 180)]
    pub(crate) timeout: u64,
}

fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE, for example Team=shop".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_a_key_and_a_value() {
        assert_eq!(tag("Team=shop=a").unwrap(), ("Team".to_owned(), "shop=a".to_owned()));
        assert_eq!(tag("Team=").unwrap(), ("Team".to_owned(), String::new()));
        for wrong in ["Team", "=shop", ""] {
            assert!(tag(wrong).unwrap_err().contains("KEY=VALUE"), "{wrong}");
        }
    }
}
