//! An API server in memory, below kube's client: storage, watches, patches, finalizers, garbage collection.
