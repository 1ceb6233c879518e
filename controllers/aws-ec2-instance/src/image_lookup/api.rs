//! ImageLookup, the API type.

use kraken_aws::{
    aws_lookup,
    bounds::{Length, Pattern, Words},
};
use kraken_kind::{Opt, options::Public};

static OWNER: Pattern = Pattern::new(
    "^([0-9]{12}|self|amazon|aws-marketplace)$",
    15,
    "must be the 12 digits of an account, or self, amazon or aws-marketplace",
);
/// AWS allows 128 characters in a name.
const NAME: Length = Length(128);
const ARCHITECTURE: Words = Words(&["x86_64", "arm64", "i386", "x86_64_mac", "arm64_mac"]);

/// The newest image with a name.
#[aws_lookup(
    kind = "ImageLookup",
    plural = "imagelookups",
    doc = "The newest image (AMI) of an owner with a name. It is looked up and not managed. Its main id is its ImageId.",
    noun = "image",
    state = "image",
    observed = super::observed::Image,
    summary("Name" = "Name", "Created" = "CreationDate")
)]
pub(crate) struct ImageLookupSpec {
    /// The owner of the image: an account, or `self`, `amazon` or `aws-marketplace`. Everybody can publish an image under any name, so
    /// that the name alone is not enough. Example: `{value: "099720109477"}`
    #[field("owner", rule = OWNER)]
    pub(crate) owner: Public<Opt<String>>,

    /// The name, 1 to 128 characters, in which `*` is any number of characters and `?` at most one. Of several images, the newest is
    /// the answer. Example: `{value: ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*}`
    #[field("name", rule = NAME)]
    pub(crate) name: Public<Opt<String>>,

    /// The architecture: `x86_64`, `arm64`, `i386`, `x86_64_mac` or `arm64_mac`. Required if images of several architectures have the
    /// name. Example: `{value: x86_64}`
    #[field("architecture", rule = ARCHITECTURE)]
    pub(crate) architecture: Option<Public<Opt<String>>>,
}
