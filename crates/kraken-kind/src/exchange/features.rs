//! What a kind has besides its calls.

use crate::{account::AccountKind, dynamic::SecretFieldPaths};

/// What a kind has besides its calls: constants that every layer passes as a whole. A new one is a field here, its default in
/// [`Features::NONE`], and its use.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct Features {
    /// Whether `create` with the token of an earlier call creates no new object: it returns the objects that the
    /// earlier call created, or fails with [`crate::FailureClass::TokenUsed`] if the parameters differ. If the provider
    /// has no such tokens, a launch whose result is unknown is waited for instead.
    pub is_idempotent: bool,
    /// Whether that holds only for a repeated call with the same parameters, because a unique name of the spec replaces
    /// the token: with another name, a second object would be created. The name must be immutable: a value that another
    /// client can change before the object is visible, such as the port of a listener, does not prevent a second object.
    pub idempotent_by_name: bool,
    /// Whether the provider returns a deleted object as deleted, for much longer than ten seconds. Then an object that a response
    /// does not contain after its deletion was requested may be hidden by a read that lags: unless it was returned as deleted
    /// before, it counts as deleted only after it was missing for ten seconds. For other kinds, it counts as deleted at once.
    pub shows_deleted: bool,
    /// What is deleted with a remote object besides itself, as a warning says it before: `all data`. Empty: nothing.
    pub contains: &'static str,
    /// Paths in [`crate::Difference`]s that are not fields of the spec, such as `state`: a user may name them in
    /// `lifecycle.ignoreChanges`.
    pub drift_paths: &'static [&'static str],
    /// For each field of the spec that may come from a Secret: the paths of the state that contain its value, or a
    /// value that the provider derives from it. They are then not published, whatever their value is. Paths are dotted
    /// and go through the elements of lists.
    ///
    /// A field that the state does not contain is listed without a path. A field that is not listed withholds the whole
    /// state. A field that becomes an id, a name or a tag has the type [`kraken_options::Public`] instead and accepts
    /// no Secret.
    pub secret_field_paths: SecretFieldPaths,
    /// Columns of `kubectl get` in addition to those of every kind, each with the path of its value in the published
    /// state.
    pub summary: &'static [(&'static str, &'static str)],
    /// The path that [`crate::Comparison::missing`] refers to when an object already exists, such as `maxCount`: a user who
    /// names it in `lifecycle.ignoreChanges` leaves the number to another controller. Empty: missing objects are always
    /// created.
    pub missing_path: &'static str,
    /// Paths that are compared as a whole, such as `defaultAction`: a path in `lifecycle.ignoreChanges` below one of
    /// them is rejected, because it would never match.
    pub whole_paths: &'static [&'static str],
    /// The fields of the spec that are set after the creation ([`kraken_options::Resolver::follow`]), whose references close no cycle.
    pub follows: &'static [&'static str],
    /// Whether [`crate::Kind::own_secret`] can return a Secret: the spoke then gets the permission to create Secrets.
    pub makes_secrets: bool,
    /// The fields of the spec whose changes follow one another in the order of the differences: one that is rejected or has no effect
    /// holds up the later ones. Other fields are independent.
    pub ordered_fields: &'static [&'static str],
    /// Whether a change in place may stop a remote object ([`crate::Remedy::Disruptive`]).
    pub disrupts: bool,
    /// Whether the kind looks up objects which Kraken does not manage: [`crate::Calls::observe`] reads what [`crate::ObserveRequest::wanted`]
    /// describes, and the objects with its ids; nothing is created, changed or deleted, and no finalizer is set.
    pub looks_up: bool,
    /// The field of other kinds that a look-up's answer is a value of, such as `vpcID`, if accounts restrict it.
    pub answers: &'static str,
    /// The kind of the provider's accounts, if it has any. Each resource can name one in `spec.account`, which the schema of the
    /// kind then has, and [`crate::Calls::connect`] connects it.
    pub accounts: Option<AccountKind>,
    /// Whether [`crate::Calls::import`] is implemented.
    pub imports: bool,
    /// Whether the kind keeps a journal of its creations: what [`crate::Calls::observe`] returns is then all that exists, at once,
    /// unless [`crate::dynamic::Observed::fate`] says otherwise. Other kinds are searched by tag, and a new object may be invisible for some time.
    pub journaled: bool,
    /// Whether creations, changes and deletions may take minutes: they do not count for the concurrency of reconciles, nor for their
    /// deadline, and are never interrupted.
    pub slow: bool,
}

impl Features {
    /// None of them.
    pub const NONE: Self = Self {
        is_idempotent: false,
        idempotent_by_name: false,
        shows_deleted: false,
        contains: "",
        drift_paths: &[],
        secret_field_paths: &[],
        summary: &[],
        missing_path: "",
        whole_paths: &[],
        follows: &[],
        makes_secrets: false,
        ordered_fields: &[],
        disrupts: false,
        looks_up: false,
        answers: "",
        accounts: None,
        imports: false,
        journaled: false,
        slow: false,
    };
}
