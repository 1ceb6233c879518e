//! The names of a kind in its code, its messages and its state.

use anyhow::{Result, bail};

/// The words of a kind's name: `DBInstance` is `DB` and `Instance`.
pub(super) struct Names {
    kind: String,
    words: Vec<String>,
}

impl Names {
    /// Of a kind such as `DBInstance`.
    pub(super) fn of(kind: &str) -> Result<Self> {
        let is_pascal_case = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric());
        if !is_pascal_case {
            bail!("{kind:?} is no name of a kind: expected PascalCase, such as DBInstance");
        }
        Ok(Self { kind: kind.to_owned(), words: words(kind) })
    }

    /// `DBInstance`.
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// `db_instance`.
    pub(super) fn module(&self) -> String {
        self.words.join("_").to_lowercase()
    }

    /// `DbInstance`, as the SDK writes it.
    pub(super) fn ty(&self) -> String {
        self.words.iter().map(|word| format!("{}{}", &word[..1], word[1..].to_lowercase())).collect()
    }

    /// `DB instance`.
    pub(super) fn noun(&self) -> String {
        let is_acronym = |word: &str| word.len() > 1 && word.chars().all(|c| !c.is_ascii_lowercase());
        let noun = |word: &String| if is_acronym(word) { word.clone() } else { word.to_lowercase() };
        self.words.iter().map(noun).collect::<Vec<_>>().join(" ")
    }

    /// `dbInstance`.
    pub(super) fn state(&self) -> String {
        let first = self.words.first().map_or("", String::as_str);
        format!("{}{}", first.to_lowercase(), &self.kind[first.len()..])
    }

    /// `dbinstances`.
    pub(super) fn plural(&self) -> String {
        plural(&self.kind.to_lowercase())
    }

    /// `DbInstances`.
    pub(super) fn types(&self) -> String {
        plural(&self.ty())
    }
}

fn plural(word: &str) -> String {
    match word.as_bytes() {
        [.., b's' | b'x'] | [.., b'c' | b's', b'h'] => format!("{word}es"),
        [.., before, b'y'] if !b"aeiou".contains(before) => format!("{}ies", &word[..word.len() - 1]),
        _ => format!("{word}s"),
    }
}

/// A word begins with a capital letter after a small one or a digit, or before a small one.
fn words(kind: &str) -> Vec<String> {
    let letters: Vec<char> = kind.chars().collect();
    let mut words = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        let after_small = index > 0 && !letters[index - 1].is_ascii_uppercase();
        let before_small = letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if index > 0 && letter.is_ascii_uppercase() && (after_small || before_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(*letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_those_of_existing_kinds() {
        for (kind, module, ty, noun, state, plural) in [
            ("DBInstance", "db_instance", "DbInstance", "DB instance", "dbInstance", "dbinstances"),
            ("NATGateway", "nat_gateway", "NatGateway", "NAT gateway", "natGateway", "natgateways"),
            ("EC2Instance", "ec2_instance", "Ec2Instance", "EC2 instance", "ec2Instance", "ec2instances"),
            ("KeyPair", "key_pair", "KeyPair", "key pair", "keyPair", "keypairs"),
            ("VPC", "vpc", "Vpc", "VPC", "vpc", "vpcs"),
            (
                "BucketPolicy",
                "bucket_policy",
                "BucketPolicy",
                "bucket policy",
                "bucketPolicy",
                "bucketpolicies",
            ),
            ("IPAddress", "ip_address", "IpAddress", "IP address", "ipAddress", "ipaddresses"),
        ] {
            let names = Names::of(kind).unwrap();
            let found = (names.module(), names.ty(), names.noun(), names.state(), names.plural());
            let expected = [module, ty, noun, state, plural].map(str::to_owned);
            assert_eq!([found.0, found.1, found.2, found.3, found.4], expected);
        }
    }

    #[test]
    fn only_pascal_case_is_the_name_of_a_kind() {
        for wrong in ["", "dbInstance", "DB-Instance", "DB Instance", "Größe"] {
            assert!(Names::of(wrong).is_err(), "{wrong}");
        }
    }
}
