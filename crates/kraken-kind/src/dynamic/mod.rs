//! What the reconcile loop knows of kinds: their types are known only at run time.
//!
//! The loop is compiled once, here, and not once for each kind: that would be most of the code of a spoke, and most of
//! its build time. A kind implements [`Kind`], its pure functions, and [`Calls`], its calls to the provider. The type of a spec, of a desired
//! state, of an observed one and of a change is known only to the kind, which may use JSON for all of them.

mod calls;
mod fields;
mod info;
mod json;
mod kind;
mod object;
mod observed;
mod opaque;
mod schema;
mod served;
mod typed;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;

pub use calls::{Calls, Connected, Connection};
pub use info::KindInfo;
pub use kind::Kind;
pub use object::account_of;
pub use object::{Object, Spec};
pub use observed::{Existence, Observed, ObservedObject};
pub use opaque::{Change, Desired, Opaque, Payload};
pub use schema::Schema;
pub use served::Served;
pub use typed::decode;

/// A name that is known only at run time, for metrics and messages, which borrow it for ever. Each is stored once per process.
pub fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = name.to_owned().leak();
    names.insert(name);
    name
}

/// Fields of a spec that may come from Secrets, as [`crate::Features::secret_field_paths`], of a kind whose state has the names of its spec. Each
/// list is stored once per process.
pub fn interned_fields<'a>(names: impl Iterator<Item = &'a str>) -> SecretFieldPaths {
    static LISTS: Mutex<BTreeMap<Vec<&'static str>, SecretFieldPaths>> = Mutex::new(BTreeMap::new());
    let names: Vec<&'static str> = names.map(interned).collect();
    LISTS.lock().entry(names).or_insert_with_key(|names| {
        let path =
            |name: &&'static str| -> (&'static str, &'static [&'static str]) { (name, vec![*name].leak()) };
        names.iter().map(path).collect::<Vec<_>>().leak()
    })
}

/// For each field of a spec that may come from a Secret, the paths of the state that contain it.
pub type SecretFieldPaths = &'static [(&'static str, &'static [&'static str])];

/// A kind, shared by all its users.
pub type SharedKind = Arc<dyn Kind>;
