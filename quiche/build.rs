//! Makes the patched quiche in `OUT_DIR`, for `src/lib.rs` to include.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use quiche_patcher::{assemble, includable, published_source, Series, SOURCE_VARIABLE};

fn main() {
    if let Err(error) = run() {
        for line in error.to_string().lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let target = out.join("quiche");
    for input in ["build.rs", "patches", "pristine", "src"] {
        println!("cargo::rerun-if-changed={}", here.join(input).display());
    }
    println!("cargo::rerun-if-env-changed={SOURCE_VARIABLE}");
    let published = published_source(&here.join("pristine/Cargo.toml"), Some(&out))?;
    // Cargo's registry cache can be emptied; the file is missing then and this runs again.
    println!(
        "cargo::rerun-if-changed={}",
        published.join("Cargo.toml").display()
    );

    assemble(
        &published,
        &Series::read(&here.join("patches"))?,
        &here.join("src"),
        &target,
    )?;
    make_includable(&target.join("src/lib.rs"))?;
    repeat_upstream_build_script();
    Ok(())
}

fn make_includable(crate_root: &Path) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(crate_root)?;
    Ok(fs::write(crate_root, includable(&text))?)
}

/// What the published crate's own build script says, as far as it concerns a Rust library.
fn repeat_upstream_build_script() {
    println!("cargo::rustc-check-cfg=cfg(boring_v5)");
    if cfg!(feature = "boringssl-boring-crate") {
        // Told by boring-sys 5.2 and later; older ones are version 4.
        println!("cargo::rerun-if-env-changed=DEP_BORINGSSL_VERSION_MAJOR");
        if env::var("DEP_BORINGSSL_VERSION_MAJOR").is_ok_and(|major| major == "5") {
            println!("cargo::rustc-cfg=boring_v5");
        }
        println!("cargo::rustc-link-lib=static=ssl");
        println!("cargo::rustc-link-lib=static=crypto");
    }
}
