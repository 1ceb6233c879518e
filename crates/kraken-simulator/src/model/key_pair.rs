//! Key pairs.

/// A key pair.
#[derive(Debug, Clone)]
pub(crate) struct KeyPair {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    /// `rsa` or `ed25519`.
    pub(crate) of: &'static str,
    /// The imported key.
    pub(crate) public: Option<String>,
    pub(crate) created: String,
}
