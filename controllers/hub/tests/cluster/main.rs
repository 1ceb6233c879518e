//! The hub in this process, against a real kube-apiserver: requests and exports from the user's perspective.

mod exports;
mod hub_test;
mod limits;
mod requests;
mod rotate;
