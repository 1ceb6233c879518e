//! Fields with a fixed set of values, in AWS's spelling.

/// Defines an enum of values, for an option or a part of one: `as_str` and `Display` are the value in the AWS API.
///
/// ```ignore
/// words!(
///     /// The protocol of a listener.
///     Protocol { Http = "HTTP", Https = "HTTPS" }
/// );
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variants:tt)+ }) => {
        $crate::words!($(#[$about])* pub(crate) $name { $($variants)+ });
    };
    ($(#[$about:meta])* $visibility:vis $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema,
        )]
        $visibility enum $name {
            $(#[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The value in the AWS API.
            $visibility fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        /// The value in the AWS API, as text.
        impl PartialEq<String> for $name {
            fn eq(&self, text: &String) -> bool {
                self.as_str() == text
            }
        }

        impl ::kraken_kind::OptionType for $name {
            const TYPE: ::kraken_kind::options::JsonType = ::kraken_kind::options::JsonType::String;
        }
    };
}
