//! x
use imtcp_cc::units::Timestamp;
use imtcp_sim::*;
fn main() {
    let o: Vec<(String, String)> = std::env::args()
        .skip(2)
        .map(|a| {
            let (k, v) = a.split_once('=').unwrap();
            (k.to_owned(), v.to_owned())
        })
        .collect();
    let s = scenario::Scenario::load(&std::env::args().nth(1).unwrap(), &o)
        .unwrap_or_else(|e| panic!("{e}"));
    let t = std::time::Instant::now();
    let mut sim = simulation::Simulation::new(&s, 1).unwrap();
    sim.advance(Timestamp::from_nanos(u64::MAX));
    let w = t.elapsed().as_secs_f64();
    println!(
        "wall {w:.2} speed {:.1} events {}",
        s.duration.as_secs_f64() / w,
        sim.events()
    );
    for p in sim.pairs() {
        println!(
            "goodput {:.3} Mbit/s acks {} q {:?}",
            p.delivery().bytes as f64 * 8e-6 / s.duration.as_secs_f64(),
            p.delivery().acknowledgements,
            p.delivery().round_trip_quantiles([0.0, 0.5, 0.95])
        );
        let st = p.server().unwrap().stats();
        println!(
            "{st:?} {:?} {:?}",
            p.server().unwrap().peer_error(),
            p.server().unwrap().local_error()
        );
    }
    for l in 0..s.links.len() {
        println!(
            "{:?}",
            sim.network()
                .hop(network::HopId {
                    link: l,
                    direction: network::Direction::Forward
                })
                .counters()
        );
    }
}
