//! The owner of an object without tags, in a tag of an object that it belongs to: the topic of a subscription, the key of an alias. The tag is
//! set before the creation, after the object was found not to exist, and names the id of the object after it: so another object with the same
//! name, which somebody creates later, is not that of the owner. Pure.

use crate::tags::{CLUSTER, EPOCH, MAX_VALUE, OWNER, Tags, UID};

/// The id in the marker of an object whose creation did not return yet.
const PENDING: &str = "-";

/// The owner of an object, and which one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    id: String,
    /// The owner tags, which are those of the object.
    pub tags: Tags,
}

impl Marker {
    /// That of an object with this id, which has no space; without one, of a creation that did not return yet.
    pub fn new(id: Option<&str>, tags: &Tags) -> Self {
        let keys = [CLUSTER, UID, EPOCH, OWNER];
        let tags = tags.iter().filter(|(key, _)| keys.contains(&key.as_str()));
        Self {
            id: id.unwrap_or(PENDING).to_owned(),
            tags: tags.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    /// The marker with this key in the tags of the other object.
    pub fn of(tags: &Tags, key: &str) -> Option<Self> {
        let mut parts = tags.get(key)?.splitn(5, ' ');
        let id = parts.next()?.to_owned();
        let tags = [CLUSTER, UID, EPOCH, OWNER].into_iter().zip(parts);
        let tags = tags.filter(|(_, value)| *value != PENDING);
        Some(Self { id, tags: tags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect() })
    }

    /// The value of the tag: the id, then the owner tags.
    pub fn text(&self) -> String {
        let tag = |key| self.tags.get(key).filter(|value| !value.is_empty()).map_or(PENDING, String::as_str);
        let text = [self.id.as_str(), tag(CLUSTER), tag(UID), tag(EPOCH), tag(OWNER)].join(" ");
        text.chars().take(MAX_VALUE).collect()
    }

    /// Whether the creation did not return yet.
    pub fn is_pending(&self) -> bool {
        self.id == PENDING
    }

    /// Whether it is about the object with this id.
    pub fn is_of(&self, id: &str) -> bool {
        self.id == id
    }

    /// The id of its object; none if it is not known yet.
    pub fn id(&self) -> Option<&str> {
        (!self.is_pending()).then_some(self.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let pairs = [(CLUSTER, "c"), (UID, "u"), (EPOCH, "3"), (OWNER, "Alias/shop/orders"), ("Team", "a")];
        let tags = Tags::from(pairs.map(|(key, value)| (key.into(), value.into())));
        let marker = Marker::new(Some("1234"), &tags);
        assert_eq!(marker.text(), "1234 c u 3 Alias/shop/orders");
        let found = Marker::of(&Tags::from([("key".into(), marker.text())]), "key").unwrap();
        assert_eq!((&found, found.id(), found.tags.len()), (&marker, Some("1234"), 4));
        assert!(found.is_of("1234") && !found.is_of("123") && !found.is_pending());
        assert_eq!(Marker::of(&Tags::new(), "key"), None);

        let pending = Marker::new(None, &tags);
        let found = Marker::of(&Tags::from([("key".into(), pending.text())]), "key").unwrap();
        assert!(found.is_pending() && found.id().is_none() && !found.is_of("1234"));
        assert_eq!(found.tags, marker.tags);
        let long = Tags::from([(OWNER.to_owned(), "n".repeat(300))]);
        assert_eq!(Marker::new(None, &long).text().len(), 256);
    }
}
