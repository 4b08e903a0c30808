//! Builds the crate anew when a scenario or sweep file is added: they are compiled into it.

fn main() {
    println!("cargo:rerun-if-changed=scenarios");
    println!("cargo:rerun-if-changed=sweeps");
}
