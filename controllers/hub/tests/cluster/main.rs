//! The hub in this process, against a real kube-apiserver: what a user sees of requests and exports.

mod exports;
mod requests;
mod world;
