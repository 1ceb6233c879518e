//! The referenced objects: the index of who depends on whom, and their bodies, which are read once per version.

pub(crate) mod cycle;
pub(crate) mod dependents;
pub(crate) mod digest_key;
pub(crate) mod grants;
pub(crate) mod index;
pub(crate) mod kinds;
pub(crate) mod lookup;
pub(crate) mod read;
pub(crate) mod secrets;
pub(crate) mod settled;
pub(crate) mod trust;
pub(crate) mod version;
