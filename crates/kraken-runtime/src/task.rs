//! The only module that spawns tasks. A task belongs to the group of its caller, if there is one: a simulation ends a whole
//! controller by ending its group, like the end of a process, and suspends it like SIGSTOP.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use futures::future::Either;
use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinError, JoinHandle};

use crate::clock;

tokio::task_local! {
    static GROUP: Group;
}

/// The number of tasks at which a group first removes ended tasks.
const SWEEP: usize = 64;

/// The tasks of one controller. Cloning gives another handle.
#[derive(Clone, Debug, Default)]
pub struct Group {
    tasks: Arc<Mutex<Tasks>>,
    is_suspended: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Tasks {
    has_ended: bool,
    running: Vec<AbortHandle>,
    sweep_at: usize,
    /// The wakers of tasks that became ready while the group was suspended.
    held_up: Vec<Waker>,
}

impl Group {
    /// Spawns a task in this group; tasks that it spawns with [`spawn`] belong to the group too.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        // Boxed, because the future of a reconcile is tens of kilobytes, which a spawn would copy several times.
        let task = tokio::spawn(self.clone().run(Box::pin(future)));
        let mut tasks = self.tasks.lock();
        if tasks.has_ended {
            task.abort();
        } else {
            tasks.running.push(task.abort_handle());
            if tasks.running.len() >= tasks.sweep_at.max(SWEEP) {
                tasks.running.retain(|task| !task.is_finished());
                tasks.sweep_at = tasks.running.len() * 2;
            }
        }
        task
    }

    async fn run<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(GROUP.scope(self.clone(), future));
        let step = |context: &mut Context<'_>| {
            if self.is_suspended.load(Ordering::Relaxed) {
                self.tasks.lock().held_up.push(context.waker().clone());
                return Poll::Pending;
            }
            future.as_mut().poll(context)
        };
        std::future::poll_fn(step).await
    }

    /// Suspends every task of the group before its next poll; time advances.
    pub fn suspend(&self) {
        self.is_suspended.store(true, Ordering::Relaxed);
    }

    /// Resumes all tasks.
    pub fn resume(&self) {
        self.is_suspended.store(false, Ordering::Relaxed);
        let held_up = std::mem::take(&mut self.tasks.lock().held_up);
        held_up.into_iter().for_each(Waker::wake);
    }

    /// Ends every task of the group at its next poll, including tasks that are spawned later.
    pub fn abort(&self) {
        let mut tasks = self.tasks.lock();
        tasks.has_ended = true;
        for task in tasks.running.drain(..) {
            task.abort();
        }
    }
}

/// Spawns a task, in the group of the caller if there is one.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match GROUP.try_with(Clone::clone) {
        Ok(group) => group.spawn(future),
        Err(_) => tokio::spawn(future),
    }
}

/// A future for a `JoinSet`, which ends its tasks itself: tasks that it spawns belong to the caller's group.
pub fn inherit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    match GROUP.try_with(Clone::clone) {
        Ok(group) => Either::Left(group.run(Box::pin(future))),
        Err(_) => Either::Right(future),
    }
}

/// Computes on a blocking thread; in a simulation, which has one thread, inline.
///
/// # Errors
/// If it panics, or the process ends.
pub async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    if clock::is_simulated() {
        spawn(async { work() }).await
    } else {
        tokio::task::spawn_blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn suspended_group_continues_when_it_is_resumed() {
        let group = Group::default();
        let begin = clock::Instant::now();
        let task = group.spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            begin.elapsed().as_secs()
        });
        tokio::task::yield_now().await; // the task begins to sleep
        group.suspend();
        tokio::time::sleep(Duration::from_secs(9)).await;
        group.resume();
        assert_eq!(task.await.unwrap(), 9);
    }

    #[tokio::test(start_paused = true)]
    async fn aborted_group_ends_its_tasks_and_their_children() {
        let (sender, mut alive) = mpsc::unbounded_channel::<()>();
        let group = Group::default();
        group.spawn(async move {
            let held = sender.clone();
            spawn(async move {
                std::future::pending::<()>().await;
                drop(held);
            });
            let mut set = tokio::task::JoinSet::new();
            set.spawn(inherit(async move {
                spawn(async move {
                    std::future::pending::<()>().await;
                    drop(sender);
                });
            }));
            std::future::pending::<()>().await;
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(alive.try_recv().is_err_and(|error| error == mpsc::error::TryRecvError::Empty));
        group.abort();
        assert_eq!(alive.recv().await, None, "every sender is dropped");
        assert!(group.spawn(std::future::pending::<()>()).await.is_err_and(|error| error.is_cancelled()));
    }
}
