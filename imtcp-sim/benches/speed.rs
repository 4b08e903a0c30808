//! Simulated seconds per wall second: divan's "item/s" is just that.

use divan::Bencher;
use divan::counter::ItemsCount;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

/// Long enough that the handshake and slow start are a small part.
const SECONDS: u64 = 5;

fn main() {
    divan::main();
}

/// One bulk flow alone on a link of so many Mbit/s. The round trip is 40 ms, and the queue holds
/// half a bandwidth-delay product.
fn scenario(controller: &str, mbps: u64) -> Scenario {
    let overrides = [
        ("duration", format!("{SECONDS} s")),
        ("flow.main.controller", controller.to_owned()),
        ("link.bottleneck.rate", format!("{mbps} Mbit/s")),
        ("link.bottleneck.queue", format!("{} B", mbps * 2500)),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value));
    match Scenario::load("goodput-alone", &overrides) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

fn bench(bencher: Bencher<'_, '_>, controller: &str, mbps: u64) {
    let scenario = scenario(controller, mbps);
    let bencher = bencher.counter(ItemsCount::new(SECONDS));
    bencher.bench_local(|| scenario.run(1, RunOptions::default()));
}

#[divan::bench(args = [10, 100, 1000], sample_count = 3, sample_size = 1)]
fn imtcp(bencher: Bencher<'_, '_>, mbps: u64) {
    bench(bencher, "imtcp", mbps);
}

#[divan::bench(args = [10, 100, 1000], sample_count = 3, sample_size = 1)]
fn reno(bencher: Bencher<'_, '_>, mbps: u64) {
    bench(bencher, "reno", mbps);
}
