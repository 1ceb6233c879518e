//! The parameters of a call of the query protocol: `InstanceId.2=i-0abc&Filter.1.Value.1=running&...`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::refusal::Refusal;

/// The maximum number of parameters in the journal, and of characters of each.
const SHOWN: (usize, usize) = (12, 60);

/// Parameters by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    pub(super) fn parse(body: &str) -> Self {
        let fields = body.split('&').filter(|field| !field.is_empty());
        let pairs = fields.map(|field| field.split_once('=').unwrap_or((field, "")));
        Self(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
    }

    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, Refusal> {
        let missing =
            || Refusal::new("MissingParameter", format!("The request must contain the parameter {name}"));
        self.get(name).filter(|value| !value.is_empty()).ok_or_else(missing)
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        self.parsed(name)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        self.parsed(name)
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i32>, Refusal> {
        self.parsed(name)
    }

    fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let wrong = |value: &str| {
            Refusal::new("InvalidParameterValue", format!("Value ({value}) for parameter {name} is invalid."))
        };
        self.get(name).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    /// The values of `<name>.1`, `<name>.2` and so on.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<(usize, &str)> = self
            .below(name)
            .filter_map(|(rest, value)| rest.parse().ok().map(|n: usize| (n, value)))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// The structures `<name>.1.*`, `<name>.2.*` and so on.
    pub(super) fn structures(&self, name: &str) -> Vec<Form> {
        let mut found = BTreeMap::<usize, Form>::new();
        for (rest, value) in self.below(name) {
            if let Some((number, field)) = rest.split_once('.')
                && let Ok(number) = number.parse()
            {
                found.entry(number).or_default().0.insert(field.to_owned(), value.to_owned());
            }
        }
        found.into_values().collect()
    }

    fn below<'a>(&'a self, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let prefix = format!("{name}.");
        let fields = self.0.range(prefix.clone()..);
        fields.map_while(move |(name, value)| Some((name.strip_prefix(&prefix)?, value.as_str())))
    }

    /// The tags `Tag.1.Key`, `Tag.1.Value` and so on; a value may be absent.
    pub(super) fn tags(&self) -> Vec<(String, Option<String>)> {
        self.tags_in("Tag")
    }

    /// As [`Form::tags`], in the structures `<name>.1` and so on.
    pub(super) fn tags_in(&self, name: &str) -> Vec<(String, Option<String>)> {
        let tags = self.structures(name).into_iter();
        tags.filter_map(|tag| Some((tag.text("Key")?, tag.text("Value")))).collect()
    }

    /// A digest of all parameters except the client token: launches with the same digest are identical.
    pub(super) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (name, value) in self.0.iter().filter(|(name, _)| *name != "ClientToken") {
            digest.update(format!("{}:{name}={}:{value};", name.len(), value.len()));
        }
        hex::encode(digest.finalize())
    }

    /// The parameters for the journal, without user data, which may contain secrets.
    pub(super) fn in_short(&self) -> String {
        let parameters = self.0.iter().filter(|(name, _)| !matches!(name.as_str(), "Action" | "Version"));
        let mut text = String::new();
        for (name, value) in parameters.clone().take(SHOWN.0) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(name);
            text.push('=');
            if name.starts_with("UserData") {
                let _ = write!(text, "({} characters)", value.len()); // writing to a String cannot fail
            } else {
                let end = value.char_indices().nth(SHOWN.1).map_or(value.len(), |(at, _)| at);
                text.push_str(value.get(..end).unwrap_or_default());
            }
        }
        let more = parameters.count().saturating_sub(SHOWN.0);
        if more > 0 {
            let _ = write!(text, " and {more} more"); // as above
        }
        text
    }
}

fn decoded(text: &str) -> String {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex = [bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0')];
                std::str::from_utf8(&hex)
                    .ok()
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok())
                    .unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_the_order_of_their_numbers() {
        let body: Vec<String> = (1..=12).rev().map(|n| format!("Id.{n}=i%2d{n}")).collect();
        let form = Form::parse(&format!("{}&Identity=x", body.join("&")));
        assert_eq!(form.list("Id").last(), Some(&"i-12"));
        assert_eq!(form.list("Id").len(), 12);
    }

    #[test]
    fn structures_can_contain_structures() {
        let form = Form::parse("S.1.Type=a&S.1.Tag.1.Key=k+1&S.1.Tag.1.Value=&S.1.Tag.2.Key=k2&S.2.Type=b");
        let found = form.structures("S");
        assert_eq!((found.len(), found[1].get("Type")), (2, Some("b")));
        assert_eq!(found[0].tags(), [("k 1".into(), Some(String::new())), ("k2".into(), None)]);
    }

    #[test]
    fn the_digest_of_a_launch_does_not_include_its_token() {
        let digest = |body| Form::parse(body).digest();
        assert_eq!(digest("A=1&ClientToken=x"), digest("ClientToken=y&A=1"));
        assert_ne!(digest("A=1"), digest("A=2"));
        assert_ne!(digest("A=1&B=2"), digest("A=1;1:B=1:2"));
    }

    #[test]
    fn the_journal_does_not_contain_user_data() {
        let short = Form::parse("Action=RunInstances&UserData=c2VjcmV0&ImageId=ami-1").in_short();
        assert_eq!(short, "ImageId=ami-1 UserData=(8 characters)");
    }
}
