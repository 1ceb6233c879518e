//! The hub: it answers what resources ask of each other, and exports values to ConfigMaps and Secrets.
//!
//! Watches note who names what ([`index`], [`wake`]); a reconcile looks at the stores and reads bodies once per version
//! ([`world`], [`facts`], [`read`], [`kinds`], [`secrets`]); what follows from that is decided by pure code ([`find`],
//! [`trust`], [`hold`], [`requests`], [`exports`]). The same code reviews objects before they are stored ([`admission`]).

#![warn(missing_docs)]

pub mod admission;
pub mod cycle;
pub mod exports;
pub mod facts;
pub mod find;
pub mod hold;
pub mod index;
pub mod kinds;
pub mod names;
pub mod owned;
pub mod program;
pub mod read;
pub mod requests;
pub mod secrets;
pub mod trust;
pub mod undecodable;
pub mod wake;
pub mod world;
pub mod written;

pub use program::{Hub, HubArgs};
