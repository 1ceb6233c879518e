//! The options of an import: which objects, and whose credentials.

use clap::{ArgGroup, Args};

/// What to import.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("objects").required(true).args(["vpc", "tags", "account"])))]
pub(crate) struct Selection {
    /// The VPC with this id, and what is in it.
    #[arg(long, value_name = "ID")]
    pub(crate) vpc: Option<String>,
    /// Only objects with this tag; several must all match.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = tag)]
    pub(crate) tags: Vec<(String, String)>,
    /// Everything in the account and region.
    #[arg(long)]
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

    fn parsed(flags: &[&str]) -> Result<Selection, String> {
        #[derive(clap::Parser)]
        struct Import {
            #[command(flatten)]
            selection: Selection,
        }
        let import = <Import as clap::Parser>::try_parse_from(["import"].iter().chain(flags));
        import.map(|import| import.selection).map_err(|error| error.to_string())
    }

    #[test]
    fn one_way_of_selection_is_required_and_each_is_named() {
        let error = parsed(&["--use-account", "a"]).unwrap_err();
        assert!(["--vpc", "--tags", "--account"].iter().all(|flag| error.contains(flag)), "{error}");
        assert_eq!(parsed(&["--tags", "A=1,B=2"]).unwrap().tags.len(), 2);
        assert_eq!(parsed(&["--tags", "A=1", "--tags", "B=2"]).unwrap().tags.len(), 2);
        for both in [["--vpc=vpc-1", "--account"], ["--vpc=vpc-1", "--tags=A=1"], ["--account", "--tags=A=1"]]
        {
            assert!(parsed(&both).unwrap_err().contains("cannot be used with"), "{both:?}");
        }
    }

    #[test]
    fn a_tag_has_a_key_and_a_value() {
        assert_eq!(tag("Team=shop=a").unwrap(), ("Team".to_owned(), "shop=a".to_owned()));
        assert_eq!(tag("Team=").unwrap(), ("Team".to_owned(), String::new()));
        for wrong in ["Team", "=shop", ""] {
            assert!(tag(wrong).unwrap_err().contains("KEY=VALUE"), "{wrong}");
        }
    }
}
