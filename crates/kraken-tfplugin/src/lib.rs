//! A client of the provider plugins of OpenTofu and Terraform.

mod path;
mod types;
mod value;

pub use path::{Path, Step};
pub use types::{Type, TypeError};
pub use value::{ConvertError, Elements, NotANumber, Number, Value};
