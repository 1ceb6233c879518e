//! Files of this version that are part of the program, listed by `build.rs`.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
