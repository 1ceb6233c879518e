//! Checks of a plugin's file before it is started.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;

use sha2::{Digest as _, Sha256};

/// Why a file is no program for this machine. A script is none: its interpreter would open another file than the one that was checked.
pub(crate) fn is_unusable(file: &File) -> io::Result<Option<String>> {
    let mut header = [0; 20];
    let read = file.read_at(&mut header, 0)?;
    if read < header.len() || header[..4] != *b"\x7fELF" {
        return Ok(Some("is not a Linux program".to_owned()));
    }
    let machine = if header[5] == 2 {
        u16::from_be_bytes([header[18], header[19]])
    } else {
        u16::from_le_bytes([header[18], header[19]])
    };
    let machine = match machine {
        3 => "x86".to_owned(),
        40 => "arm".to_owned(),
        62 => "x86_64".to_owned(),
        183 => "aarch64".to_owned(),
        243 => "riscv64".to_owned(),
        other => format!("machine {other}"),
    };
    let ours = std::env::consts::ARCH;
    Ok((machine != ours).then(|| format!("is a program for {machine}, and this machine is {ours}")))
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256(mut file: &File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}
