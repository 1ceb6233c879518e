//! The canonical form of a group whose values AWS returns as texts.

/// The values of a group as texts, by the names of their fields and in their order. Absent fields have AWS's defaults, so that
/// equivalent groups are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts(Vec<(&'static str, String)>);

impl Texts {
    /// From the text, or else the default, of each field.
    pub fn new<const N: usize>(fields: [(&'static str, Option<String>, &str); N]) -> Self {
        let field = |(name, text, default): (_, Option<String>, &str)| {
            (name, text.unwrap_or_else(|| default.to_owned()))
        };
        Self(fields.map(field).into())
    }

    /// The names and texts of all fields.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, text)| (*name, text.as_str()))
    }

    /// The text of a field; empty if the group has no such field.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| *other == name).map_or("", |(_, text)| text)
    }

    /// Sets the text of a field.
    pub fn set(&mut self, name: &str, text: &str) {
        if let Some((_, old)) = self.0.iter_mut().find(|(other, _)| *other == name) {
            text.clone_into(old);
        }
    }

    /// The fields that have another text than in the other group.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let differs = |(name, text): &&(&'static str, String)| other.get(name) != text;
        self.0.iter().filter(differs).map(|(name, _)| *name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_text_is_the_default() {
        let desired = Texts::new([("port", None, "#{port}"), ("host", Some("a".to_owned()), "#{host}")]);
        assert_eq!((desired.get("port"), desired.get("host"), desired.get("path")), ("#{port}", "a", ""));
        let mut observed = Texts::new([("port", Some("#{port}".to_owned()), ""), ("host", None, "b")]);
        assert_eq!(desired.differing(&observed), ["host"]);
        observed.set("host", "a");
        assert_eq!(desired, observed);
    }
}
