//! Compiles the C file and archives it.

use std::{env, path::PathBuf, process::Command};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let object = out.join("native.o");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-fPIC", "-ffunction-sections", "-fdata-sections"]);
    run(cc.args(["-c", "src/native.c", "-o"]).arg(&object));
    run(Command::new("ar").arg("crs").arg(out.join("libnative.a")).arg(&object));
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=native");
    println!("cargo::rerun-if-changed=src/native.c");
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?} failed");
}
