//! Tests with real plugins: ktest, whose faults are on demand (both protocols), and providers of others (ignored, because their builds
//! take minutes): `cargo test -p kraken-tfplugin --test plugin -- --ignored times_are`.
#![allow(clippy::unwrap_used, clippy::panic)] // a panic fails the test

mod host;
mod ktest;
mod openstack;
mod operations;
mod programs;
mod resources;
mod start;
mod time;
mod values;
