//! The conversion of the SDK's objects to observed ones, by the names of their fields.

use aws_sdk_ec2::types::Tag;

use crate::tags::{self, Tags};

/// A field of the SDK as a field of an observed object: enums as text, and a missing text or list as an empty one.
pub trait FromSdk<T> {
    /// The converted field.
    fn of(sdk: T) -> Self;
}

impl<T: AsRef<str>> FromSdk<Option<T>> for Option<String> {
    fn of(text: Option<T>) -> Self {
        text.map(|text| text.as_ref().to_owned())
    }
}

impl<T: AsRef<str>> FromSdk<Option<T>> for String {
    fn of(text: Option<T>) -> Self {
        text.map(|text| text.as_ref().to_owned()).unwrap_or_default()
    }
}

impl FromSdk<Option<i32>> for Option<i32> {
    fn of(number: Option<i32>) -> Self {
        number
    }
}

impl FromSdk<Option<bool>> for Option<bool> {
    fn of(flag: Option<bool>) -> Self {
        flag
    }
}

impl FromSdk<Option<Vec<Tag>>> for Tags {
    fn of(tags: Option<Vec<Tag>>) -> Self {
        tags::from_sdk(&tags.unwrap_or_default())
    }
}

impl<S, T: From<S>> FromSdk<Option<Vec<S>>> for Vec<T> {
    fn of(items: Option<Vec<S>>) -> Self {
        items.unwrap_or_default().into_iter().map(T::from).collect()
    }
}

/// A text; an empty one counts as missing.
pub fn non_empty<T: AsRef<str>>(text: Option<T>) -> Option<String> {
    text.map(|text| text.as_ref().to_owned()).filter(|text| !text.is_empty())
}

/// Implements `From` an object of the SDK for an observed object. Fields with the same name are listed; others are given
/// with their value, for which the object of the SDK has the name after `as`. Texts that AWS may return empty instead of not at
/// all are listed in brackets. Every field of the observed object must be there.
///
/// ```ignore
/// from_sdk!(types::Volume as volume => Volume {
///     volume_id, size, state, tags;
///     snapshot_id: volume.snapshot_id.take().filter(|id| !id.is_empty()),
/// });
/// ```
#[macro_export]
macro_rules! from_sdk {
    ($sdk:ty => $observed:ident { $($field:ident),+ $(,)? }) => {
        $crate::from_sdk!($sdk as sdk => $observed { $($field),+; });
    };
    ($sdk:ty => $observed:ident { [$($text:ident),+] }) => {
        $crate::from_sdk!($sdk as sdk => $observed { ; [$($text),+]; });
    };
    ($sdk:ty as $from:ident => $observed:ident {
        $($field:ident),* $(,)?; $([$($text:ident),+ $(,)?];)? $($own:ident: $value:expr),* $(,)?
    }) => {
        impl From<$sdk> for $observed {
            fn from($from: $sdk) -> Self {
                Self {
                    $($own: $value,)*
                    $($field: $crate::resource::FromSdk::of($from.$field),)*
                    $($($text: $crate::resource::non_empty($from.$text),)+)?
                }
            }
        }
    };
}

/// Implements [`crate::lookup::Tagged`] for an observed object with the fields `tags` and this id.
#[macro_export]
macro_rules! tagged_by {
    ($observed:ident, $id:ident) => {
        impl $crate::lookup::Tagged for $observed {
            fn id(&self) -> &str {
                &self.$id
            }

            fn tags(&self) -> &$crate::Tags {
                &self.tags
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::types::{Subnet as Sdk, SubnetState};

    #[derive(Debug, Default, PartialEq)]
    #[allow(clippy::struct_field_names)] // AWS's names
    struct Subnet {
        subnet_id: String,
        vpc_id: Option<String>,
        state: String,
        map_public_ip_on_launch: Option<bool>,
        tags: Tags,
        zone: String,
    }

    from_sdk!(Sdk as subnet => Subnet {
        subnet_id, vpc_id, state, map_public_ip_on_launch, tags;
        zone: subnet.availability_zone.clone().unwrap_or_default(),
    });

    #[test]
    fn fields_are_converted_by_name() {
        let tag = Tag::builder().key("Name").value("a").build();
        let sdk =
            Sdk::builder().subnet_id("subnet-1").state(SubnetState::Pending).availability_zone("z").tags(tag);
        assert_eq!(
            Subnet::from(sdk.build()),
            Subnet {
                subnet_id: "subnet-1".into(),
                state: "pending".into(),
                zone: "z".into(),
                tags: [("Name".to_owned(), "a".to_owned())].into(),
                ..Subnet::default()
            }
        );
    }
}
