//! The calls of key pairs.

use kraken_aws::{ec2::primitives::Blob, prelude::*};
use kraken_kind::OwnSecret;

use super::{
    api::{self, Change, Desired},
    generated,
    observed::KeyPair,
};
use crate::in_vpc::{any_of, used};

/// The kind KeyPair.
pub(crate) struct KeyPairs;

impl AwsResource for KeyPairs {
    type Kind = api::KeyPair;
    /// A name is unique in a region.
    const FEATURES: Features =
        Features { is_idempotent: true, idempotent_by_name: true, makes_secrets: true, ..Features::NONE };
    const NAMED_BY: &'static str = "keyName";

    fn own_secret(spec: &api::KeyPairSpec) -> Option<OwnSecret> {
        generated::secret(spec)
    }

    /// This API has no pagination: it returns all objects.
    /// The key pairs of instances in the VPC.
    async fn within(aws: &Aws, place: &str) -> Result<Vec<KeyPair>, Failure> {
        let mut found = vec![];
        for query in any_of("key-name", used(aws, place).await?.keys) {
            found.extend(Self::read(aws, query).await?);
        }
        Ok(found)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<KeyPair>, Failure> {
        let call = aws.ec2().describe_key_pairs().set_key_names(query.ids).set_filters(query.filters);
        let call = call.include_public_key(true);
        let found = aws.call("DescribeKeyPairs", "failed to describe key pairs", call.send()).await?;
        Ok(found.key_pairs.unwrap_or_default().into_iter().map(KeyPair::from).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<KeyPair, Failure> {
        let Desired { public_key, key_name } = desired;
        let name = exposed(key_name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .ec2_once()
            .import_key_pair()
            .key_name(&name)
            .public_key_material(Blob::new(public_key.expose().as_bytes()))
            .set_tag_specifications(Some(creation.specifications(ResourceType::KeyPair)));
        match aws.call("ImportKeyPair", "failed to import the public key", call.send()).await {
            Ok(made) => Ok(KeyPair { key_name: made.key_name.unwrap_or(name), ..KeyPair::default() }),
            Err(failure) if failure.code == "InvalidKeyPair.Duplicate" => {
                let shown = key_name.as_ref().map_or_else(|| name.clone(), shown);
                // With a filter, because a key pair that is not visible yet must not cause an error.
                let mut others = Self::read(aws, DescribeQuery::with("key-name", &name)).await?;
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
