//! Key pairs in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags,
    ec2::{
        primitives::Blob,
        types::{KeyPairInfo, ResourceType},
    },
    fields::shown,
    lookup::Tagged,
    release::filter,
    resolved::exposed,
    resource::{Creation, DescribeQuery, RemoteObject, is_made_name},
    tags,
};
use kraken_spoke::{Difference, Failure, OwnSecret, Resolver};
use serde::Serialize;

use super::{
    api::{KeyPair as Resource, KeyPairSpec},
    desired::{self, Change, Desired},
    generated,
};

/// The kind KeyPair.
pub(crate) struct KeyPairs;

/// An observed key pair, which is the published state. Instances refer to it by its name, so its name is
/// its id here; calls for its tags use AWS's `KeyPairId`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct KeyPair {
    pub(super) key_name: String,
    pub(super) key_pair_id: String,
    pub(super) key_fingerprint: Option<String>,
    pub(super) key_type: Option<String>,
    pub(super) public_key: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl Tagged for KeyPair {
    fn id(&self) -> &str {
        &self.key_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a key of another owner.
    fn has_own_id(&self) -> bool {
        is_made_name(&self.key_name)
    }
}

impl RemoteObject for KeyPair {
    fn tagged_as(&self) -> &str {
        &self.key_pair_id
    }
}

fn key(key: KeyPairInfo) -> KeyPair {
    KeyPair {
        key_name: key.key_name.unwrap_or_default(),
        key_pair_id: key.key_pair_id.unwrap_or_default(),
        key_fingerprint: key.key_fingerprint,
        key_type: key.key_type.map(|kind| kind.as_str().to_owned()),
        public_key: key.public_key.filter(|key| !key.is_empty()),
        tags: tags::from_sdk(&key.tags.unwrap_or_default()),
    }
}

impl AwsResource for KeyPairs {
    type Kind = Resource;
    type Desired = Desired;
    type RemoteObject = KeyPair;
    type Change = Change;
    const NOUN: &'static str = "key pair";
    const STATE_KEY: &'static str = "keyPair";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] =
        &[("publicKey", &["keyPair.PublicKey", "keyPair.KeyFingerprint"])];
    const SUMMARY: &[(&str, &str)] =
        &[("Type", "keyPair.KeyType"), ("Fingerprint", "keyPair.KeyFingerprint")];
    /// A name is unique in a region.
    const IS_IDEMPOTENT: bool = true;
    const IDEMPOTENT_BY_NAME: bool = true;
    const MAKES_SECRETS: bool = true;

    fn desired(spec: &KeyPairSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn own_secret(spec: &KeyPairSpec) -> Option<OwnSecret> {
        generated::secret(spec)
    }

    fn tags(spec: &KeyPairSpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, key: &KeyPair) -> Vec<Difference<Change>> {
        desired::differences(desired, key)
    }

    /// This API has no pagination: it returns all objects.
    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<KeyPair>, Failure> {
        let call = aws
            .ec2()
            .describe_key_pairs()
            .set_key_names(query.ids)
            .set_filters(query.filters)
            .include_public_key(true);
        let found = aws.call("DescribeKeyPairs", "failed to describe key pairs", call.send()).await?;
        Ok(found.key_pairs.unwrap_or_default().into_iter().map(key).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<KeyPair, Failure> {
        let name = exposed(desired.key_name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .ec2_once()
            .import_key_pair()
            .key_name(&name)
            .public_key_material(Blob::new(desired.public_key.expose().as_bytes()))
            .set_tag_specifications(Some(creation.specifications(ResourceType::KeyPair)));
        match aws.call("ImportKeyPair", "failed to import the key", call.send()).await {
            Ok(made) => Ok(KeyPair { key_name: made.key_name.unwrap_or(name), ..KeyPair::default() }),
            Err(failure) if failure.code == "InvalidKeyPair.Duplicate" => {
                let shown = desired.key_name.as_ref().map_or_else(|| name.clone(), shown);
                // With a filter, because a key pair that is not visible yet must not cause an error.
                let filters = Some(vec![filter("key-name", vec![name.clone()])]);
                let mut others = Self::read(aws, DescribeQuery { ids: None, filters }).await?;
                others.retain(|other| other.key_name == name);
                Err(creation.is_taken(failure, &format!("keyName {shown}"), &others))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn update(_: &Aws, change: &Change, _: &Desired, _: &KeyPair) -> Result<(), Failure> {
        match *change {}
    }

    async fn delete(aws: &Aws, key: &KeyPair) -> Result<(), Failure> {
        let call = aws.ec2().delete_key_pair().key_name(&key.key_name);
        aws.call("DeleteKeyPair", "failed to delete the key pair", call.send()).await.map(drop)
    }
}
