//! Look-ups of images.

mod api;
mod calls;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::ImageLookups;
