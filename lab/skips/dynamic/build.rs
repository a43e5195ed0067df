//! Compiles the C file to a dynamic library.

use std::{env, path::PathBuf, process::Command};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-fPIC", "-shared", "src/scale.c", "-o"]).arg(out.join("libscale.so"));
    assert!(cc.status().unwrap().success());
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=dylib=scale");
    println!("cargo::rerun-if-changed=src/scale.c");
}
