//! The environment of Kraken's cluster tests, demo and benchmark: a real etcd, kube-apiserver and
//! kube-controller-manager, the moto server as AWS, a scriptable proxy in front of it, and the
//! controllers as their real binaries.
//!
//! No component is mocked, so a passing test is meaningful for a real cluster. Every server listens on loopback on a
//! free port, and every process ends with the process that started it, even after SIGKILL.
//!
//! Use [`environment::Environment`] for all components, or [`cluster::ControlPlane`] for Kubernetes only.

pub mod audit;
pub mod canary;
pub mod cert_manager;
pub mod cluster;
pub mod crash_test;
pub mod environment;
pub mod fault_proxy;
pub mod fuzz;
pub mod gitops;
mod headers;
pub mod kro;
mod leaks;
pub mod moto;
pub mod namespace;
pub mod node;
pub mod oci;
pub mod openstack;
pub mod packaging;
#[cfg(test)]
mod parity;
pub mod paths;
mod pool;
pub mod programs;
pub mod prometheus;
pub mod providers;
pub mod proxy;
mod random;
pub mod schemas;
mod scratch;
mod searched;
mod shared;
pub mod suite;

pub use kraken_local::{assets, manifests, ports, process, progress};
use kraken_local::{cache, go, kubeconfig};

pub use cluster::{ControlPlane, ControlPlaneOptions};
pub use environment::{Environment, EnvironmentOptions};
pub use moto::Moto;
pub use namespace::{TestNamespace, namespace};
pub use proxy::Proxy;
pub use shared::Shared;
pub use suite::{Suite, SuiteOptions};
