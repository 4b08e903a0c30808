//! What measuring may cost: the survey in short, and the traps that are known. `cargo xtask harm`
//! runs the survey at length, `imtcp-sim sweep hosts` the machines.

use imtcp_sim::result::FlowResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use imtcp_sim::survey::bars::{GOODPUT_EACH, GOODPUT_MEDIAN};
use imtcp_sim::survey::{Class, Extent, Paired, Tally, compare};

const NOT_MEASURING: (&str, &str) = ("flow.main.imtcp.measurement", "false");
const CUBIC: (&str, &str) = ("flow.main.controller", "cubic");

fn flow(name: &str, keys: &[(&str, &str)], seed: u64) -> FlowResult {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = keys.iter().map(owned).collect();
    let scenario = Scenario::load(name, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(seed, RunOptions::default());
    let mut result = result.unwrap_or_else(|error| panic!("{name} seed {seed}: {error}"));
    result.flows.swap_remove(0)
}

/// Goodput of measuring as a share of that with some keys changed.
fn share_of(name: &str, changed: (&str, &str), seconds: u32, seed: u64) -> f64 {
    let seconds = format!("{seconds} s");
    let length = ("duration", seconds.as_str());
    let measuring = flow(name, &[length], seed).goodput_bps as f64;
    measuring / flow(name, &[length, changed], seed).goodput_bps as f64
}

#[test]
fn six_paths_that_nobody_chose_lose_nothing_by_measuring() {
    let one = |seed: u64| -> Paired {
        let path = Class::Steps.draw(seed).expect("what is drawn is valid");
        compare(&path, seed, Extent::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
    };
    let all: Vec<Paired> = [2, 4, 12, 13, 14, 20].map(one).into();
    let misses = all.iter().filter(|paired| !paired.misses.is_empty());
    let misses: Vec<_> = misses.map(|paired| (paired.seed, &paired.misses)).collect();
    assert!(misses.is_empty(), "{misses:?}");
    let median = Tally::of(&all).of_not_measuring;
    assert!(median >= GOODPUT_MEDIAN, "{median} at the median");
}

/// Half of the seeds once delivered 0.7 of 2 Mbit/s, without end.
#[test]
fn a_source_keeps_its_rate_where_a_step_leaves_enough_for_it() {
    for name in ["steps-down-frames", "steps-down-40-15"] {
        for seed in 1..=6 {
            let share = share_of(name, NOT_MEASURING, 60, seed);
            assert!(share >= GOODPUT_EACH, "{name} seed {seed}: {share}");
        }
    }
}

#[test]
fn the_steps_down_are_told_of_within_a_few_seconds() {
    for name in ["steps-down-frames", "steps-down-40-15"] {
        let gap = flow(name, &[], 1).score.longest_gap_s;
        assert!(
            gap.is_some_and(|gap| gap < 5.0),
            "{name}: {gap:?} s of silence"
        );
    }
}

#[test]
fn ticks_of_a_millisecond_cost_nothing() {
    for (name, seconds) in [("host-ticks-10", 20), ("host-ticks-100", 8)] {
        let share = share_of(name, CUBIC, seconds, 1);
        assert!(share >= 0.98, "{name}: {share} of CUBIC");
    }
}

/// Four of five packets' worth once got through where each packet waited for the one before it.
#[test]
fn a_send_buffer_that_limits_the_transfer_costs_nothing_more_by_measuring() {
    for (size, acknowledge) in [
        ("12 KB", "10"),
        ("20 KB", "10"),
        ("40 KB", "10"),
        ("40 KB", "2"),
    ] {
        let application = format!("{{ kind = \"bulk\", send_buffer = \"{size}\" }}");
        let keys = [
            ("duration", "10 s"),
            ("flow.main.application", application.as_str()),
            ("flow.main.receiver.acknowledge", acknowledge),
        ];
        let goodput = |more: &[(&str, &str)]| {
            let keys: Vec<_> = keys.iter().chain(more).copied().collect();
            flow("m0-none", &keys, 1).goodput_bps as f64
        };
        let share = goodput(&[]) / goodput(&[NOT_MEASURING]);
        assert!(share >= GOODPUT_EACH, "{size}, {acknowledge}: {share}");
    }
}

/// The 95th percentile of the time from a burst's beginning to its end, measuring and not
/// measuring.
fn burst_delays_ms(name: &str, keys: &[(&str, &str)]) -> [f64; 2] {
    let measuring = ("flow.main.imtcp.measurement", "true");
    [measuring, NOT_MEASURING].map(|key| {
        let keys: Vec<_> = keys.iter().copied().chain([key]).collect();
        let delay = flow(name, &keys, 1).burst_delay_p95_ms;
        delay.expect("there are bursts")
    })
}

fn over_200_mbps(application: &str) -> [(&str, &str); 3] {
    [
        ("duration", "30 s"),
        ("link.bottleneck.rate", "200 Mbit/s"),
        ("flow.main.application", application),
    ]
}

/// The last packets of a burst once waited up to 6 ms for more that would not come.
#[test]
fn a_burst_is_complete_as_early_as_without_measuring() {
    for packets in [36, 45, 63, 76, 99] {
        let rate = format!("{} kbit/s", packets * 1320 * 8 / 400);
        let application =
            format!("{{ kind = \"chunks\", rate = \"{rate}\", period = \"400 ms\" }}");
        let keys = [
            ("duration", "30 s"),
            ("flow.main.application", application.as_str()),
        ];
        let [measuring, not_measuring] = burst_delays_ms("m0-none-rtt100", &keys);
        assert!(
            measuring < not_measuring + 0.3,
            "{packets} packets: {measuring} and {not_measuring} ms"
        );
    }
}

/// What the source delivered was once the pace of its trains where no capacity was shown. Each
/// packet of a burst then left 10 ms later.
#[test]
fn a_burst_over_a_link_of_unknown_capacity_is_not_held_back() {
    let keys = over_200_mbps(r#"{ kind = "chunks", rate = "940 kbit/s", period = "400 ms" }"#);
    let [measuring, not_measuring] = burst_delays_ms("m0-none-rtt100", &keys);
    assert!(
        measuring < not_measuring + 1.0,
        "{measuring} and {not_measuring} ms"
    );
}

/// Echoes of such hosts show no capacity of so fast a link. Streams and trains at the rates that a
/// slow source delivers then held each burst back by as much as a packet may wait: 10 ms.
#[test]
fn a_burst_from_hosts_that_wake_late_is_not_held_back() {
    const LATE: &str = r#"receive_late = "5 us to 60 us""#;
    let receiver = format!("{{ host = {{ {LATE} }} }}");
    for ticks in ["", r#"timer_tick = "1 ms", "#] {
        let host = format!("{{ {ticks}{LATE} }}");
        let keys = [
            ("duration", "12 s"),
            ("link.bottleneck.rate", "400 Mbit/s"),
            ("flow.main.host", host.as_str()),
            ("flow.main.receiver", receiver.as_str()),
            (
                "flow.main.application",
                r#"{ kind = "chunks", rate = "2667 kbit/s", period = "300 ms" }"#,
            ),
        ];
        let [measuring, not_measuring] = burst_delays_ms("m0-none", &keys);
        assert!(
            measuring < not_measuring + 0.3,
            "{host}: {measuring} and {not_measuring} ms"
        );
    }
}

/// Such a stream is slower than the link, and so is the burst that it is a part of.
#[test]
fn streams_that_timers_are_too_late_for_are_not_sent() {
    let keys = over_200_mbps(r#"{ kind = "chunks", rate = "2 Mbit/s", period = "400 ms" }"#);
    let streams = |more: &[(&str, &str)]| {
        let keys: Vec<_> = keys.iter().chain(more).copied().collect();
        let measuring = flow("m0-none", &keys, 1).measuring;
        measuring.map_or(0, |measuring| measuring.streams)
    };
    let ticks = ("flow.main.host", r#"{ timer_tick = "1 ms" }"#);
    let (exact, late) = (streams(&[]), streams(&[ticks]));
    assert!(late * 10 < exact, "{late} with ticks, {exact} without");
}

/// Frames of five packets and a bit, 16 a second: trains have four packets of five.
#[test]
fn streams_leave_packets_for_trains() {
    let keys = [
        ("duration", "30 s"),
        (
            "flow.main.application",
            r#"{ kind = "frames", rate = "914 kbit/s", per_second = 16.0 }"#,
        ),
    ];
    let measuring = flow("m0-none", &keys, 1).measuring.expect("it measures");
    let probes = measuring.streams * 5;
    let packets = 30 * 16 * 6;
    assert!(
        (packets / 8..=packets / 4).contains(&probes),
        "{probes} of {packets}"
    );
}

#[test]
fn bunches_are_no_trains() {
    for extensions in ["none", "ack-frequency", "receive-times", "both"] {
        let name = format!("host-path-{extensions}");
        let share = share_of(&name, NOT_MEASURING, 10, 1);
        assert!(share >= GOODPUT_EACH, "{name}: {share} of not measuring");
    }
}
