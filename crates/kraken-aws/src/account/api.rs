//! Account, the API type.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_kind::{
    api::{crd::conditions_schema, dependency_request::KeyDependency},
    options::{KeyRef, SecretSource},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The group of all kinds of AWS.
pub const GROUP: &str = "aws.kraken-iac.eoinfennessy.com";

/// An account of AWS: the credentials, the region and the rules for the resources of this namespace that use it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "Account",
    plural = "accounts",
    category = "kraken",
    category = "kraken-admin",
    namespaced,
    status = "AccountStatus",
    derive = "PartialEq",
    doc = "An account of AWS: the credentials, the region and the rules for the resources of this namespace that name it in \
           spec.account, or that name none, if its own name is default."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!has(self.externalID) || has(self.assumeRoleARN)",
        "message": "externalID requires assumeRoleARN",
    },
]))]
pub struct AccountSpec {
    /// The region, up to 32 characters. After a change, existing resources wait, because they stay in the region of their creation.
    /// Default: the region of the controllers. Example: `eu-west-1`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^[a-z]{2}(-[a-z]+)+-[0-9]+$"))]
    pub region: Option<String>,

    /// The access key, from Secrets of this namespace. It is read when a resource is reconciled, so that a rotated key is used
    /// from the next reconcile. Default: the credentials of the controllers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<AccountCredentials>,

    /// The role to assume, with these credentials or those of the controllers; up to 2048 characters. Default: none.
    /// Example: `arn:aws:iam::123456789012:role/kraken`
    #[serde(rename = "assumeRoleARN", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\x21-\x7e]+$"))]
    pub assume_role_arn: Option<String>,

    /// The external id that the trust policy of the role requires, 2 to 1224 characters; only with `assumeRoleARN`.
    /// Default: none. Example: `team-shop`
    #[serde(rename = "externalID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 1224), regex(pattern = r"^[\w+=,.@:/-]+$"))]
    pub external_id: Option<String>,

    /// The ids of the accounts that the credentials may belong to, at most 64, each of 12 digits. With credentials of another
    /// account, nothing is observed or changed. Default: any account. Example: `["123456789012"]`
    #[serde(rename = "allowedAccountIDs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 12), regex(pattern = "^[0-9]{12}$")))]
    pub allowed_account_ids: Vec<String>,

    /// Tags of all objects of the resources that use this Account, at most 45, with keys of up to 128 and values of up to 256
    /// characters. A tag of the resource with the same key replaces the default. A change is made to existing objects too; a
    /// removed default is removed from them. Default: none. Example: `{Team: shop, CostCenter: "4711"}`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 45))]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self.all(key, key != '' && size(key) <= 128 && !key.lowerAscii().startsWith('aws:') && \
                 !key.startsWith('kraken-iac.eoinfennessy.com/') && size(self[key]) <= 256)",
        "message": "keys have 1 to 128 characters and do not start with aws: or kraken-iac.eoinfennessy.com/, and values \
                    have at most 256",
    }]))]
    pub default_tags: BTreeMap<String, String>,

    /// Restricts what the resources that use this Account may refer to and adopt, by patterns in which `*` matches any text.
    /// The id of a VPC or Subnet of this namespace, by a reference without a path, is always allowed. Default: everything.
    /// Example: `{vpcs: ["vpc-0abc1234def567890"], adopt: {tags: {Team: shop}}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Allow>,
}

/// The parts of an access key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccountCredentials {
    /// The id of the access key. Example: `{valueFrom: {secret: {name: aws, key: accessKeyID}}}`
    #[serde(rename = "accessKeyID")]
    pub access_key_id: FromSecret,

    /// The secret access key. Example: `{valueFrom: {secret: {name: aws, key: secretAccessKey}}}`
    #[serde(rename = "secretAccessKey")]
    pub secret_access_key: FromSecret,

    /// The session token of temporary credentials. Default: none. Example:
    /// `{valueFrom: {secret: {name: aws, key: sessionToken}}}`
    #[serde(rename = "sessionToken", skip_serializing_if = "Option::is_none")]
    pub session_token: Option<FromSecret>,
}

impl AccountCredentials {
    /// The keys of Secrets that it names.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = KeyDependency> {
        let parts = [Some(&self.access_key_id), Some(&self.secret_access_key), self.session_token.as_ref()];
        parts.into_iter().flatten().map(|part| {
            let KeyRef { name, key } = part.value_from.secret.clone();
            KeyDependency { name, key, follows: false }
        })
    }
}

/// An option that can only come from a Secret: there is no field for a literal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FromSecret {
    /// The source of the value. Example: `{secret: {name: aws, key: accessKeyID}}`
    pub value_from: SecretSource,
}

/// What resources may refer to and adopt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Allow {
    /// The VPCs that resources may be created in, or connected with by a peering connection, as patterns for ids, at most 64. An empty
    /// list allows only VPCs of this namespace. Unless it is `["*"]`, `subnetID` is required where AWS would choose the default VPC. Default: all. Example: `["vpc-0abc1234def567890"]`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = "^[!-~]+$")))]
    pub vpcs: Option<Vec<String>>,

    /// The subnets that resources may be created in, as patterns for ids, at most 64. An empty list allows only Subnets of this
    /// namespace. Unless it is `["*"]`, `subnetID` is required where AWS would choose a subnet. Default: all. Example: `["subnet-0abc*"]`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = "^[!-~]+$")))]
    pub subnets: Option<Vec<String>>,

    /// The instance profiles that instances may have, as patterns for the value of the field, a name or an ARN; at most 64. An
    /// empty list allows none. Default: all. Example: `["team-shop-*"]`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = "^[!-~]+$")))]
    pub instance_profiles: Option<Vec<String>>,

    /// What may be adopted by `lifecycle.adopt`. An empty object allows nothing. Default: everything. Example:
    /// `{tags: {Team: shop}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt: Option<AllowAdopt>,
}

/// What may be adopted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllowAdopt {
    /// The objects that may be adopted by id, as patterns, at most 64. Default: none. Example: `["vpc-0abc*"]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = "^[!-~]+$")))]
    pub ids: Vec<String>,

    /// The tags that an adoption by tags must search for, with patterns for their values, at most 45. Others may be added.
    /// Default: no adoption by tags. Example: `{Team: shop}`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 45))]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self.all(key, key != '' && size(key) <= 128 && size(self[key]) <= 256)",
        "message": "keys have 1 to 128 characters, and values have at most 256",
    }]))]
    pub tags: BTreeMap<String, String>,
}

/// The result of the last check of an Account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountStatus {
    /// The generation of the spec that this status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The id of the account that the credentials belong to.
    #[serde(rename = "accountID", skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The ARN of the user or role that calls are made as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// The region of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// `Ready`: whether resources can use this Account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}
