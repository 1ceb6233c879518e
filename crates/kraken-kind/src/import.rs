//! What a kind answers when a user asks which objects exist at the provider: see [`kraken_api::ImportRequest`].

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Identity;

/// Which objects an import is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of the account and region.
    Account,
    /// Those in the object with this id, and that object itself.
    Within(String),
    /// Those with all of these tags.
    Tags(BTreeMap<String, String>),
}

/// What exists of one kind.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The objects, in any order.
    pub found: Vec<Found>,
    /// What exists and has no kind, in words.
    pub unsupported: Vec<String>,
    /// The field of other kinds that contains the id of an object, if that is a name: other fields may contain it by chance.
    pub named_by: Option<&'static str>,
}

/// One object.
#[derive(Clone, Debug)]
pub struct Found {
    /// The id, as `lifecycle.adopt.id` takes it.
    pub id: String,
    /// Its name at the provider, if it has one.
    pub name: Option<String>,
    /// The owner according to its tags, a resource of any cluster.
    pub owner: Option<Identity>,
    /// The spec whose comparison with the object shows no difference, without a lifecycle and with literals only; or why there is
    /// none.
    pub spec: Result<Value, String>,
    /// What the spec does not contain, and why.
    pub notes: Vec<String>,
}
