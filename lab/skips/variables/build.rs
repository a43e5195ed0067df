//! Writes a table whose length variables decide.

use std::{env, fs, path::Path};

const LEAST: usize = 20;

fn number(name: &str) -> usize {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(LEAST)
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=rounds.txt");
    let rounds = fs::read_to_string("rounds.txt").unwrap().trim().parse::<usize>().unwrap();
    let table = vec![number("SKIPS_ELEMENT"); 8];
    // Is asked for, and changes nothing.
    let _ = number("SKIPS_IDLE");
    println!("cargo::rustc-env=SKIPS_FILE={rounds}");
    let code = format!("static LENGTHS: [usize; 8] = {table:?};\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap()).join("lengths.rs"), code).unwrap();
}
