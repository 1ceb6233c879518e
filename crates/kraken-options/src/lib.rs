//! Option types: the fields of a spec that are a literal or a reference, and their resolution to values.
//!
//! A field is an [`Opt`]: a literal, or a reference to a ConfigMap, a Secret, another Kraken resource or a template over those; in a
//! [`ListOpt`] and a [`MapOpt`], each element is one. A kind resolves its options with a [`Resolver`], which collects their dependencies
//! and reports all problems at once, each with its field path.
//!
//! This crate has no Kubernetes client, no clock and no environment: its functions are pure, and never panic.
//!
//! ```
//! use kraken_options::{Opt, Resolver, Values};
//!
//! let size: Opt<String> = serde_json::from_str(r#"{"value": "t2.nano"}"#)?;
//! let values = Values::default();
//! let mut resolver = Resolver::new(&values);
//! let size = resolver.take("instanceType", &size);
//! assert_eq!(size.map(|size| size.expose().clone()).as_deref(), Some("t2.nano"));
//! assert!(resolver.finish().dependencies.is_empty());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod bounds;
mod budget;
mod dependency;
mod encodings;
mod faults;
mod governed;
mod json_type;
mod jsonpath;
mod list;
mod list_schema;
mod literal;
mod lookup;
mod map;
mod names;
mod option;
mod path;
mod pattern;
mod problem;
mod public;
mod read;
mod resolved;
mod resolver;
mod scan;
mod schema;
mod scrub;
mod secret_name;
mod step;
mod template;
mod types;
mod values;

pub use budget::Budget;
pub use dependency::{Dependencies, Dependency};
pub use governed::{Governed, Restricted, RestrictedValue};
pub use json_type::JsonType;
pub use list::{Element, Elements, ListOpt};
pub use list_schema::element_schema;
pub use literal::Literal;
pub use lookup::{LookupError, LookupReason};
pub use map::{MapOpt, PublicMap};
pub use names::{KindRef, kind_key};
pub use option::{KeyRef, Opt, ResourceRef, SecretSource, ShortRef, ValueFrom};
pub use path::{Path, PathError};
pub use pattern::matches;
pub use problem::{Problem, ProblemKind, summary};
pub use public::Public;
pub use resolved::{Resolved, Sensitive};
pub use resolver::{Following, Resolution, Resolver};
pub use schema::{KEY_PATTERN, KIND_PATTERN, NAME_PATTERN, NAMESPACE_PATTERN, any_json, any_object};
pub use scrub::Scrubber;
pub use secrecy::{ExposeSecret, SecretString};
pub use secret_name::SecretName;
pub use template::{Piece, RenderError, Template, TemplateError};
pub use types::{OptionType, Text};
pub use values::{SecretData, Values};
