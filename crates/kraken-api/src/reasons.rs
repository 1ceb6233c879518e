//! All reasons of Kraken's conditions and events. A reason is for programs and for searching the docs; the message is
//! for users.

/// Defines an enum of reasons whose variant names are the values in the Kubernetes API.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The variant with this name.
            pub fn of(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == name)
            }

            /// The value in conditions, events and metrics.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }
        }
    };
}

reasons! {
    /// Reasons of the resources of spokes.
    Reason {
        /// The desired state is in place.
        Available,
        /// No controller has reported yet.
        Pending,
        /// A reference has no value yet; the message names each one.
        DependenciesNotReady,
        /// The hub has not answered the DependencyRequest.
        WaitingForHub,
        /// The hub does not run, and the values of references may be outdated (`DependenciesResolved` only).
        HubNotRunning,
        /// The spec is invalid; the message names each field.
        InvalidSpec,
        /// The remote object is being created, or is created and not ready yet.
        Creating,
        /// The remote object is being changed.
        Updating,
        /// The remote object is being replaced, because a field cannot be changed in place and `lifecycle.replace`
        /// allows it.
        Replacing,
        /// The resource is being deleted, and other resources still refer to it; the message names them.
        DeletionBlocked,
        /// The resource is being deleted; it is removed when the provider reports that its remote objects are deleted.
        Deleting,
        /// A changed field cannot be changed in place; the message names it with both values.
        ImmutableField,
        /// The remote object differs from the spec, and `lifecycle.drift` is `Report`.
        Drifted,
        /// An out-of-band change or deletion was reverted (event only).
        DriftReverted,
        /// A remote object was created (event only).
        Created,
        /// The number of remote objects was changed (event only).
        Scaled,
        /// A field was changed in place (event only).
        Updated,
        /// The replaced remote object was deleted or released (event only).
        Replaced,
        /// The remote objects were deleted (event only).
        Deleted,
        /// The remote objects were released, without Kraken's tags (event only).
        Released,
        /// The plan awaits approval; the message has a summary and the hash, `status.plan` the whole plan.
        AwaitingApproval,
        /// The object in `lifecycle.adopt` cannot be adopted; the message says why.
        AdoptionRefused,
        /// An existing remote object was adopted (event only).
        Adopted,
        /// The remote objects of a former resource of this name, which does not exist any more, were taken over (event only).
        TakenOver,
        /// The remote objects are in another account or region than the one that the controller works in; nothing is
        /// changed. The message names both.
        LocationMismatch,
        /// The Account in `spec.account` does not exist, or the resource names none and the controller requires one.
        AccountNotFound,
        /// The Account exists and cannot be used: a Secret or key is missing, the provider rejects the credentials, or they
        /// belong to another account than the Account allows. The message says which.
        AccountNotReady,
        /// The Account of the resource forbids a value; nothing is called. The message names the field and the rule.
        NotAllowedByAccount,
        /// More objects exist than spec and replacement explain; nothing is launched.
        LaunchRefused,
        /// The resource launched too often for one spec; nothing is launched until a person confirms or edits it.
        LaunchLimitReached,
        /// Many remote objects of the kind disappeared at once; nothing is recreated until a person confirms.
        RecreationHeld,
        /// The finalizer or the intent was removed by another client and was restored (event only).
        RecordRestored,
        /// `lifecycle.paused` is true.
        Paused,
        /// `lifecycle.protect` is true and the resource is being deleted.
        DeletionProtected,
        /// The controller has no credentials for the provider, or the provider rejects them.
        CredentialsMissing,
        /// The controller lacks a setting such as the region; the message names the flag and the variable.
        ControllerNotConfigured,
        /// The provider rejected the request; an edit is required.
        CloudRefused,
        /// Throttled by the provider; the controller retries with backoff.
        Throttled,
        /// A temporary failure of the provider or the network; the controller retries with backoff.
        CloudUnavailable,
        /// A temporary failure of the Kubernetes API; the controller retries with backoff.
        KubernetesError,
        /// An internal error of the controller; its log has details.
        InternalError,
    }
}

reasons! {
    /// Reasons of DependencyRequests.
    DependencyReason {
        /// Every dependency has a value.
        Resolved,
        /// Several dependencies have no value, for different reasons.
        Unmet,
        /// The ConfigMap does not exist.
        ConfigMapNotFound,
        /// The Secret does not exist.
        SecretNotFound,
        /// The ConfigMap or Secret exists and lacks the key.
        KeyNotFound,
        /// The resource has not published a state: it does not exist or is not ready.
        StateNotFound,
        /// No controller serves the kind; the message suggests the most similar one.
        UnknownKind,
        /// Several providers have a resource of this kind and name; the message names the candidates.
        AmbiguousReference,
        /// The state exists and lacks the path, or the main id if there is no path.
        PathNotFound,
        /// The path is malformed.
        InvalidPath,
        /// The JSON type of the value differs from the type of the field.
        TypeMismatch,
        /// The value exceeds the size limit.
        ValueTooLarge,
        /// The references of resources form a cycle.
        ReferenceCycle,
        /// The content of the state is not what its resource published.
        StateNotTrusted,
        /// The object could not be read; the hub retries with backoff.
        ReadFailed,
    }
}

reasons! {
    /// Reasons of ConfigExports.
    ExportReason {
        /// The target has every entry.
        Exported,
        /// No controller has reported yet.
        Pending,
        /// An entry has no value; the target is not created, and is deleted unless `whileWaiting` is `Keep`.
        WaitingForValues,
        /// The spec is invalid; the message names each field.
        InvalidSpec,
        /// The target exists and was not written by this export; it is not changed.
        TargetNotOwned,
        /// The target could not be written; the hub retries with backoff.
        WriteFailed,
    }
}
