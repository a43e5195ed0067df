//! Compares the machine code of two versions of a program, and finds the changes that an execution meets.
//!
//! A change of the source often leaves the code that a benchmark executes as it was. [`elf`] reads the functions of a
//! build from its link inputs, before any layout, so that equal digests mean the same code at any address, and compares
//! them with those of another build. [`impact`] decides by a traced execution which of the differences it executes or
//! reads. [`callgrind`] attributes a difference in executed instructions to the functions that cause it, and [`samples`] a
//! difference in time.
//!
//! Everything here is a pure function of bytes and values: no files, no processes, no clock, no environment. ELF for
//! x86-64 and aarch64 is supported; what cannot be read is an error or counts as changed, never as equal.
//!
//! ```
//! use rbench_code::elf::loadable_digest;
//!
//! // The own executable is the same program as itself, and what is no executable has no digest.
//! let own = std::fs::read(std::env::current_exe()?)?;
//! assert_eq!(loadable_digest(&own)?, loadable_digest(&own)?);
//! assert!(loadable_digest(b"#!/bin/sh").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod callgrind;
pub mod elf;
pub mod impact;
mod matching;
pub mod samples;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
