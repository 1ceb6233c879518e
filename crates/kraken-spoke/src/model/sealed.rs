//! JSON in an annotation with a digest of itself and of the UID of its resource, so that an edit and a copy to another resource are
//! noticed. It protects from mistakes, not from a client that computes the digest. Pure.

use crate::model::in_place;

const OPENING: &str = "{\"digest\":\"";
const SEPARATOR: &str = "\",";

/// The text for the annotation of the resource with this UID. `json` is an object with at least one member.
pub(crate) fn with_digest(uid: &str, json: &str) -> String {
    let members = json.strip_prefix('{').unwrap_or_default();
    format!("{OPENING}{}{SEPARATOR}{members}", digest(uid, members))
}

/// The JSON object in a text that [`with_digest`] returned for this UID; `None` if it did not.
pub(crate) fn verified(uid: &str, text: &str) -> Option<String> {
    let (digested, members) = text.strip_prefix(OPENING)?.split_once(SEPARATOR)?;
    (digested == digest(uid, members)).then(|| format!("{{{members}"))
}

fn digest(uid: &str, members: &str) -> String {
    in_place::digest(uid, members, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_verified_as_it_was_written_and_for_its_resource_only() {
        let text = with_digest("u-1", r#"{"epoch":1,"at":"then"}"#);
        assert!(
            text.starts_with(r#"{"digest":""#) && text.ends_with(r#"","epoch":1,"at":"then"}"#),
            "{text}"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        assert_eq!(verified("u-1", &text).as_deref(), Some(r#"{"epoch":1,"at":"then"}"#));
        assert_eq!(verified("u-2", &text), None);
    }

    #[test]
    fn an_edited_text_is_not_verified() {
        let text = with_digest("u-1", r#"{"epoch":1}"#);
        for edited in [
            text.replace(r#""epoch":1"#, r#""epoch":2"#),
            text.replace('}', r#","outgoing":["i-1"]}"#),
            text.replace(r#""digest":""#, r#""digest":"0"#),
            r#"{"epoch":1}"#.to_owned(),
            String::new(),
        ] {
            assert_eq!(verified("u-1", &edited), None, "{edited}");
        }
    }
}
