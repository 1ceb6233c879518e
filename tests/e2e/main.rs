//! Kraken on a cluster with a node: controllers are pods of their images, and what they write reaches other pods.
//!
//! `cargo xtask e2e` installs Kraken, runs these tests one after the other, and uninstalls it. They see the cluster as its user does,
//! by `kubectl`, and run on any cluster that has the images.

mod admission;
mod installed;
mod overlays;
mod replicas;
mod resources;
mod site;
mod upgrade;
