//! Every reason a condition or an event of Kraken can carry. A reason is for programs and for searching the docs; the
//! message beside it is for people.

/// Makes an enum of reasons whose names are what Kubernetes shows.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The one of this name.
            pub fn of(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == name)
            }

            /// As written in conditions, events and metrics.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }
        }
    };
}

reasons! {
    /// Why a resource of a spoke is ready or not.
    Reason {
        /// The infrastructure is there and as wanted.
        Available,
        /// No controller has looked yet.
        Pending,
        /// A reference has no value yet; the message names each.
        DependenciesNotReady,
        /// The hub has not answered the DependencyRequest: is it running?
        WaitingForHub,
        /// The hub does not run: the values of references are those of before (`DependenciesResolved` only).
        HubNotRunning,
        /// The spec cannot be carried out as written; the message names each field.
        InvalidSpec,
        /// Being created, or created and not yet running.
        Creating,
        /// Being changed.
        Updating,
        /// Being replaced, because a field cannot be changed in place and `lifecycle.replace` allows it.
        Replacing,
        /// Being deleted, and other resources still refer to it; the message names them.
        DeletionBlocked,
        /// Being deleted; the resource goes when the cloud says that the infrastructure is gone.
        Deleting,
        /// A changed field cannot be changed in place; the message names it with both values.
        ImmutableField,
        /// The infrastructure differs and `lifecycle.drift` is `Report`.
        Drifted,
        /// Something that was deleted or changed outside was put back (event only).
        DriftReverted,
        /// A remote object was created (event only).
        Created,
        /// The number of remote objects was changed (event only).
        Scaled,
        /// A field was changed in place (event only).
        Updated,
        /// What was replaced was deleted, or released (event only).
        Replaced,
        /// The remote objects were deleted, or are gone (event only).
        Deleted,
        /// The remote objects were left as they are, without Kraken's tags (event only).
        Released,
        /// What is to be done waits for approval; the message has the plan and its hash, `status.plan` all of it.
        AwaitingApproval,
        /// What `lifecycle.adopt` names cannot be adopted; the message says why.
        AdoptionRefused,
        /// What existed already was taken over (event only).
        Adopted,
        /// What the resource manages is in another account or region than the one that the controller works in; nothing is
        /// touched. The message names both.
        LocationMismatch,
        /// More objects exist than spec and replacement explain; nothing is launched.
        LaunchRefused,
        /// The resource launched too often for one spec; nothing is launched until a person confirms or edits it.
        LaunchLimitReached,
        /// Much of what the kind manages vanished at once; nothing is created again until a person confirms.
        RecreationHeld,
        /// The finalizer and the record of launches were removed by somebody and put back (event only).
        RecordRestored,
        /// `lifecycle.paused` is true.
        Paused,
        /// `lifecycle.protect` is true and the resource is being deleted.
        DeletionProtected,
        /// The controller has no credentials for the cloud, or the cloud refused them.
        CredentialsMissing,
        /// The controller lacks a setting such as the region; the message names the flag and the variable.
        ControllerNotConfigured,
        /// The cloud refused the request; an edit is needed.
        CloudRefused,
        /// The cloud asks for fewer calls; the controller slows down by itself.
        Throttled,
        /// The cloud or the network failed for now; the controller tries again by itself.
        CloudUnavailable,
        /// The Kubernetes API failed for now; the controller tries again by itself.
        KubernetesError,
        /// A fault of the controller itself; the log has more.
        InternalError,
    }
}

reasons! {
    /// Why a DependencyRequest is answered in full or not.
    DependencyReason {
        /// Every dependency has a value.
        Resolved,
        /// Several dependencies are unmet, for different reasons.
        Unmet,
        /// The ConfigMap does not exist.
        ConfigMapNotFound,
        /// The Secret does not exist.
        SecretNotFound,
        /// The ConfigMap exists and lacks the key.
        KeyNotFound,
        /// The resource has not published a state: it does not exist or is not ready.
        StateNotFound,
        /// No controller serves the kind; the message names the nearest one.
        UnknownKind,
        /// Several providers have a resource of this kind and name; the message names the candidates.
        AmbiguousReference,
        /// The state exists and lacks the path, or the main id if there is no path.
        PathNotFound,
        /// The path is not well formed.
        InvalidPath,
        /// The value has another JSON type than the field.
        TypeMismatch,
        /// The value is too large to be passed on.
        ValueTooLarge,
        /// Resources refer to each other in a circle.
        ReferenceCycle,
        /// The state is not what the resource it is named after has published.
        StateNotTrusted,
        /// The object could not be read; tried again by itself.
        ReadFailed,
    }
}

reasons! {
    /// Why a ConfigExport is in place or not.
    ExportReason {
        /// The target holds every entry.
        Exported,
        /// No controller has looked yet.
        Pending,
        /// An entry has no value; the target is not created, or removed unless `whileWaiting` is `Keep`.
        WaitingForValues,
        /// The spec cannot be carried out as written; the message names each field.
        InvalidSpec,
        /// The target exists and belongs to somebody else; it is left alone.
        TargetNotOwned,
        /// The target could not be written; tried again by itself.
        WriteFailed,
    }
}
