//! Ports for the servers that tests start.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use crate::process::log_text;

/// Below the ports that the system gives to outgoing connections and to listeners on port 0 (32768 and above on Linux), and
/// below the NodePorts of Kubernetes (30000 and above). The system may give one of those away between the choice of the port and
/// its use, and then two controllers take each other's response to `/readyz` for their own.
const RANGE: Range<u16> = 20_000..30_000;
const ATTEMPTS: usize = 100;
/// How many ports are remembered, so that two tests of a process never get the same one before either has bound it.
const REMEMBERED: usize = 2_000;
/// How many times a server that [`lost_its_port`] is started.
pub const PORT_ATTEMPTS: usize = 5;

/// A port of the loopback interface that was free just now.
///
/// No other caller in this process gets it for a long time. Another process can take it before its user binds it, so the start of a server
/// is retried with a new one (see [`lost_its_port`]).
///
/// # Errors
/// When none of many ports can be bound.
pub fn free_port() -> Result<u16> {
    free_port_at(Ipv4Addr::LOCALHOST)
}

/// [`free_port`] of another address of this machine.
///
/// # Errors
/// When none of many ports can be bound.
pub fn free_port_at(address: Ipv4Addr) -> Result<u16> {
    static GIVEN: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());
    for _ in 0..ATTEMPTS {
        let port = fastrand::u16(RANGE);
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.contains(&port) && TcpListener::bind((address, port)).is_ok() {
            given.push_back(port);
            if given.len() > REMEMBERED {
                given.pop_front();
            }
            return Ok(port);
        }
    }
    bail!("no port of {address} can be bound, of {ATTEMPTS} from {} to {}", RANGE.start, RANGE.end)
}

/// Whether a server's log reports that its port is in use.
pub fn lost_its_port(log: &Path) -> bool {
    log_text(log).is_ok_and(|text| text.to_lowercase().contains("address already in use"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound_and_is_never_one_that_the_system_gives_away() {
        for _ in 0..50 {
            let port = free_port().unwrap();
            assert!(RANGE.contains(&port), "{port}");
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[test]
    fn no_port_is_given_twice_at_once() {
        let ports: std::collections::BTreeSet<u16> = (0..500).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 500);
    }

    #[test]
    fn an_address_of_another_machine_is_named() {
        let error = free_port_at(Ipv4Addr::new(192, 0, 2, 1)).unwrap_err().to_string();
        assert!(error.contains("no port of 192.0.2.1"), "{error}");
    }
}
