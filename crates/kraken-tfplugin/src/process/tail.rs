//! The last bytes of a plugin's standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes that are kept.
const MAX: usize = 4096;

/// The end of an output. Cloning gives another handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let excess = kept.len().saturating_sub(MAX);
        kept.drain(..excess);
    }

    /// The text, without control characters except line ends.
    pub(crate) fn text(&self) -> String {
        let kept: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&kept);
        text.trim().chars().filter(|c| *c == '\n' || !c.is_control()).collect()
    }

    /// Reads an output to its end. An output that is not read blocks the process that writes it.
    pub(crate) async fn fill(self, mut output: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(1..) = output.read(&mut buffer).await.inspect(|count| self.push(&buffer[..*count])) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept() {
        let tail = Tail::default();
        tail.clone().fill([vec![b'a'; 10_000], b"\x1b[31mend\n".to_vec()].concat().as_slice()).await;
        assert!(tail.text().ends_with("a[31mend") && tail.text().len() <= MAX, "{}", tail.text());
    }
}
