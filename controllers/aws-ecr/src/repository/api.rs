//! Repository, the API type.

use std::collections::BTreeMap;

use kraken_aws::{
    aws_kind,
    bounds::{KMS_KEY, Pattern, Words},
    policy::Document,
    resolved::Joined,
};
use kraken_kind::{Opt, options::Public};
use serde_json::Value;

use super::observed::Repository as Observed;

static NAME: Pattern = Pattern::new(
    "^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$",
    256,
    "must have 2 to 256 lowercase letters, digits and separators (._-/), and begin and end with a letter or digit",
);
const MUTABILITY: Words = Words(&["MUTABLE", "IMMUTABLE"]);
const ENCRYPTION: Words = Words(&["AES256", "KMS", "KMS_DSSE"]);

/// A repository of images of Elastic Container Registry.
#[aws_kind(
    kind = "Repository",
    plural = "repositories",
    shortname = "ecr",
    doc = "A repository of images of Elastic Container Registry. A repository with images is not deleted, unless emptyOnDeletion says so. Its \
           main id is its name.",
    noun = "repository",
    state = "repository",
    tag_name = "web",
    observed = Observed,
    summary("Repository Name" = "RepositoryName", "URI" = "RepositoryUri"),
    whole("lifecyclePolicy", "policy"),
    at_creation = Self::at_creation,
    rules = Self::between_fields
)]
pub(crate) struct RepositorySpec {
    /// The name, unique in the account and region: 2 to 256 lowercase letters, digits and separators (`._-/`). Immutable. Default: generated
    /// by Kraken, which prevents conflicts. Example: `{value: shop/web}`
    #[field("name", rule = NAME, fixed, observed = &repository_name)]
    pub(crate) name: Option<Public<Opt<String>>>,

    /// Whether the tag of an image can be moved to another one: `MUTABLE` or `IMMUTABLE`. Changed in place. Default: AWS's default
    /// (`MUTABLE`). Example: `{value: IMMUTABLE}`
    #[field("imageTagMutability", rule = MUTABILITY, change = Mutability, observed = &image_tag_mutability, unless = "MUTABLE")]
    pub(crate) image_tag_mutability: Option<Opt<String>>,

    /// Whether each new image is scanned for vulnerabilities. Changed in place. Default: AWS's default (false). Example: `{value: true}`
    #[field("scanOnPush", change = Scanning, observed = &scan_on_push, unless = false)]
    pub(crate) scan_on_push: Option<Opt<bool>>,

    /// How images are encrypted: `AES256`, `KMS` or `KMS_DSSE`. Immutable. Default: AWS's default (`AES256`). Example: `{value: KMS}`
    #[field("encryptionType", rule = ENCRYPTION, fixed, observed = &encryption_type, unless = "AES256")]
    pub(crate) encryption_type: Option<Opt<String>>,

    /// The KMS key that encrypts images, by id, alias or ARN; an alias is used at the creation only. Requires `encryptionType` `KMS` or
    /// `KMS_DSSE`. Immutable. Default: the account's key for ECR. Example: `{value: alias/shop}`
    #[field("kmsKeyID", rule = KMS_KEY, fixed, compare = Self::compare_key, import = Self::import_key, published("KmsKey"))]
    pub(crate) kms_key_id: Option<Opt<String>>,

    /// Which images expire, as an object in the syntax of ECR; an empty object for none. Changed in place. Observed after an edit and at deep
    /// resyncs, and compared as JSON. Default: none; an existing policy is not managed. Example: `{value: {rules: [{rulePriority: 1, selection:
    /// {tagStatus: untagged, countType: imageCountMoreThan, countNumber: 10}, action: {type: expire}}]}}`
    #[field(
        "lifecyclePolicy",
        change = Lifecycle,
        compare = Self::compare_lifecycle,
        import = Self::import_lifecycle,
        deep,
        published(),
        none_if_unset
    )]
    pub(crate) lifecycle_policy: Option<Opt<BTreeMap<String, Value>>>,

    /// The repository policy, as an object in the syntax of IAM without resources; an empty object for none. Changed in place. Observed after an
    /// edit and at deep resyncs, and compared by its meaning. Default: none; an existing policy is not managed. Example: `{value: {Version:
    /// "2012-10-17", Statement: [{Effect: Allow, Principal: {AWS: "123456789012"}, Action: "ecr:BatchGetImage"}]}}`
    #[field(
        "policy",
        resolve = Self::policy => Option<Joined<Document>>,
        change = Policy,
        compare = Self::compare_policy,
        import = Self::import_policy,
        deep,
        published(),
        none_if_unset
    )]
    pub(crate) policy: Option<Opt<BTreeMap<String, Value>>>,

    /// Whether the deletion of the repository deletes all images in it. Without it, a repository with images is not deleted, and the condition
    /// says so. Only a literal. Default: false. Example: `true`
    #[field("emptyOnDeletion", kraken_only)]
    pub(crate) empty_on_deletion: Option<bool>,
}
