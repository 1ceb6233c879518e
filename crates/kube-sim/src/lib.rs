#![cfg_attr(doctest, doc = include_str!("../README.md"))]
//! An in-memory API server of Kubernetes for tests and deterministic simulations of controllers, with the messages, codes and order of
//! checks of kube-apiserver 1.35. The README shows what it can do.
//!
//! [`ApiServer::handle`] is synchronous: the effect of a request is atomic. [`ApiServer::client`] is a client of it. It is deterministic,
//! starts no task and reads no other clock than tokio's and the [`Clock`] that it is given: the same requests at the same times have the
//! same responses.

mod apply;
mod base64;
mod connection;
mod controllers;
mod decode;
mod delete;
mod discovery;
mod events;
mod fault;
mod fields;
mod kinds;
mod merge_patch;
mod meta;
mod operations;
mod patch;
mod read;
mod reply;
mod request;
mod scale;
mod secrets;
mod selectors;
mod server;
mod state;
mod store;
mod strategy;
mod time;
mod uids;
mod watch;
mod write;

use kube_schema::{self as schema, cause, go};

pub use connection::Connection;
pub use kinds::Kinds;
pub use kube_schema::SchemaError;
pub use reply::{Events, Reply};
pub use server::{ApiServer, Revisions, Snapshot};
pub use time::Clock;
