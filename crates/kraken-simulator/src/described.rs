//! How Describe calls of EC2 return a kind of object.

use super::cloud::Cloud;
use super::markup::Xml;
use super::store::CloudObject;

/// The description of a kind for Describe calls.
pub(super) trait Described: CloudObject {
    /// The parameter with ids.
    const IDS: &'static str;
    /// The element of the response with the results.
    const SET: &'static str;
    /// The supported filters, in addition to tags.
    const FILTERS: &'static [&'static str];
    /// The minimum and maximum page size; `None` if AWS has no pagination.
    const PAGE: Option<(usize, usize)> = Some((5, 1000));

    /// The values of the field of a filter.
    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String>;

    /// All fields except the tags.
    fn write(&self, xml: &mut Xml, cloud: &Cloud);
}
