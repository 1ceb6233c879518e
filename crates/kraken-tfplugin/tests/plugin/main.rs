//! Tests with real plugins: ktest, whose faults are on demand (both protocols), and providers of others (ignored, because their builds
//! take minutes): `cargo test -p kraken-tfplugin --test plugin -- --ignored time`.
#![allow(clippy::unwrap_used)] // a panic fails the test

mod ktest;
mod operations;
mod programs;
mod resources;
mod start;
mod time;
mod values;
