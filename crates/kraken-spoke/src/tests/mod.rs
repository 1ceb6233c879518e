//! The loop on a scripted API server and a scripted cloud: each test states the expected calls of one reconcile in their
//! order, with their responses, and asserts what a user would see: conditions, events, the requeue and the metric.

mod accounts;
mod act;
mod approval;
mod cloud;
mod deletion;
mod disk;
mod dynamic;
mod edited_again;
mod effects;
mod fixtures;
mod follow;
mod found_by_tag;
mod lag;
mod look_up;
mod observe;
mod orphans;
mod outcomes;
mod prepare;
mod preview;
mod release;
mod replace;
mod scene;
mod script;
mod search;
mod secrecy;
mod server;
mod take_over;
mod triggers;
mod unknown_launch;
