//! The hub: resolves references between resources, and exports values to ConfigMaps and Secrets.
//!
//! Watches maintain the index of references ([`index`], [`event_router`]). A reconcile uses the stores and reads bodies
//! once per version ([`cluster_state`], [`lookup`], [`read`], [`kinds`], [`secrets`]). Pure code decides the result
//! ([`find`], [`trust`], [`debounce`], [`requests`], [`exports`]). The same code reviews objects at admission
//! ([`admission`]).

pub mod admission;
pub mod cluster_state;
pub mod cycle;
pub mod debounce;
pub mod event_router;
pub mod exports;
pub mod find;
pub mod index;
pub mod kinds;
pub mod lookup;
pub mod names;
pub mod owned;
pub mod program;
pub mod read;
pub mod requests;
pub mod secrets;
pub mod trust;
pub mod undecodable;
pub mod written;

pub use program::{Hub, HubArgs};
