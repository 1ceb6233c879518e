//! Headers that a proxy forwards.

use hyper::header::{CONNECTION, EXPECT, HeaderMap, TRANSFER_ENCODING};

/// Removes hop-by-hop headers.
pub(crate) fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    for name in [CONNECTION, TRANSFER_ENCODING, EXPECT] {
        headers.remove(name);
    }
    headers
}
