//! Builds the crate anew when a scenario file is added: they are compiled into it.

fn main() {
    println!("cargo:rerun-if-changed=scenarios");
}
