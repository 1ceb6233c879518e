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
    /// `Vec<T>`, such as a list of groups.
    Groups(Type),
    /// Any other type, such as a group.
    Other(Type),
}

impl Shape {
    /// By the names of the types, as schemars and serde do it.
    pub(crate) fn of(ty: &Type) -> Self {
        let (is_optional, ty) = unwrapped(ty, "Option");
        let (is_public, ty) = unwrapped(ty, "Public");
        let content = match (argument(ty, "Opt"), argument(ty, "ListOpt"), argument(ty, "Vec")) {
            (Some(one), ..) => Content::One(one.clone()),
            (_, Some(item), _) => Content::List(item.clone()),
            (.., Some(group)) => Content::Groups(group.clone()),
            _ => Content::Other(ty.clone()),
        };
        Self { is_optional, is_public, content }
    }

    /// The type of a group, or of the groups of a list.
    pub(crate) fn group(&self) -> Option<&Type> {
        match &self.content {
            Content::Groups(group) | Content::Other(group) => Some(group),
            Content::One(_) | Content::List(_) => None,
        }
    }

    pub(crate) fn is_groups(&self) -> bool {
        matches!(self.content, Content::Groups(_))
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
