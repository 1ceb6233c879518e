//! What is known of a creation whose response was lost, at a provider that cannot be searched by tag.

/// What a kind that keeps a journal ([`crate::Features::journaled`]) knows of the last creation of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// What it created is among the observed objects, or it created nothing. Always so for kinds whose objects are searched for.
    #[default]
    Known,
    /// It is still in progress. The text says what, and since when: `creates network "web" since 10:02:11Z`.
    Running(String),
    /// An object may exist that nothing can find. The text says what was requested, when, and why the result is not known.
    Unknown(String),
}
