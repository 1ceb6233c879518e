//! Kubernetes and programs beside it as processes of one machine: `kubectl kraken local`, and the environment of tests.
//!
//! Every server listens on loopback, and every process ends with the process that started it, even after SIGKILL.

pub mod assets;
pub mod background;
pub mod cache;
pub mod control_plane;
pub mod go;
pub mod http;
pub mod kubeconfig;
pub mod manifests;
pub mod pki;
pub mod ports;
pub mod process;
pub mod progress;
pub mod webhooks;
