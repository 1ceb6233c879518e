//! The tag that marks an instance that Kraken stops for a change, and the change that AWS rejected. Pure.
//!
//! Only the tag is reliable after a crash: the status may be lost, and AWS does not return who stopped an instance.

use kraken_aws::tags::Tags;

/// The tag's key.
pub(crate) const KEY: &str = "kraken-iac.eoinfennessy.com/disruption";

const STOP: &str = "stop";
const REFUSED: &str = "refused ";
const SEPARATOR: &str = " / ";

/// The content of the tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Kraken stops this instance for a change, and must start it afterwards.
    pub(crate) stop: bool,
    /// The field and value that AWS rejected on the stopped instance, such as `instanceType=t3.huge`: it is not stopped
    /// for this value again.
    pub(crate) refused: Option<String>,
}

impl Mark {
    /// The mark of an instance with these tags.
    pub(crate) fn of(tags: &Tags) -> Self {
        let mut mark = Self::default();
        for part in tags.get(KEY).map_or("", String::as_str).split(SEPARATOR) {
            match part.strip_prefix(REFUSED) {
                Some(refused) => mark.refused = Some(refused.to_owned()),
                None => mark.stop |= part == STOP,
            }
        }
        mark
    }

    /// The tag's value; `None`: no tag is needed.
    pub(crate) fn value(&self) -> Option<String> {
        let refused = self.refused.as_ref().map(|refused| format!("{REFUSED}{refused}"));
        let parts: Vec<String> = self.stop.then(|| STOP.to_owned()).into_iter().chain(refused).collect();
        (!parts.is_empty()).then(|| parts.join(SEPARATOR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_a_round_trip() {
        for (stop, refused) in [
            (true, None),
            (false, Some("instanceType=t3.x")),
            (true, Some("userData=sha256:0123456789abcdef")),
        ] {
            let mark = Mark { stop, refused: refused.map(str::to_owned) };
            assert_eq!(Mark::of(&Tags::from([(KEY.to_owned(), mark.value().unwrap())])), mark);
        }
        assert_eq!(Mark::default().value(), None);
    }

    #[test]
    fn an_edited_tag_is_ignored() {
        for value in ["", "stopped", "refused", "/ /"] {
            assert_eq!(Mark::of(&Tags::from([(KEY.to_owned(), value.to_owned())])), Mark::default());
        }
        assert_eq!(Mark::of(&Tags::new()), Mark::default());
    }
}
