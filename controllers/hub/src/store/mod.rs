//! The referenced objects: the index of who depends on whom, and their bodies, which are read once per version.

pub mod cycle;
pub mod index;
pub mod kinds;
pub mod lookup;
pub mod read;
pub mod secrets;
pub mod trust;
