//! Tests of an installation on a cluster with a node, where the controllers run as pods and other pods mount exported values.
//!
//! `cargo xtask e2e` installs Kraken, runs these tests sequentially, and uninstalls it. The tests use `kubectl`, as users do, and run on any
//! cluster that has the images.

mod admission;
mod installed;
mod overlays;
mod replicas;
mod resources;
mod site;
mod upgrade;
