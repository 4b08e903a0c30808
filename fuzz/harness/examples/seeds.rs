//! Writes the hand-made seeds of all targets into `fuzz/seeds`.

use imtcp_fuzz_harness::TARGETS;
use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../seeds");
    for target in TARGETS {
        let folder = seeds.join(target.name);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in (target.seeds)() {
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}
