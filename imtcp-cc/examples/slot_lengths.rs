//! Slots kept with control slots from loss to loss, and with the paper's rule: a table of
//! docs/ALGORITHM.md. `cargo run --release -p imtcp-cc --example slot_lengths` takes half a minute.

#[path = "../tests/support/mod.rs"]
mod support;

use imtcp_cc::promise::SlotLengthRule::{Doubling, LossIntervals};
use imtcp_cc::units::Bandwidth;
use support::Path;
use support::promised::{kept, path};

fn main() {
    println!(
        "random loss, Poisson traffic beside, required: from loss to loss, the paper's, of all \
         slots"
    );
    for (loss, beside, mbps) in [
        (0.001, 0, 8.0),
        (0.003, 0, 8.0),
        (0.01, 0, 8.0),
        (0.01, 0, 15.0),
        (0.0, 30, 9.0),
        (0.0, 30, 7.0),
    ] {
        let cross = Bandwidth::from_mbps(beside);
        let path = Path {
            loss,
            cross,
            ..path(40)
        };
        let (ours, all) = kept(&path, LossIntervals, mbps, 200..216);
        let (papers, _) = kept(&path, Doubling, mbps, 200..216);
        println!("{loss}, {cross}, {mbps} Mbit/s: {ours}, {papers}, {all}");
    }
}
