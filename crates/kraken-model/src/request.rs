//! The finalizer of DependencyRequests. Pure.

use kraken_api::{DependencyRequest, REFERENCES_FINALIZER};
use kube::{Resource, api::ObjectMeta};

/// The finalizers of a request.
pub fn finalizers() -> &'static [&'static str] {
    &[REFERENCES_FINALIZER]
}

/// Whether the request exists until its spoke releases it. A request that is being deleted can get no finalizer any
/// more.
pub fn is_held(request: &DependencyRequest) -> bool {
    request.meta().deletion_timestamp.is_some() || has_finalizer(request.meta())
}

/// Whether it has the finalizer, which only its spoke removes.
pub fn has_finalizer(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == REFERENCES_FINALIZER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with these finalizers.
    fn request(finalizers: &[&str]) -> DependencyRequest {
        let mut request = DependencyRequest::new("gadget-a", kraken_api::DependencyRequestSpec::default());
        request.metadata.finalizers = Some(finalizers.iter().map(|f| (*f).to_owned()).collect());
        request
    }

    #[test]
    fn request_is_held_only_by_its_finalizer() {
        assert!(!is_held(&request(&["other"])));
        assert!(is_held(&request(&["other", REFERENCES_FINALIZER])));
    }
}
