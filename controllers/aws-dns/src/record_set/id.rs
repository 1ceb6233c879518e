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
}

impl RecordId {
    pub(super) fn new(zone: &str, name: &str, kind: &str) -> Self {
        Self { zone: bare_id(zone).to_owned(), name: canonical(name), kind: kind.to_owned() }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (zone, rest) = text.split_once('/')?;
        let (name, kind) = rest.rsplit_once('/')?;
        Some(Self::new(zone, name, kind))
    }
}

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.zone, self.name, self.kind)
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
        assert_eq!(RecordId::parse("www.example.com"), None);
    }
}
