//! The program's library on a log that quiche wrote, against what really happened.

use imtcp_cc::event::Event;
use imtcp_cc::promise::{Outcome, SlotReport};
use imtcp_qlog::summary::Summary;
use imtcp_sim::run::{Qlog, RunOptions, qlog_path};
use imtcp_sim::scenario::Scenario;

/// A promise that can be kept until most of the path is taken away.
const SCENARIO: &str = r#"
name = "promise"
title = "4 Mbit/s over each second on 10 Mbit/s; after 6 s 8 Mbit/s of them are gone"
duration = "12 s"

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 KB"

[[traffic]]
name = "udp"
link = "bottleneck"
kind = "cbr"
sizes = "1200 B"
rate = "8 Mbit/s"
start = "6 s"

[[flow]]
name = "main"
controller = "imtcp"
application = { kind = "bulk" }
imtcp = { promise = { rate = "4 Mbit/s", per = "1 s" } }
"#;

#[test]
fn a_simulated_connections_slots_are_summed_up_as_they_were() {
    let scenario = Scenario::parse("promise.toml", SCENARIO, &[]).expect("it can be read");
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions {
        qlog: Some(Qlog::into_folder(folder.path())),
        progress: None,
    };
    let result = scenario.run(1, options).expect("it runs");
    let path = qlog_path(folder.path(), &scenario, 1, "main");
    let mut log = imtcp_qlog::Log::open(&path).expect("a qlog");
    let promises = Summary::of(&mut log).expect("all of it is read").promises;

    let events = &result.flow("main").expect("it is there").events;
    let slots: Vec<SlotReport> = events
        .iter()
        .filter_map(|said| match said.event {
            Event::SlotEnded { report } => Some(report),
            _ => None,
        })
        .collect();
    let count = |outcome| slots.iter().filter(|slot| slot.outcome == outcome).count() as u64;
    assert!(slots.len() >= 10, "{slots:?}");
    assert_eq!(promises.kept, count(Outcome::Kept));
    assert_eq!(promises.missed, count(Outcome::Missed));
    assert!(promises.kept >= 3 && promises.missed >= 3, "{promises:?}");
    let in_time = slots.iter().filter(|slot| {
        let half = slot.end.saturating_since(slot.start) / 2;
        let early = |at| slot.end.saturating_since(at) >= half;
        slot.outcome == Outcome::Missed && slot.warned.is_some_and(early)
    });
    assert_eq!(promises.warned_missed, in_time.count() as u64);
    let least = slots
        .iter()
        .map(|slot| slot.achieved.as_bps_f64() / slot.required.as_bps_f64())
        .min_by(f64::total_cmp);
    // A tenth of the way to the second of a dozen.
    let p5 = promises.p5().expect("there are slots");
    assert_eq!(
        least.map(|least| (least - p5).abs() < 0.2),
        Some(true),
        "{p5}"
    );

    let (1, Some(required)) = (promises.changes, &promises.required) else {
        panic!("{promises:?}");
    };
    assert_eq!(required.rate_bps, 4_000_000);
    assert_eq!(
        (required.per_ms, required.demand.as_str()),
        (1000.0, "at_least")
    );
    assert!(promises.control_slots >= slots.len() as u64);
    let told = |status| promises.statuses.get(status).copied().unwrap_or(0);
    assert_eq!(
        told("at_risk") + told("broken"),
        promises.causes.values().sum::<u64>(),
        "{promises:?}"
    );
    assert!(told("at_risk") > 0);
}
