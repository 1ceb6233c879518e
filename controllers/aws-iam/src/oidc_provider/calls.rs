//! The calls of OIDC providers.

use kraken_aws::prelude::*;

use super::{
    api::{self, Change, Desired},
    desired::bare,
    observed::OidcProvider,
};
use crate::{
    iam::{self, IamClients as _, to_sdk},
    named::{self, NOT_FOUND, Named, if_exists},
};

const CREATE: &str = "failed to create the OIDC provider";

/// The kind OIDCProvider.
pub(crate) struct OidcProviders;

impl Named for OidcProvider {
    const ARN_PART: &'static str = ":oidc-provider/";
    const UNIQUE: &'static str = "URL";
    // A list has only ARNs.
    const FEW: usize = usize::MAX;

    fn name(&self) -> &str {
        self.arn.split_once(Self::ARN_PART).map_or("", |(_, url)| url)
    }

    async fn get(aws: &Aws, arn: &str) -> Result<Option<Self>, Failure> {
        let call = aws.iam().get_open_id_connect_provider().open_id_connect_provider_arn(arn);
        let read =
            aws.call("GetOpenIDConnectProvider", "failed to read the OIDC provider", call.send()).await;
        Ok(if_exists(read)?.map(|read| Self {
            arn: arn.to_owned(),
            url: bare(&read.url.unwrap_or_default()).to_owned(),
            client_id_list: sorted(read.client_id_list),
            thumbprint_list: sorted(read.thumbprint_list),
            tags: iam::tags(read.tags),
        }))
    }

    async fn list(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let call = aws.iam().list_open_id_connect_providers();
        let action = "failed to list OIDC providers";
        let answer = aws.call("ListOpenIDConnectProviders", action, call.send()).await?;
        let arns = answer.open_id_connect_provider_list.unwrap_or_default().into_iter();
        let listed = arns.filter_map(|entry| Some(Self { arn: entry.arn?, ..Self::default() }));
        Ok(listed.collect())
    }

    async fn completed(self, aws: &Aws) -> Result<Option<Self>, Failure> {
        Self::get(aws, &self.arn).await
    }
}

fn sorted(texts: Option<Vec<String>>) -> Vec<String> {
    kraken_aws::items::sorted(texts)
}

impl AwsResource for OidcProviders {
    type Kind = api::OIDCProvider;
    /// By its URL, which is unique in the account.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    named::calls!(
        OidcProvider,
        open_id_connect_provider_arn,
        tag_open_id_connect_provider = "TagOpenIDConnectProvider",
        untag_open_id_connect_provider = "UntagOpenIDConnectProvider"
    );

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<OidcProvider, Failure> {
        let Desired { url, client_ids, thumbprints } = desired;
        let call = aws
            .iam_once()
            .create_open_id_connect_provider()
            .url(url.expose())
            .set_client_id_list(exposed(client_ids.as_ref()))
            .set_thumbprint_list(exposed(thumbprints.as_ref()))
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("CreateOpenIDConnectProvider", CREATE, call.send()).await;
        let made = named::created::<OidcProvider, _>(aws, bare(url.expose()), creation, made).await?;
        Ok(OidcProvider {
            arn: made.open_id_connect_provider_arn.unwrap_or_default(),
            tags: creation.tags.clone(),
            ..OidcProvider::default()
        })
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        provider: &OidcProvider,
    ) -> Result<(), Failure> {
        let (iam, arn) = (aws.iam(), provider.arn.as_str());
        match change {
            Change::AddClientId(id) => {
                let call = iam.add_client_id_to_open_id_connect_provider().open_id_connect_provider_arn(arn);
                let action = "failed to add a client id";
                let call = call.client_id(id).send();
                aws.call("AddClientIDToOpenIDConnectProvider", action, call).await.map(drop)
            }
            Change::RemoveClientId(id) => {
                let call = iam.remove_client_id_from_open_id_connect_provider();
                let call = call.open_id_connect_provider_arn(arn).client_id(id).send();
                let action = "failed to remove a client id";
                aws.call("RemoveClientIDFromOpenIDConnectProvider", action, call).await.map(drop)
            }
            Change::Thumbprints => {
                let call = iam.update_open_id_connect_provider_thumbprint().open_id_connect_provider_arn(arn);
                let call = call.set_thumbprint_list(exposed(desired.thumbprints.as_ref())).send();
                let action = "failed to change the thumbprints";
                aws.call("UpdateOpenIDConnectProviderThumbprint", action, call).await.map(drop)
            }
        }
    }

    async fn delete(aws: &Aws, provider: &OidcProvider) -> Result<(), Failure> {
        let call = aws.iam().delete_open_id_connect_provider().open_id_connect_provider_arn(&provider.arn);
        let action = "failed to delete the OIDC provider";
        let answer = aws.call("DeleteOpenIDConnectProvider", action, call.send()).await;
        ignore_codes(answer, &[NOT_FOUND])
    }
}
