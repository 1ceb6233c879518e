//! ParameterLookup, the API type.

use kraken_aws::{aws_lookup, bounds::Pattern};
use kraken_kind::{Opt, options::Public};

use super::observed::Parameter;

static NAME: Pattern = Pattern::new(
    "^/?[a-zA-Z0-9_.-]+(/[a-zA-Z0-9_.-]+)*$",
    1011,
    "must have up to 1011 letters, digits and the characters _.- in parts that are separated by /, and neither a version nor an ARN",
);

/// The value of a parameter of Systems Manager.
#[aws_lookup(
    kind = "ParameterLookup",
    plural = "parameterlookups",
    doc = "The value of a parameter of Systems Manager, which is looked up and not managed. Its main id is its Value.",
    noun = "parameter",
    state = "parameter",
    observed = Parameter,
    summary("Parameter" = "Name", "Value" = "Value"),
    untagged
)]
pub(crate) struct ParameterLookupSpec {
    /// The name, up to 1011 characters, without a version: of a parameter of the account, or a public one of AWS. Its type is `String` or
    /// `StringList`. Example: `{value: /aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64}`
    #[field("name", rule = NAME)]
    pub(crate) name: Public<Opt<String>>,
}
