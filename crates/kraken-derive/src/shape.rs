//! The type of a field: which option it is, and whether it may be absent.

use syn::{GenericArgument, PathArguments, Type};

/// The type of a field of a spec.
pub(crate) struct Shape {
    pub(crate) is_optional: bool,
    pub(crate) is_public: bool,
    pub(crate) content: Content,
}

/// The value of a field.
pub(crate) enum Content {
    /// `Opt<T>`.
    One(Type),
    /// `ListOpt<T>`.
    List(Type),
    /// Any other type.
    Other,
}

impl Shape {
    /// By the names of the types, as schemars and serde do it.
    pub(crate) fn of(ty: &Type) -> Self {
        let (is_optional, ty) = unwrapped(ty, "Option");
        let (is_public, ty) = unwrapped(ty, "Public");
        let content = match (argument(ty, "Opt"), argument(ty, "ListOpt")) {
            (Some(one), _) => Content::One(one.clone()),
            (_, Some(item)) => Content::List(item.clone()),
            _ => Content::Other,
        };
        Self { is_optional, is_public, content }
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.content, Content::List(_))
    }
}

/// Whether the type is `Name<T>`, and `T`; else the type itself.
fn unwrapped<'a>(ty: &'a Type, name: &str) -> (bool, &'a Type) {
    argument(ty, name).map_or((false, ty), |inner| (true, inner))
}

/// `T` of `Name<T>`.
fn argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(inner)) => Some(inner),
            _ => None,
        },
        _ => None,
    }
}
