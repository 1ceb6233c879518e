//! All reasons of Kraken's conditions and events. A reason is for programs and for searching the docs; the message is
//! for users.

/// What a condition with a reason says, for the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The status of the Ready condition: `True`, `False`, `Unknown`, or `Unchanged`.
    pub ready: &'static str,
    /// What it means, in Markdown.
    pub meaning: &'static str,
    /// What to do about it, in Markdown.
    pub remedy: &'static str,
}

/// Defines an enum of reasons whose variant names are the values in the Kubernetes API. The text of a variant is what it means; a
/// reason of a condition is followed by the status of Ready, and by what to do.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident {
        $($(#[doc = $text:literal])+ $variant:ident $(: $ready:ident => $remedy:literal)?,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $text])+ $variant,)+ }

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

            /// What a condition with this reason says; `None` if only events have it, or if it is documented elsewhere.
            pub fn explanation(self) -> Option<Explanation> {
                let (meaning, rest): (&'static str, &[(&'static str, &'static str)]) = match self {
                    $(Self::$variant => (concat!($($text),+), &[$((stringify!($ready), $remedy))?]),)+
                };
                rest.first().map(|&(ready, remedy)| Explanation { ready, meaning: meaning.trim_start(), remedy })
            }
        }
    };
}

reasons! {
    /// Reasons of the resources of spokes.
    Reason {
        /// The desired state is in place.
        Available: True => "Nothing.",
        /// No controller has reported yet. Progress is not reported in the first ten seconds, in which a resource waits for its
        /// references.
        Pending: Unknown => "If it persists, check that the spoke runs.",
        /// A reference has no value yet. The message names each one. It is reported at once if an edit is required (a key, a path,
        /// a type, a cycle, an unknown kind), after two seconds if the referenced object does not exist or is in a namespace without a grant, and after eight seconds if
        /// the object exists and has not published a value yet (after 30, while the hub keeps answering other resources of the
        /// kind).
        DependenciesNotReady: False => "Create or fix the named object, or have its owner grant the reference. Both trigger a reconcile of the resource.",
        /// The hub has not resolved the references for ten seconds.
        WaitingForHub: False => "Check that `kraken-hub` runs.",
        /// A reason of `DependenciesResolved=Unknown`: the hub has not renewed its leader lease, and changes of referenced objects
        /// have no effect. Resources that are in place stay Ready.
        HubNotRunning: Unchanged => "Check the Deployment `kraken-hub`. The condition is cleared when the hub runs again.",
        /// The spec is invalid. The message names each field. A problem that no value of a reference can solve is reported without
        /// waiting for values.
        InvalidSpec: False => "Edit the spec, or the ConfigMap that provides the value.",
        /// The remote object is being created, or is created and not ready yet. After a restart of the controller, it may last for
        /// the visibility window while it searches for a launch that is not recorded ([lifecycle](lifecycle.md#removed-records)).
        Creating: False => "Wait. The message names the cause.",
        /// The remote object is being changed.
        Updating: False => "Wait. The message names the cause.",
        /// The remote object is being replaced, because a field cannot be changed in place and `lifecycle.replace` allows it.
        Replacing: False => "Wait. The message names the cause, and the dependents that have not moved yet.",
        /// The resource is being deleted, and other resources still refer to it. The message names them, those of other namespaces as
        /// `namespace:name`.
        DeletionBlocked: False => "Delete them, or change their references.",
        /// The resource is being deleted; it is removed when the provider reports that its remote objects are deleted.
        Deleting: False => "Wait. The message names the cause.",
        /// A field cannot be changed in place. The message has both values.
        ImmutableField: False => "Follow the message, or restore the old value.",
        /// A reason of the condition `Drifted`: the remote object differs from the spec, and `lifecycle.drift` is `Report`. See
        /// `status.drift`.
        Drifted: True => "Revert the change, edit the spec, or set `Revert`.",
        /// A reason of the condition `UpdateAvailable`: a look-up found a newer answer than the one that it publishes, and `spec.pin` is
        /// `true`. The message names both. See `status.plan`.
        NewerAnswer: True => "To publish it, annotate the look-up with the hash of the plan. Then its dependents change.",
        /// A look-up found no object. The message says what was searched for. As a reason of `Synced`, the answer from before is kept.
        NotFound: False => "Edit what the look-up searches for, or create the object. Kraken searches again with exponential backoff, at least every 5 minutes.",
        /// A look-up found more objects than it can publish. The message names them, and the fields that narrow the search. As a reason of
        /// `Synced`, the answer from before is kept.
        Ambiguous: False => "Set the fields that the message names.",
        /// The object that a look-up publishes does not exist any more. It stays published, so that no dependent changes by itself.
        AnswerLost: False => "Approve the plan that the message names, or edit what the look-up searches for.",
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
        /// A plan awaits approval. The message has a summary and the hash, `status.plan` the whole plan.
        AwaitingApproval: False => "Review the plan, then annotate the resource with its hash.",
        /// The object in `lifecycle.adopt` does not exist, is owned by another resource or cluster, or is not unique; or the id was
        /// edited after the adoption.
        AdoptionRefused: False => "Follow the message. Nothing was changed.",
        /// An existing remote object was adopted (event only).
        Adopted,
        /// The remote objects of a former resource of this name, which does not exist any more, were taken over (event only).
        TakenOver,
        /// The remote objects are in another account or region than the one that the controller works in. The message names both.
        LocationMismatch: False => "Start the controller with that account and region. Nothing was changed.",
        /// The Account in `spec.account` does not exist in the namespace, or none is named and the controller requires one. Without
        /// the component `aws-account`, none can exist.
        AccountNotFound: False => "Create the Account, or name another; install the component if the message names it. The resource, and its deletion, wait for it.",
        /// The Account cannot be used: a Secret or key is missing, the provider rejects the credentials or the role, or they belong
        /// to an account that `allowedAccountIDs` does not contain. Nothing is observed or changed.
        AccountNotReady: False => "Follow the message. Kraken checks again every 30 s, and at once when the Account changes.",
        /// The Account forbids a value. The message names the field and the rule. Nothing is called.
        NotAllowedByAccount: False => "Use another value, or have an administrator change the Account.",
        /// More objects exist than the spec and a replacement explain. The message names them.
        LaunchRefused: False => "Delete the surplus objects, and report it. Kraken retries with exponential backoff.",
        /// The resource launched too often for one spec.
        LaunchLimitReached: False => "Find out why the launched objects do not persist. Then edit the spec, or annotate it as the message says.",
        /// The controller ended, or lost its connection, while the provider created an object of a type that cannot be searched for.
        /// Nothing is created and no record is removed until a person says whether it exists.
        CreationUnknown: False => "Look for the object at the provider. If it exists, name it in `lifecycle.adopt.id`; if it does not, annotate the resource as the message says.",
        /// Many remote objects of the kind disappeared at once.
        RecreationHeld: False => "Check credentials, region and endpoint. If the objects were really deleted, annotate the resource as the message says.",
        /// The finalizer or the ledger was removed by another client and was restored (event only).
        RecordRestored,
        /// `lifecycle.paused` is `true`.
        Paused: False => "Set it to `false`.",
        /// The resource is being deleted or replaced, and `lifecycle.protect` or the provider's own protection is on.
        DeletionProtected: False => "Set `lifecycle.protect` to `false`. For the provider's protection, follow the message.",
        /// The controller has no credentials, or the provider rejects them.
        CredentialsMissing: False => "See the message and the controller's log. Kraken retries every 30 s.",
        /// The controller was started without a required setting, such as the region.
        ControllerNotConfigured: False => "Start it with the flag or the variable that the message names.",
        /// The provider rejected the request.
        CloudRefused: False => "Edit the field that the message names. Kraken retries with exponential backoff, at least every 5 minutes, because the cause may be fixed at the provider.",
        /// A value that must be unique, such as a name or a CIDR block, belongs to the object of another resource. The message names both.
        ValueInUse: False => "Delete the other resource, change its value, or use another one. After a rename in Git, wait until the former resource is deleted: Kraken retries when a resource of the kind is deleted or changed, and with exponential backoff, at most 5 minutes.",
        /// The provider throttles the calls.
        Throttled: False => "Nothing. Kraken retries with exponential backoff, at most 5 minutes.",
        /// A temporary failure of the provider or the network.
        CloudUnavailable: False => "Nothing. Kraken retries with exponential backoff, at most 5 minutes. If the error code begins with `Insufficient` and does not disappear, request fewer objects, or use another subnet, zone or instance type.",
        /// A temporary failure of the Kubernetes API.
        KubernetesError: False => "Nothing. Kraken retries with exponential backoff, at most 5 minutes.",
        /// An internal error of the controller.
        InternalError: False => "See the controller's log for its location, and report it.",
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
        /// The resource is in another namespace, which has no ReferenceGrant for the reference, whether or not it exists.
        RefNotPermitted,
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

reasons! {
    /// Reasons of ProviderInstalls and ProviderConfigs.
    ProviderReason {
        /// All kinds of the ProviderInstall are installed.
        Installed,
        /// The program does not start, has another digest, or is no provider.
        ProviderNotStarted,
        /// The spec is invalid; the message names each field.
        InvalidSpec,
        /// Resources of a kind that would be removed exist, or use a field that the new program does not have. The message names them.
        InUse,
        /// The new program would change resources, or it is not known whether it would. The former one stays in use; the message names the
        /// resources, and `status.switch` counts them.
        SwitchRefused,
        /// The kinds are being installed.
        Installing,
        /// The kinds are being removed.
        Uninstalling,
        /// The provider accepts the ProviderConfig.
        Accepted,
        /// The ProviderInstall that the ProviderConfig names does not exist or is not ready.
        ProviderNotInstalled,
        /// The provider rejects the ProviderConfig.
        Rejected,
        /// The provider could not be asked.
        NotChecked,
        /// A call to the Kubernetes API failed.
        KubernetesError,
    }
}
