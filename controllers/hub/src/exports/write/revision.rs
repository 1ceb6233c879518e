//! Step 3 with `rotate`: finds the target with the desired content, or creates the next one. Client required.
//!
//! Each revision is read before it is decided, so that neither an old cache nor a crash between the creation and the status write
//! skips a revision or writes a content twice.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_runtime::patch::{ApiError, within};

use super::{Done, Found, Placed, ROUNDS, WriteError, Writer, digest_key};
use crate::{
    exports::{
        decide::Observed,
        resolve::Content,
        rotate::revisions::{self, Newest, Step, step},
        target::Target,
    },
    store::index::{Class, ObjectRef},
};

impl Writer<'_> {
    /// Returns the target with this content, and the result for it. `plain`: the target without its revision.
    ///
    /// # Errors
    /// The failed request.
    pub(crate) async fn reconcile_revision(
        &self,
        plain: &ObjectRef,
        content: &Content,
        newest: Newest,
    ) -> Result<(ObjectRef, Done), WriteError> {
        match plain.class {
            Class::Secret => self.revision_of_kind::<Secret>(plain, content, newest).await,
            // A StateDeclaration is never a target.
            Class::ConfigMap | Class::State => {
                self.revision_of_kind::<ConfigMap>(plain, content, newest).await
            }
        }
    }

    async fn revision_of_kind<T: Target>(
        &self,
        plain: &ObjectRef,
        content: &Content,
        newest: Newest,
    ) -> Result<(ObjectRef, Done), WriteError> {
        let (mut revision, mut races) = (newest.revision.max(1), 0);
        let mut former_key = None;
        loop {
            let named = revisions::named(plain, revision);
            let found = self.observe_revision::<T>(&named, content).await;
            let Found { observed, meta, changes, digest_key } =
                found.map_err(|source| WriteError::Read { named: named.to_string(), source })?;
            let step = step(observed, changes.is_empty(), newest.may_create(revision));
            tracing::debug!(target = %named, ?step, "decided");
            let done = match step {
                Step::Next => {
                    former_key = digest_key.or(former_key);
                    revision += 1;
                    continue;
                }
                Step::Keep(version) => Ok(Done::InPlace(Placed { version, digest_key })),
                Step::Label(version) => self.update::<T>(&named, &version, changes).await,
                Step::Create => {
                    // The same key for all revisions, so that their contents can be compared.
                    let digest_key = former_key.clone().or_else(|| self.digest_key.clone());
                    let successor = Writer { client: self.client.clone(), digest_key, ..*self };
                    successor.create::<T>(&named, content, &meta).await
                }
                Step::Refuse(owner) => Ok(Done::Foreign(owner)),
            };
            match done {
                Err(error) if races < ROUNDS && error.is_race() => races += 1,
                ended => return ended.map(|done| (named, done)),
            }
        }
    }

    async fn observe_revision<T: Target>(
        &self,
        named: &ObjectRef,
        content: &Content,
    ) -> Result<Found, ApiError> {
        let found = within("read", self.api::<T>(named).get_opt(&named.key.name)).await?;
        let Some(object) = found else { return Ok(Found::of(Observed::Absent)) };
        let matches = object.is_of(self.secret_type()) && object.matches(content);
        Ok(Found {
            observed: self.classify(named, object.meta(), matches, object.immutable()).await?,
            changes: self.metadata_changes(object.meta()),
            digest_key: digest_key(&object),
            meta: object.meta().clone(),
        })
    }
}
