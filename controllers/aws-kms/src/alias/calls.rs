//! The calls of aliases.

use kraken_aws::{
    Tags,
    errors::{invisible, terminal, undecided},
    marker::Marker,
    prelude::*,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    observed::{Alias, marker_key},
    read,
};
use crate::kms::{self, KmsClients as _, id_in};

const CREATE: &str = "failed to create the alias";

/// The kind Alias.
pub(crate) struct Aliases;

impl AwsResource for Aliases {
    type Kind = api::Alias;
    /// By its name, which is unique in the account and region: AWS rejects a second one, whatever its key is.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn not_importable(alias: &Alias) -> Option<String> {
        let is_of_service = alias.alias_name.starts_with(super::observed::RESERVED);
        is_of_service.then(|| "it is an alias of AWS".to_owned())
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Alias>, Failure> {
        read::read(aws, query).await
    }

    /// A tag of the key says, before the call, that this launch creates the alias, after it was found not to exist: an alias that exists after a
    /// crash is then that of the launch. AWS rejects the call if somebody else is faster.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Alias, Failure> {
        let name = exposed(desired.name.as_ref()).unwrap_or_else(|| format!("alias/{}", creation.name()));
        let key = id_in(desired.target_key_id.expose());
        let began = has_begun(aws, key, &name, creation).await?;
        let holder = read::one(aws, &name).await?;
        if let Some(holder) = holder.filter(|_| !began) {
            return own_or_taken(holder, creation);
        }
        let marker_key = marker_key(&name);
        if !began {
            let pending = Marker::new(None, creation.tags).text();
            kms::set_tags(aws, key, &Tags::from([(marker_key.clone(), pending)])).await?;
        }
        let call = aws.kms_once().create_alias().alias_name(&name).target_key_id(key).send();
        match aws.call("CreateAlias", CREATE, call).await {
            // By a former attempt of this launch.
            Err(failure) if failure.class == FailureClass::TokenUsed && began => {}
            Err(failure) if failure.class == FailureClass::TokenUsed => {
                // Another launch may have replaced the tag meanwhile.
                if has_begun(aws, key, &name, creation).await? {
                    kms::remove_tags(aws, key, &[&marker_key]).await?;
                }
                let holder = read::one(aws, &name).await?;
                return holder.map_or(Err(failure), |holder| own_or_taken(holder, creation));
            }
            answer => answer.map(drop)?,
        }
        let listed = read::listed(aws).await.map_err(undecided)?;
        let made = listed.into_iter().find(|alias| alias.alias_name == name);
        let invisible = || invisible(CREATE, &format!("the new alias {name}"));
        let made = made.ok_or_else(invisible)?;
        kms::set_tags(aws, key, &made.marker(creation.tags)).await.map_err(undecided)?;
        Ok(Alias { marked_on: Some(key.to_owned()), tags: creation.tags.clone(), ..made })
    }

    /// The tag of the new key is set before, and that of the former one removed after, so that the alias has an owner at any time.
    async fn update(aws: &Aws, change: &Change, desired: &Desired, alias: &Alias) -> Result<(), Failure> {
        let Change::Target = change;
        let key = id_in(desired.target_key_id.expose());
        kms::set_tags(aws, key, &alias.marker(&alias.tags)).await?;
        let call = aws.kms().update_alias().alias_name(&alias.alias_name).target_key_id(key).send();
        aws.call("UpdateAlias", "failed to change the key of the alias", call).await?;
        if alias.place() == key { Ok(()) } else { unmark(aws, alias).await }
    }

    async fn delete(aws: &Aws, alias: &Alias) -> Result<(), Failure> {
        let call = aws.kms().delete_alias().alias_name(&alias.alias_name).send();
        aws.call("DeleteAlias", "failed to delete the alias", call).await?;
        unmark(aws, alias).await
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        write_marker(aws, id, |all| all.extend(tags.clone())).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        write_marker(aws, id, |all| all.retain(|key, _| !keys.contains(&key.as_str()))).await
    }
}

/// Whether a tag of the key says that this launch began to create the alias.
async fn has_begun(aws: &Aws, key: &str, name: &str, creation: &Creation<'_>) -> Result<bool, Failure> {
    let tags = kms::tags_of(aws, key).await?.unwrap_or_default();
    let marker = Marker::of(&tags, &marker_key(name)).unwrap_or_default();
    Ok(marker.is_pending() && creation.has_created(&marker.tags))
}

/// Removes the tag with the owner. The key may be gone, or its deletion scheduled: then nobody can change its tags.
async fn unmark(aws: &Aws, alias: &Alias) -> Result<(), Failure> {
    let removed = kms::remove_tags(aws, alias.place(), &[&marker_key(&alias.alias_name)]).await;
    ignore_codes(removed, &["NotFoundException", "KMSInvalidStateException"])
}

/// Changes the owner tags of an alias; without any, the tag of its key is removed.
async fn write_marker(aws: &Aws, id: &str, edit: impl FnOnce(&mut Tags)) -> Result<(), Failure> {
    let Some(alias) = read::one(aws, id).await? else { return Ok(()) };
    let mut tags = alias.tags.clone();
    edit(&mut tags);
    let marker = Marker::new(Some(&alias.created), &tags);
    if marker.tags.is_empty() {
        return unmark(aws, &alias).await;
    }
    kms::set_tags(aws, alias.place(), &alias.marker(&tags)).await
}

fn own_or_taken(holder: Alias, creation: &Creation<'_>) -> Result<Alias, Failure> {
    if creation.has_created(&holder.tags) {
        return Ok(holder);
    }
    Err(creation.is_taken(terminal(CREATE, ""), &format!("the name {}", holder.alias_name), &[holder]))
}
