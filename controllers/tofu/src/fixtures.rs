//! Parts of schemas, for tests.

use kraken_tfplugin::{
    Type,
    schema::{Attribute, Form},
};

/// An optional attribute of this type.
pub(crate) fn attribute(form: Type) -> Attribute {
    Attribute {
        form: Form::Plain(form),
        description: String::new(),
        is_required: false,
        is_optional: true,
        is_computed: false,
        is_sensitive: false,
        is_write_only: false,
        is_deprecated: false,
    }
}
