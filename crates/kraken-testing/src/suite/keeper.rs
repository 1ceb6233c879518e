//! Restarts controllers that lost their lease, as a kubelet does. On a busy machine the API server may not respond for
//! longer than a lease lasts; the controller ends, and without a restart every later test would fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Controller;

const INTERVAL: Duration = Duration::from_millis(500);

/// A thread, because the suite is shared by tests with a runtime each. It ends on drop.
#[derive(Debug)]
pub(super) struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn of(controllers: Arc<BTreeMap<String, Controller>>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                for controller in controllers.values() {
                    match controller.restart_after_lost_lease() {
                        Ok(true) => eprintln!("{} lost its lease and is restarted", controller.name()),
                        Ok(false) => {}
                        Err(error) => eprintln!("{} cannot be restarted: {error:#}", controller.name()),
                    }
                }
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
