//! Names of resources on the command line: `KIND/NAME`, several of them, or `KIND NAME...`. Pure.

use anyhow::{Result, bail};

/// A resource as a user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// The resources in the words of a command line.
pub(crate) fn parse(words: &[String]) -> Result<Vec<Target>> {
    let target = |kind: &str, name: &str| Target { kind: kind.to_owned(), name: name.to_owned() };
    let Some(first) = words.first() else { return Ok(vec![]) };
    if !first.contains('/') {
        let names = &words[1..];
        if names.is_empty() || names.iter().any(|name| name.contains('/')) {
            bail!("expected KIND/NAME, got {first:?}; for example: vpc/main");
        }
        return Ok(names.iter().map(|name| target(first, name)).collect());
    }
    let each = |word: &String| match word.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(target(kind, name))
        }
        _ => bail!("expected KIND/NAME, got {word:?}; for example: vpc/main"),
    };
    words.iter().map(each).collect()
}

/// The same for a command that takes exactly one.
pub(crate) fn one(words: &[String]) -> Result<Target> {
    match parse(words)?.as_slice() {
        [one] => Ok(one.clone()),
        _ => bail!("expected one resource, as KIND/NAME"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Vec<(String, String)>> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Ok(parse(&words)?.into_iter().map(|target| (target.kind, target.name)).collect())
    }

    #[test]
    fn resources_are_named_as_with_kubectl() {
        let pair = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        assert_eq!(parsed("vpc/a sg/b").unwrap(), [pair("vpc", "a"), pair("sg", "b")]);
        assert_eq!(parsed("vpc a b").unwrap(), [pair("vpc", "a"), pair("vpc", "b")]);
        assert_eq!(parsed("").unwrap(), []);
        for wrong in ["vpc", "vpc/", "/a", "vpc/a/b", "vpc/a b", "vpc a/b"] {
            assert!(parsed(wrong).unwrap_err().to_string().contains("KIND/NAME"), "{wrong}");
        }
        assert!(one(&["vpc/a".into(), "vpc/b".into()]).is_err());
    }
}
