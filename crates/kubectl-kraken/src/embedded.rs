//! Manifests of this version that are part of the program, listed by `build.rs`.

/// What a controller is installed by: YAML documents.
#[derive(Debug)]
pub(crate) struct Controller {
    /// Its folder, such as `aws-vpc`; its program and its service account are `kraken-aws-vpc`.
    pub(crate) name: &'static str,
    /// Its kinds.
    pub(crate) crds: &'static [&'static str],
    /// Its service account, and the roles of that.
    pub(crate) roles: &'static [&'static str],
    /// Its admission policies.
    pub(crate) policies: &'static [&'static str],
    /// Its admission webhooks.
    pub(crate) webhooks: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The CRDs of all controllers.
pub(crate) fn crds() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().flat_map(|controller| controller.crds).copied()
}

/// The roles of all controllers.
pub(crate) fn roles() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().flat_map(|controller| controller.roles).copied()
}
