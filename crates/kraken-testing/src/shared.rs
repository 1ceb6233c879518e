//! What the tests of a process share, for as long as one of them uses it. An idle API server still takes a twentieth of a core
//! and 600 MB, so a program of hundreds of tests cannot keep each one that it started until its end.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::Mutex;

/// How often it is looked at.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// After how many looks without a user it is dropped. Tests of a file run one after the other, and an environment whose control plane is
/// [used again](crate::environment) starts in seconds.
const LOOKS: u32 = 5;

/// Started by the first test that needs it, dropped some seconds after the last one that uses it, and started again if there
/// is another one.
#[derive(Debug)]
pub struct Shared<T> {
    value: Mutex<Option<Arc<T>>>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Shared<T> {
    /// Nothing is started yet.
    pub const fn new() -> Self {
        Self { value: Mutex::const_new(None) }
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// What is shared. A test keeps it until its end.
    ///
    /// # Errors
    /// If it does not start; the next caller tries again.
    pub async fn get<F: Future<Output = Result<T>>>(
        &'static self,
        start: impl FnOnce() -> F,
    ) -> Result<Arc<T>> {
        let mut value = self.value.lock().await;
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        let started = Arc::new(start().await?);
        *value = Some(started.clone());
        // A thread, because each test has a runtime of its own.
        thread::spawn(|| self.drop_unused(INTERVAL));
        Ok(started)
    }

    fn drop_unused(&self, interval: Duration) {
        let mut looks = 0;
        let unused = loop {
            thread::sleep(interval);
            let mut value = self.value.blocking_lock();
            // Nobody can begin to use it while it is locked.
            looks =
                if value.as_ref().is_some_and(|value| Arc::strong_count(value) > 1) { 0 } else { looks + 1 };
            if looks >= LOOKS {
                break value.take();
            }
        };
        drop(unused); // it takes seconds, in which another one may be started
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_shared_lasts_as_long_as_somebody_uses_it() -> Result<()> {
        static SHARED: Shared<&str> = Shared::new();
        let first = SHARED.get(|| async { Ok("first") }).await?;
        let watch = |millis| move || SHARED.drop_unused(Duration::from_millis(millis));
        let watching = tokio::task::spawn_blocking(watch(1));
        assert_eq!(*SHARED.get(|| async { Ok("second") }).await?, "first");
        assert!(!watching.is_finished());
        drop(first);
        watching.await?;
        assert_eq!(*SHARED.get(|| async { Ok("third") }).await?, "third");
        Ok(())
    }

    #[tokio::test]
    async fn what_does_not_start_is_tried_again() -> Result<()> {
        static SHARED: Shared<u8> = Shared::new();
        SHARED.get(|| async { anyhow::bail!("no port is free") }).await.expect_err("it did not start");
        assert_eq!(*SHARED.get(|| async { Ok(1) }).await?, 1);
        Ok(())
    }
}
