//! A policy document in a spec.

#![allow(missing_docs)] // of generated fields

use kraken_kind::{Opt, options::ListOpt};

use super::bounds::{
    ACTION, AWS_PRINCIPAL, CONDITION_KEY, CONDITION_VALUE, FEDERATED, JSON, OPERATOR, RESOURCE, SERVICE, SID,
};
use crate::{aws_group, words};

words!(
    /// Whether a statement allows or denies.
    pub Effect {
        Allow = "Allow",
        Deny = "Deny",
    }
);

/// A policy document: its statements, or the whole document as a text.
#[aws_group(one_of(statements, json))]
pub struct PolicyDocument {
    /// The statements, 1 to 40, of a document of version `2012-10-17`. Their order is not significant. Exactly one of this and
    /// `json`. Default: none. Example: `[{effect: {value: Allow}, actions: {value: [s3:GetObject]}, resources: {value: ["*"]}}]`
    #[schemars(length(min = 1, max = 40))]
    #[field("statements", group)]
    pub(crate) statements: Option<Vec<StatementSpec>>,

    /// The whole document as JSON, up to 131072 bytes, such as a file in a ConfigMap. Exactly one of this and `statements`.
    /// Default: none. Example: `{valueFrom: {configMap: {name: policies, key: web.json}}}`
    #[field("json", rule = JSON)]
    pub(crate) json: Option<Opt<String>>,
}

/// A trust policy: its statements, or the whole document as a text.
#[aws_group(one_of(statements, json))]
pub struct TrustPolicy {
    /// The statements, 1 to 20, of a document of version `2012-10-17`. Their order is not significant. Exactly one of this and
    /// `json`. Default: none. Example: `[{effect: {value: Allow}, principals: {services: {value: [ec2.amazonaws.com]}}, actions:
    /// {value: [sts:AssumeRole]}}]`
    #[schemars(length(min = 1, max = 20))]
    #[field("statements", group)]
    pub(crate) statements: Option<Vec<TrustStatementSpec>>,

    /// The whole document as JSON, up to 131072 bytes, such as a file in a ConfigMap. Exactly one of this and `statements`.
    /// Default: none. Example: `{valueFrom: {configMap: {name: policies, key: trust.json}}}`
    #[field("json", rule = JSON)]
    pub(crate) json: Option<Opt<String>>,
}

/// The policy of a resource, such as a bucket: its statements, or the whole document as a text.
#[aws_group(one_of(statements, json))]
pub struct ResourcePolicy {
    /// The statements, up to 40, of a document of version `2012-10-17`. Their order is not significant. Exactly one of this and
    /// `json`. Default: none. Example: `[{effect: {value: Allow}, principals: {aws:
    /// {value: ["*"]}}, actions: {value: [s3:GetObject]}, resources: {value: ["arn:aws:s3:::web/*"]}}]`
    #[schemars(length(max = 40))]
    #[field("statements", group)]
    pub(crate) statements: Option<Vec<ResourceStatementSpec>>,

    /// The whole document as JSON, up to 131072 bytes, such as a file in a ConfigMap. Exactly one of this and `statements`.
    /// Default: none. Example: `{valueFrom: {configMap: {name: policies, key: web.json}}}`
    #[field("json", rule = JSON)]
    pub(crate) json: Option<Opt<String>>,
}

/// A statement of a policy document.
#[aws_group(
    rules = Self::between_fields,
    cel(
        "has(self.actions) || has(self.notActions)"
            else "is required unless notActions is set" at "actions",
        "!has(self.actions) || !has(self.notActions)"
            else "cannot be combined with actions; remove one of them" at "notActions",
        "has(self.resources) || has(self.notResources)"
            else "is required unless notResources is set" at "resources",
        "!has(self.resources) || !has(self.notResources)"
            else "cannot be combined with resources; remove one of them" at "notResources",
    )
)]
pub struct StatementSpec {
    /// The id, 1 to 128 letters and digits, unique in the document. Default: none. Example: `{value: ReadObjects}`
    #[field("sid", rule = SID)]
    pub(crate) sid: Option<Opt<String>>,

    /// Whether the statement allows or denies: `Allow` or `Deny`. Example: `{value: Allow}`
    #[field("effect")]
    pub(crate) effect: Opt<Effect>,

    /// The actions, 1 to 500, case-insensitive; `*` and `?` are wildcards. Exactly one of this and `notActions`. Default: none.
    /// Example: `{value: [s3:GetObject, s3:ListBucket]}`
    #[field("actions", rule = ACTION, items(1, 500))]
    pub(crate) actions: Option<ListOpt<String>>,

    /// All actions except these, 1 to 500. Exactly one of this and `actions`. Default: none. Example: `{value: [iam:*]}`
    #[field("notActions", rule = ACTION, items(1, 500))]
    pub(crate) not_actions: Option<ListOpt<String>>,

    /// The resources, 1 to 500, by ARN; `*` and `?` are wildcards. Exactly one of this and `notResources`. Default: none.
    /// Example: `{value: [{valueFrom: {templateString: "{{ .ConfigMap.app.bucket }}/*"}}]}`
    #[field("resources", rule = RESOURCE, items(1, 500))]
    pub(crate) resources: Option<ListOpt<String>>,

    /// All resources except these, 1 to 500. Exactly one of this and `resources`. Default: none. Example:
    /// `{value: ["arn:aws:s3:::audit/*"]}`
    #[field("notResources", rule = RESOURCE, items(1, 500))]
    pub(crate) not_resources: Option<ListOpt<String>>,

    /// The conditions, up to 20, all of which must hold. Default: none. Example: `[{operator: {value: StringEquals}, key:
    /// {value: aws:SourceAccount}, values: {value: ["123456789012"]}}]`
    #[schemars(length(max = 20))]
    #[field("conditions", group)]
    pub(crate) conditions: Option<Vec<ConditionSpec>>,
}

/// A statement of the policy of a resource, such as a bucket.
#[aws_group(
    rules = Self::between_fields,
    cel(
        "has(self.actions) || has(self.notActions)"
            else "is required unless notActions is set" at "actions",
        "!has(self.actions) || !has(self.notActions)"
            else "cannot be combined with actions; remove one of them" at "notActions",
        "has(self.resources) || has(self.notResources)"
            else "is required unless notResources is set" at "resources",
        "!has(self.resources) || !has(self.notResources)"
            else "cannot be combined with resources; remove one of them" at "notResources",
    )
)]
pub struct ResourceStatementSpec {
    /// The id, 1 to 128 letters and digits, unique in the document. Default: none. Example: `{value: ReadObjects}`
    #[field("sid", rule = SID)]
    pub(crate) sid: Option<Opt<String>>,

    /// Whether the statement allows or denies: `Allow` or `Deny`. Example: `{value: Allow}`
    #[field("effect")]
    pub(crate) effect: Opt<Effect>,

    /// Whose access is allowed or denied. Example: `{services: {value: [logging.s3.amazonaws.com]}}`
    #[field("principals", group)]
    pub(crate) principals: PrincipalsSpec,

    /// The actions, 1 to 500, case-insensitive; `*` and `?` are wildcards. Exactly one of this and `notActions`. Default: none.
    /// Example: `{value: [s3:GetObject, s3:ListBucket]}`
    #[field("actions", rule = ACTION, items(1, 500))]
    pub(crate) actions: Option<ListOpt<String>>,

    /// All actions except these, 1 to 500. Exactly one of this and `actions`. Default: none. Example: `{value: [iam:*]}`
    #[field("notActions", rule = ACTION, items(1, 500))]
    pub(crate) not_actions: Option<ListOpt<String>>,

    /// The resources, 1 to 500, by ARN; `*` and `?` are wildcards. Exactly one of this and `notResources`. Default: none.
    /// Example: `{value: [{valueFrom: {templateString: "{{ .ConfigMap.app.bucket }}/*"}}]}`
    #[field("resources", rule = RESOURCE, items(1, 500))]
    pub(crate) resources: Option<ListOpt<String>>,

    /// All resources except these, 1 to 500. Exactly one of this and `resources`. Default: none. Example:
    /// `{value: ["arn:aws:s3:::audit/*"]}`
    #[field("notResources", rule = RESOURCE, items(1, 500))]
    pub(crate) not_resources: Option<ListOpt<String>>,

    /// The conditions, up to 20, all of which must hold. Default: none. Example: `[{operator: {value: StringEquals}, key:
    /// {value: aws:SourceAccount}, values: {value: ["123456789012"]}}]`
    #[schemars(length(max = 20))]
    #[field("conditions", group)]
    pub(crate) conditions: Option<Vec<ConditionSpec>>,
}

/// A statement of a trust policy: who may assume the role.
#[aws_group(rules = Self::between_fields)]
pub struct TrustStatementSpec {
    /// The id, 1 to 128 letters and digits, unique in the document. Default: none. Example: `{value: Instances}`
    #[field("sid", rule = SID)]
    pub(crate) sid: Option<Opt<String>>,

    /// Whether the statement allows or denies: `Allow` or `Deny`. Example: `{value: Allow}`
    #[field("effect")]
    pub(crate) effect: Opt<Effect>,

    /// Who may assume the role. Example: `{services: {value: [ec2.amazonaws.com]}}`
    #[field("principals", group)]
    pub(crate) principals: PrincipalsSpec,

    /// The actions, 1 to 20: `sts:AssumeRole`, for identity providers `sts:AssumeRoleWithWebIdentity` or `sts:AssumeRoleWithSAML`,
    /// and `sts:TagSession`. Example: `{value: [sts:AssumeRole]}`
    #[field("actions", rule = ACTION, items(1, 20))]
    pub(crate) actions: ListOpt<String>,

    /// The conditions, up to 20, all of which must hold. Default: none. Example: `[{operator: {value: StringEquals}, key:
    /// {value: oidc.example.com:sub}, values: {value: ["system:serviceaccount:shop:web"]}}]`
    #[schemars(length(max = 20))]
    #[field("conditions", group)]
    pub(crate) conditions: Option<Vec<ConditionSpec>>,
}

/// The principals of a trust policy, of at least one type.
#[aws_group]
#[schemars(extend("minProperties" = 1))]
pub struct PrincipalsSpec {
    /// Roles, users and accounts, 1 to 100: ARNs, or the 12 digits of an account, which is the same as the ARN of its root. `*`
    /// is everybody. Default: none. Example: `{value: [{valueFrom: {ref: Role/ci}}]}`
    #[field("aws", rule = AWS_PRINCIPAL, items(1, 100))]
    pub(crate) aws: Option<ListOpt<String>>,

    /// Services of AWS, 1 to 100. Default: none. Example: `{value: [ec2.amazonaws.com]}`
    #[field("services", rule = SERVICE, items(1, 100))]
    pub(crate) services: Option<ListOpt<String>>,

    /// Identity providers, 1 to 100: the ARN of an OIDC or SAML provider, or the name of a web identity provider. Default: none.
    /// Example: `{value: ["arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"]}`
    #[field("federated", rule = FEDERATED, items(1, 100))]
    pub(crate) federated: Option<ListOpt<String>>,
}

/// A condition of a statement: one of the values must match.
#[aws_group]
pub struct ConditionSpec {
    /// The operator, up to 64 letters, with `ForAllValues:` or `ForAnyValue:` for keys with several values. Example: `{value: StringEquals}`
    #[field("operator", rule = OPERATOR)]
    pub(crate) operator: Opt<String>,

    /// The key, up to 512 characters, case-insensitive. Example: `{value: aws:SourceAccount}`
    #[field("key", rule = CONDITION_KEY)]
    pub(crate) key: Opt<String>,

    /// The values, 1 to 100, up to 4096 bytes each. Example: `{value: ["123456789012"]}`
    #[field("values", rule = CONDITION_VALUE, items(1, 100))]
    pub(crate) values: ListOpt<String>,
}
