//! Key, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{Bytes, Range, Words},
    policy::{Document, ResourcePolicy},
    resolved::Joined,
};
use kraken_kind::Opt;

use super::observed::{Key as Observed, SYMMETRIC};

const DESCRIPTION: Bytes = Bytes(8_192);
const SPEC: Words = Words(&[
    "SYMMETRIC_DEFAULT",
    "RSA_2048",
    "RSA_3072",
    "RSA_4096",
    "ECC_NIST_P256",
    "ECC_NIST_P384",
    "ECC_NIST_P521",
    "ECC_NIST_EDWARDS25519",
    "ECC_SECG_P256K1",
    "HMAC_224",
    "HMAC_256",
    "HMAC_384",
    "HMAC_512",
    "ML_DSA_44",
    "ML_DSA_65",
    "ML_DSA_87",
    "SM2",
]);
const USAGE: Words = Words(&["ENCRYPT_DECRYPT", "SIGN_VERIFY", "GENERATE_VERIFY_MAC", "KEY_AGREEMENT"]);
const PERIOD: Range = Range(90, 2_560);

/// A key of KMS.
#[aws_kind(
    kind = "Key",
    plural = "keys",
    shortname = "kms",
    doc = "A key of KMS. Its deletion can be cancelled for deletionWindowDays; then everything that it encrypts is lost. Its main id is its \
           ARN.",
    noun = "key",
    state = "key",
    tag_name = "shop",
    observed = Observed,
    summary("Key ID" = "KeyId", "Spec" = "KeySpec", "State" = "KeyState"),
    whole("policy"),
    rules = Self::between_fields,
    cel(
        "!has(self.deletionWindowDays) || (self.deletionWindowDays >= 7 && self.deletionWindowDays <= 30)"
            else "must be 7 to 30" at "deletionWindowDays",
        "!has(self.rotationPeriodDays) || (has(self.enableKeyRotation) && (!has(self.enableKeyRotation.value) || self.enableKeyRotation.value == true))"
            else "requires enableKeyRotation: {value: true}" at "rotationPeriodDays",
    )
)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct KeySpec {
    /// The description, up to 8192 bytes; an empty text for none. Changed in place. Default: none; an existing description is not managed.
    /// Example: `{value: The data of the shop}`
    #[field("description", rule = DESCRIPTION, change = Description, observed = &description, unless = "")]
    pub(crate) description: Option<Opt<String>>,

    /// The type of the key: `SYMMETRIC_DEFAULT`, one of `RSA_2048`, `RSA_3072`, `RSA_4096`, `ECC_NIST_P256`, `ECC_NIST_P384`,
    /// `ECC_NIST_P521`, `ECC_NIST_EDWARDS25519`, `ECC_SECG_P256K1`, `HMAC_224`, `HMAC_256`, `HMAC_384`, `HMAC_512`, `ML_DSA_44`, `ML_DSA_65`,
    /// `ML_DSA_87` or `SM2`. Immutable. Default: AWS's default (`SYMMETRIC_DEFAULT`). Example: `{value: RSA_4096}`
    #[field("keySpec", rule = SPEC, fixed, observed = &key_spec, unless = SYMMETRIC)]
    pub(crate) key_spec: Option<Opt<String>>,

    /// What the key is for: `ENCRYPT_DECRYPT`, `SIGN_VERIFY`, `GENERATE_VERIFY_MAC` or `KEY_AGREEMENT`. Required with another `keySpec` than
    /// `SYMMETRIC_DEFAULT`. Immutable. Default: AWS's default (`ENCRYPT_DECRYPT`). Example: `{value: SIGN_VERIFY}`
    #[field("keyUsage", rule = USAGE, fixed, observed = &key_usage, import = Self::import_usage)]
    pub(crate) key_usage: Option<Opt<String>>,

    /// Whether the key can be replicated to other regions. Immutable. Default: AWS's default (false). Example: `{value: true}`
    #[field("multiRegion", fixed, observed = &multi_region, unless = false)]
    pub(crate) multi_region: Option<Opt<bool>>,

    /// The policy of the key, with at least one statement, because a key always has a policy. It must permit the account of Kraken to manage
    /// the key. Changed in place. Observed after an edit and at deep resyncs, and compared by its meaning. Default: AWS's, which leaves it to
    /// policies of IAM; an existing policy is not managed. Example: `{statements: [{effect: {value: Allow}, principals: {aws: {value:
    /// ["arn:aws:iam::123456789012:root"]}}, actions: {value: ["kms:*"]}, resources: {value: ["*"]}}]}`
    #[field(
        "policy",
        resolve = Self::policy => Option<Joined<Document>>,
        change = Policy,
        compare = Self::compare_policy,
        import = Self::import_policy,
        deep,
        published()
    )]
    pub(crate) policy: Option<ResourcePolicy>,

    /// Whether AWS rotates the key; it can still decrypt what former material encrypted. Requires the `keySpec` `SYMMETRIC_DEFAULT`. Changed in
    /// place, while the key is enabled. Observed after an edit and at deep resyncs. Default: AWS's default (false). Example: `{value: true}`
    #[field(
        "enableKeyRotation",
        change = Rotation,
        compare = Self::compare_rotation,
        import = Self::import_rotation,
        deep,
        published()
    )]
    pub(crate) enable_key_rotation: Option<Opt<bool>>,

    /// The time between rotations in days, 90 to 2560. Requires `enableKeyRotation`. Changed in place, while the key is enabled. Observed after
    /// an edit and at deep resyncs. Default: AWS's default (365). Example: `{value: 180}`
    #[field(
        "rotationPeriodDays",
        rule = PERIOD,
        change = Rotation,
        compare = Self::compare_period,
        import = Self::import_period,
        deep,
        published()
    )]
    pub(crate) rotation_period_days: Option<Opt<i32>>,

    /// Whether the key can be used. Changed in place. Default: AWS's default (true); an existing setting is not managed. Example: `{value: false}`
    #[field("enabled", change = Enabled, observed = &enabled, unless = true)]
    pub(crate) enabled: Option<Opt<bool>>,

    /// For how many days the deletion of the key can be cancelled, 7 to 30; meanwhile it cannot be used. Only a literal. Default: AWS's default
    /// (30). Example: `7`
    #[field("deletionWindowDays", kraken_only)]
    pub(crate) deletion_window_days: Option<i32>,
}
