//! The attribute macros that make a kind of AWS from its spec, so that each field is written once: its name, its rule, its
//! observed value, and what an edit of it does. Kinds use them as `kraken_aws::aws_kind`, `kraken_aws::aws_group` for
//! fields inside of a field, and `kraken_aws::aws_observed` for the observed object; they are described there.
//!
//! `args.rs`, `group.rs` and `field.rs` parse the attributes, `shape.rs` parses the types of fields, and `expand/` writes the code: one
//! file for each part of it.

mod args;
mod cel;
mod expand;
mod field;
mod group;
mod keys;
mod shape;

use proc_macro::TokenStream;

/// Makes a kind of AWS from its spec: the custom resource, the desired state, its validation and comparison.
///
/// ```ignore
/// #[aws_kind(
///     kind = "Subnet", plural = "subnets", shortname = "sn", doc = "A subnet.",
///     noun = "subnet", state = "subnet", observed = super::observed::Subnet,
///     summary("CIDR" = "CidrBlock"),
/// )]
/// pub(crate) struct SubnetSpec {
///     /// The VPC of the subnet. Immutable. Example: `{value: vpc-0abc1234}`
///     #[field("vpcID", rule = VPC_ID, fixed)]
///     pub(crate) vpc_id: Opt<String>,
///     ...
/// }
/// ```
///
/// # Generated code
/// - The fields `tags` and `lifecycle`, unless the spec has them with other descriptions.
/// - The derives and attributes of the custom resource, and `HasLifecycle`.
/// - `Desired`, the desired state: for each field a `Resolved` value, or an `Option` of it.
/// - `PartialDesired`, the same as far as it is known; `None` is a field with a problem.
/// - `Change`, the changes in place, unless the kind has its own.
/// - `AwsSpec`: validation, differences, the fields that a call must not send, and the paths of secrets.
///
/// # Keys of the kind
/// - `kind`, `plural`, `shortname`, `doc`: of the custom resource.
/// - `noun`: its name in messages. `state`: its key in the published state. `observed`: the type of the observed object.
/// - `summary("Header" = "Path", ...)`: columns of `kubectl get`; the paths begin below `state`.
/// - `drift("state")`: paths of differences that are no fields. `whole("path")`: paths that are compared as a whole, in
///   addition to lists with `change`.
/// - `cel("rule" else "message" at "field", ...)`: rules between fields in the schema, so that the API server rejects literals;
///   `at` is omitted for a message about the object.
/// - `tag_name = "main"`: the tag `Name` in the example of the tags.
/// - `untagged`: the objects have no tags of users, so that the spec has no field for them.
/// - `rules = Self::f`: validates rules between fields, with `&self`, `&PartialDesired` and the validator.
/// - `order = Self::f`: sorts the differences, with `&Desired` and `&mut Vec<Difference<Change>>`. Without it, fields that
///   are fixed come first, then changes; both in the order of the fields.
/// - `change = Change`: the kind's own type of changes, if some of them have values of other types.
/// - `without_ignored = Self::f`, `at_creation = Self::f`: replace the generated functions of `AwsSpec`.
///
/// # Keys of a field
/// First the name in the spec, then exactly one decision about an edit:
/// - `fixed`: AWS cannot change the field.
/// - `change = Variant`: it is changed in place; `Variant(Type)` contains the desired value. A list is set as a whole. If
///   several fields have the same variant, one call sends all of them, except ignored ones.
/// - `add = Variant, remove = Variant`: the items of a list are changed one at a time.
/// - `compare = Self::f` alone: its own comparison, with its own remedies.
/// - `launch_only`: applied at creation only, and not observable.
/// - `kraken_only`: a setting of Kraken, which is not part of the desired state.
/// - `count`: the number of objects. Each of a resource's objects is compared; they are launched together, so that fields
///   that are fixed are so since the launch. `PartialDesired` contains the tags, and the state the values of the spec.
///
/// And as needed:
/// - `rule = BOUND`: a bound of `kraken_aws::bounds`, for the schema and for the validation. `check = f` validates instead
///   of the bound, for rules that a schema cannot express. `items(min, max)`: the number of items of a list.
/// - `resolve = Self::f => Type`: resolves a field of another type, with `&self` and the validator.
/// - `group`: the field is a group, or a list of groups ([`macro@aws_group`]). With `change` its fields are compared and sent
///   together.
/// - `parts`, of a `group` with `observed = method()`: its values are one value in a canonical form, which a call sends as a whole,
///   and which is compared and ignored part by part. The group implements `kraken_aws::group::Canonical`; the method returns the
///   observed value, if it has this form.
/// - `observed = field` of the observed object, if it has another name; `observed = &field`, if it has always a value;
///   `observed = method()`, which returns an optional reference or a list.
/// - `compare = Self::f` in addition to `fixed` or `change`: compares instead of the generated code, with `&Desired` and the
///   observed object, and returns differences.
/// - `deep`: observed by deep observations only; not compared after others.
/// - `stopped`, of a field with `change`: AWS changes it only while the object is stopped. Not compared while it is unknown.
/// - `published("Path", ...)`: the paths of the published state that contain the value, below `state`. Without it, the
///   observed field; with `compare` or a method it is required, because nothing else keeps a Secret's value unpublished.
/// - `unpublished`: not among the values of the spec in the state of a kind with a count.
/// - `none_if_unset`: that the field is not set means that there is no such object or that it is not managed, and not that AWS
///   chooses it. Without it, a rule of an Account about the field requires the field.
/// - `follows`: set by a change after the creation, so that its references do not order the creation, and may lead back to the
///   resource. While a value is missing, the field is not managed, and the resource is published and not ready.
/// - `import = Self::f`: its form in an imported spec, from the observed object, as an optional JSON value. `import = none`: it is not
///   imported. Without it, a field that is compared by generated code is imported from its observed value, and others are not.
/// - `unless = "value"`: the value that AWS chooses by itself, which an import leaves out.
/// - `always_sent`: sent by its call even if it is ignored, because AWS requires it.
#[proc_macro_attribute]
pub fn aws_kind(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::kind(args.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a look-up from its spec: a kind that finds objects which Kraken does not manage, and publishes them.
///
/// ```ignore
/// #[aws_lookup(
///     kind = "VPCLookup", plural = "vpclookups", doc = "An existing VPC.", noun = "VPC", state = "vpc", observed = Vpc,
///     summary("CIDR" = "CidrBlock"),
/// )]
/// pub(crate) struct VPCLookupSpec {
///     /// The primary IPv4 CIDR block. Example: `{value: 10.0.0.0/16}`
///     #[field("cidrBlock", rule = CIDR_BLOCK)]
///     pub(crate) cidr_block: Option<Public<Opt<String>>>,
/// }
/// ```
///
/// # Generated code
/// - The fields `tags`, unless the objects are `untagged`, `pin` and `lifecycle`.
/// - The derives and attributes of the custom resource, and `HasLifecycle`.
/// - `Desired`: what is searched for, for each field a `Resolved` value, or an `Option` of it.
/// - `LookupSpec`: validation, what is searched for in words, the columns of `kubectl get`.
///
/// # Keys
/// `kind`, `plural`, `shortname`, `doc`, `noun`, `state`, `observed`, `summary`, `untagged` and `cel` as in [`macro@aws_kind`];
/// `rules = Self::f` validates rules between fields, with `&self` and the validator. A field has its name, and `rule`, `check` and
/// `none_if_unset`. Its type is `Public`.
#[proc_macro_attribute]
pub fn aws_lookup(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::lookup(args.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a group of fields inside of one field of a spec, such as a health check or a route.
///
/// ```ignore
/// #[aws_group(observed = Group, state = "targetGroup", rules = Self::between_fields)]
/// pub(crate) struct HealthCheck {
///     /// The path of an HTTP health check, which begins with `/`. Example: `{value: /healthz}`
///     #[field("path", rule = HEALTH_CHECK_PATH, observed = health_check_path)]
///     pub(crate) path: Option<Opt<String>>,
///     ...
/// }
/// ```
///
/// # Generated code
/// - The derives and attributes of serde and schemars.
/// - `DesiredHealthCheck`, the desired form: for each field a `Resolved` value, or an `Option` of it; for a group in this one
///   its desired form, or a list of them. A suffix `Spec` is not part of the name.
/// - `PartialHealthCheck`, the same as far as it is known; `None` is a field with a problem.
/// - `AwsGroup`: resolution and validation with the paths of the fields, and whether any value is secret.
///
/// # Keys of the group
/// - `cel(...)`: as in [`macro@aws_kind`].
/// - `rules = Self::f`: validates rules between fields, with `&self`, the path, `&PartialHealthCheck` and the validator.
/// - `one_of(field, field)`: exactly one of these fields is given, in the schema and in the validation.
/// - `choice`: exactly one of all fields is given. The desired form is an enum with a variant for each field, and `value()` if
///   all have the same type. With `problem = Self::f`, which gets the names of the fields that are given and of all, the message is the
///   group's own, and so is the rule in the schema.
/// - `observed = Type, state = "key"`: the values are fields of the observed object. `DesiredHealthCheck` has `differences`,
///   one for each field; the group has `imported`, and `leave_ignored`, because a call sends all fields of a group; the group has the paths
///   `PUBLISHED`, and `published("Path")` adds some that belong to none of the fields.
/// - `object`: the group is the value of one option, and its fields are no options. Only the derives and attributes are generated.
/// - `observed = Type, texts`: the observed values are texts. `texts()` and `From<&Type>` make `Texts` of both forms, with the
///   `default = "text"` of each field that is absent.
///
/// # Keys of a field
/// The name, and `rule`, `check`, `items`, `group`, `observed`, `import`, `unless` and
/// `published` as in [`macro@aws_kind`]. A `check` may use the fields before it, as far as they are known. What an edit does is
/// said at the field with the group.
#[proc_macro_attribute]
pub fn aws_group(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::group(args.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes an observed object, or a part of one, from a struct with the names of the SDK's fields, which are the allow-list of the
/// published state.
///
/// ```ignore
/// #[aws_observed(from = types::Volume, id = volume_id, phase = Self::phase)]
/// pub(crate) struct Volume {
///     pub(super) volume_id: String,
///     pub(super) state: String,
///     #[from(non_empty(sdk.snapshot_id))]
///     pub(super) snapshot_id: Option<String>,
///     pub(super) attachments: Vec<Attachment>,
/// }
///
/// #[aws_observed(from = types::VolumeAttachment)]
/// pub(crate) struct Attachment {
///     ...
/// }
/// ```
///
/// # Generated code
/// - The derives, and AWS's names in the serialized form.
/// - With an id: the field `tags`, unless it is declared with another form, `Tagged` and `RemoteObject`; and `WithTags`, if
///   the tags have `#[serde(skip)]`, because another call reads them. Without one, for a part of an object: an order.
///
/// # Keys
/// - `from = Type`: the type of the SDK that it is converted from. Each field is converted from that of the same name: a text
///   or an enum as a text, a missing value as the default. A field may be another observed type, an option of one, or a list
///   of them. Lists are sorted, because AWS's order varies.
/// - `id = field`: the field with the id.
/// - `phase = Self::f`: its phase, with `&self`. Without it, an object is ready as soon as it is created.
/// - `pending = Self::f`: as `RemoteObject::pending_state`, with `&self`. Without it, nothing is published while an object is pending.
/// - `launch_index = field`: its index among the objects of its launch, for a kind with a count.
/// - `non_empty`: AWS may return its optional texts empty instead of not at all.
///
/// # Attributes of a field
/// Those of serde, and `#[from(value)]` for a value of its own, in which `sdk` is the object of the SDK. A list whose order
/// matters has the value `kraken_aws::items::in_order(sdk.field)`. A field with `#[serde(skip)]` and without a value is not in
/// the response, and has its default.
#[proc_macro_attribute]
pub fn aws_observed(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::observed(args.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
