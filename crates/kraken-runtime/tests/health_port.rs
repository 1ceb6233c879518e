//! The limit of the connections to the port for health and metrics, over real sockets.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{io, net::SocketAddr, sync::Arc};

use kraken_runtime::{Health, Metrics, serve};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The limit, as the log line names it.
const MAX: usize = 64;

/// The log lines of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: kraken\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn clients_that_hold_all_connections_do_not_keep_the_kubelet_out() {
    let (log, metrics) = (Log::default(), Metrics::new("test"));
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
    let _logged = tracing::subscriber::set_default(subscriber.finish());
    let any_port = "127.0.0.1:0".parse().unwrap();
    let address = serve::start(any_port, Health::default(), metrics.clone()).await.unwrap();
    let mut held = vec![];
    for _ in 0..=MAX {
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(b"GET /he").await.unwrap();
        held.push(socket);
    }
    assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 200"));
    // The oldest one gave way.
    let mut answer = String::new();
    let _ = held[0].read_to_string(&mut answer).await;
    assert_eq!(answer, "");
    let metrics = metrics.encode();
    let closed = metrics.lines().find(|line| line.starts_with("kraken_connections_closed_total"));
    assert_eq!(closed, Some(r#"kraken_connections_closed_total{port="health"} 2"#), "of 66 connections");
    // Only the first one is logged within a minute.
    let log = log.text();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("connections are in use")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    for words in ["WARN", "all 64 connections are in use", "port=\"health and metrics\"", "closed=1"] {
        assert!(lines[0].contains(words), "{words}: {}", lines[0]);
    }
}
