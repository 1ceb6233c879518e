//! The id of a record set, which Route 53 has none of: its zone, name and type, such as `Z0123456789/www.example.com/A`. Pure.

use crate::{dns::bare_id, names::canonical};

/// The parts of an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordId {
    /// The id of the zone.
    pub(super) zone: String,
    /// In canonical form.
    pub(super) name: String,
    /// The type, such as `A`.
    pub(super) kind: String,
    /// What distinguishes it from others of the same name and type.
    pub(super) set: Option<String>,
}

impl RecordId {
    pub(super) fn new(zone: &str, name: &str, kind: &str) -> Self {
        Self { zone: bare_id(zone).to_owned(), name: canonical(name), kind: kind.to_owned(), set: None }
    }

    /// One of those of its name and type.
    pub(super) fn of_set(self, set: Option<String>) -> Self {
        Self { set, ..self }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (zone, rest) = text.split_once('/')?;
        let (name, last) = rest.rsplit_once('/')?;
        // A type begins with a capital letter, and a set identifier has none.
        if last.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Some(Self::new(zone, name, last));
        }
        let (name, kind) = name.rsplit_once('/')?;
        Some(Self::new(zone, name, kind).of_set(Some(last.to_owned())))
    }
}

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.zone, self.name, self.kind)?;
        self.set.as_ref().map_or(Ok(()), |set| write!(f, "/{set}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_zone_name_and_type() {
        let id = RecordId::new("/hostedzone/Z1", "WWW.example.com.", "A");
        assert_eq!(id.to_string(), "Z1/www.example.com/A");
        assert_eq!(RecordId::parse("Z1/www.example.com/A"), Some(id));
        let set = RecordId::new("Z1", "www.example.com", "A").of_set(Some("blue".to_owned()));
        assert_eq!(set.to_string(), "Z1/www.example.com/A/blue");
        assert_eq!(RecordId::parse("Z1/www.example.com/A/blue"), Some(set));
        assert_eq!(RecordId::parse("www.example.com"), None);
        assert_eq!(RecordId::parse("Z1/blue"), None);
    }
}
