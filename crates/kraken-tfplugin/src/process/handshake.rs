//! The line that a plugin prints when it listens: versions, network, address, kind of server.

use std::path::PathBuf;

use crate::rpc::Protocol;

/// Where a plugin listens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) protocol: Protocol,
    pub(crate) socket: PathBuf,
}

/// Reads the line.
pub(crate) fn parse(line: &str) -> Result<Handshake, String> {
    let mut fields = line.trim().split('|');
    let mut field = || fields.next().unwrap_or_default();
    let (core, version, network, address, server) = (field(), field(), field(), field(), field());
    if core != "1" {
        let line: String = line.trim().chars().take(80).collect();
        return Err(format!("expected the address of a plugin, got {line:?}"));
    }
    let protocol = match version {
        "5" => Protocol::V5,
        "6" => Protocol::V6,
        other => return Err(format!("expected protocol 5 or 6, got {other}")),
    };
    if network != "unix" {
        return Err(format!("expected a Unix socket, got network {network}"));
    }
    if server != "grpc" {
        return Err("expected gRPC; the plugin has an older kind of server".to_owned());
    }
    Ok(Handshake { protocol, socket: PathBuf::from(address) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read() {
        for (line, protocol) in [
            ("1|5|unix|/run/plugin1|grpc|\n", Protocol::V5),
            ("1|6|unix|/run/plugin1|grpc", Protocol::V6),
            ("1|6|unix|/run/plugin1|grpc||true", Protocol::V6),
        ] {
            assert_eq!(parse(line), Ok(Handshake { protocol, socket: "/run/plugin1".into() }), "{line}");
        }
    }

    #[test]
    fn other_lines_are_rejected_with_a_reason() {
        for (line, reason) in [
            ("hello", "got \"hello\""),
            ("1|4|unix|/run/a|grpc", "protocol 5 or 6, got 4"),
            ("1|5|tcp|127.0.0.1:1|grpc", "network tcp"),
            ("1|5|unix|/run/a|netrpc", "older"),
        ] {
            assert!(parse(line).unwrap_err().contains(reason), "{line}");
        }
    }
}
