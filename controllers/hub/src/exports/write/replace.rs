//! Step 3 for a target that cannot be changed: its successor is tried before it is deleted. Client required.

use kraken_runtime::patch::within;
use kube::api::{ObjectMeta, PostParams};

use super::{Done, ROUNDS, WriteError, Writer};
use crate::{
    exports::{resolve::Content, target::Target},
    store::index::ObjectRef,
    store::version::Version,
};

impl Writer<'_> {
    /// Deletes a target that cannot be changed and creates its successor, after the API server has accepted the successor in a dry run:
    /// whatever refuses it (missing keys of a type, a quota, a policy, a webhook) leaves the target in place.
    pub(super) async fn replace<T: Target>(
        &self,
        named: &ObjectRef,
        content: &Content,
        version: Version,
        former: &ObjectMeta,
    ) -> Result<Done, WriteError> {
        self.try_successor::<T>(named, content, former).await?;
        self.delete::<T>(named, version).await?;
        let mut attempt = 1;
        loop {
            match self.create::<T>(named, content, former).await {
                // The labels and annotations of others are known only here.
                Err(error) if attempt < ROUNDS && error.is_transient() => attempt += 1,
                ended => return ended,
            }
        }
    }

    /// The API server checks that a name is free last, after everything that can refuse the object.
    async fn try_successor<T: Target>(
        &self,
        named: &ObjectRef,
        content: &Content,
        former: &ObjectMeta,
    ) -> Result<(), WriteError> {
        let object = T::new(self.metadata(named, former), self.secret_type(), content, false);
        let params = PostParams { field_manager: Some(self.manager.to_owned()), dry_run: true };
        match within("create", self.api::<T>(named).create(&params, &object)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_conflict() && !error.is_invalid() => Ok(()),
            Err(source) => Err(WriteError::Replace { named: named.to_string(), source }),
        }
    }
}
