//! Elements of links, each in a scenario of its own: what crosses them, and what the truth is.

use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

fn run(name: &str, overrides: &[(&str, &str)]) -> RunResult {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(owned).collect();
    let scenario = Scenario::load(name, &overrides).expect("built in");
    scenario.run(1, RunOptions::default()).expect("it runs")
}

/// Bits that crossed a tenth of a second, by user.
fn crossed(result: &RunResult) -> Vec<f64> {
    let rows = result.truth.iter();
    rows.map(|row| (row.cross_bps + row.flow_bps.values().sum::<u64>()) as f64 / 10.0)
        .collect()
}

const CUBIC: (&str, &str) = ("flow.main.controller", "cubic");
const BULK: (&str, &str) = ("flow.main.application", "{ kind = \"bulk\" }");

#[test]
fn a_boost_passes_its_bucket_and_then_its_rate() {
    let result = run("boost", &[CUBIC, BULK, ("traffic.bursts.rate", "0 bit/s")]);
    let crossed = crossed(&result);
    let bucket = 600e3 * 8.0;
    // No span carries more than the bucket and what comes meanwhile, and a packet under way.
    for (seconds, sum) in [(2.0, &crossed[..20]), (20.0, &crossed[..])] {
        let most = bucket + seconds * 10e6 + 12e3;
        let sum: f64 = sum.iter().sum();
        assert!((0.95 * most..=most).contains(&sum), "{seconds} s: {sum}");
    }
    let fastest = crossed.iter().copied().fold(0.0, f64::max);
    assert!(
        fastest > 2e6,
        "{fastest} bits at most in a tenth of a second"
    );
}

#[test]
fn the_truth_of_a_boost_is_the_rate_after_the_bucket_less_what_others_take() {
    let result = run("boost", &[]);
    let truth = &result.flows[0].reference.truth;
    let segments: Vec<f64> = truth.segments().iter().map(|(_, bps)| *bps).collect();
    let mean = segments.iter().sum::<f64>() / segments.len() as f64;
    let cross = result.truth.iter().map(|row| row.cross_bps as f64);
    let cross = cross.sum::<f64>() / result.truth.len() as f64;
    // Bursts of 16 on a rate of 10: the 0.6 Mbit too many are paid back in the tenth behind.
    assert!((mean - (10e6 - cross)).abs() < 0.02e6, "{mean} {cross}");
    assert!((cross - 4e6).abs() < 0.3e6, "{cross}");
    let least = segments.iter().copied().fold(f64::INFINITY, f64::min);
    let most = segments.iter().copied().fold(0.0, f64::max);
    assert_eq!((least, most), (0.0, 10e6));
}

#[test]
fn a_policer_drops_and_no_queue_grows() {
    let result = run("policed", &[CUBIC]);
    let link = result.link("bottleneck").expect("the link");
    let gone = link.forward;
    assert!(gone.policed.packets > 50, "{gone:?}");
    assert_eq!(gone.overflowed.packets, 0);
    let waiting = gone.offered.packets - gone.policed.packets - gone.crossed.packets;
    assert!(waiting <= 100, "what is there at the end: {waiting}");
    let sum: f64 = crossed(&result).iter().sum();
    let most = 100e3 * 8.0 + 20.0 * 10e6;
    assert!((0.6 * most..=most).contains(&sum), "{sum}");
    // The line is ten times as fast as the tokens come: hardly anything waits.
    let rtt = result.flows[0].rtt_ms.expect("round trips");
    assert!(rtt.p95_ms < 35.0, "{rtt:?}");
    let rows = &result.truth;
    assert!(rows.iter().all(|row| row.capacity_bps == 10_000_000));
}

#[test]
fn who_sends_what_the_truth_says_finds_tokens_and_who_sends_more_does_not() {
    // Bursts of 16 Mbit/s beside 5.7 take 146 KB out of the bucket in a tenth of a second, and
    // leave 6 of 10 Mbit/s on average.
    let policer = "{ kind = \"policer\", rate = \"10 Mbit/s\", size = \"200 KB\" }";
    let policed = |mbps: f64| {
        let application = format!("{{ kind = \"datagrams\", rate = \"{mbps} Mbit/s\" }}");
        let keys = [
            CUBIC,
            ("link.bottleneck.bucket", policer),
            ("flow.main.application", &application),
        ];
        let result = run("boost", &keys);
        let sum: u64 = result.truth.iter().map(|row| row.flow_bps["main"]).sum();
        let link = result.link("bottleneck").expect("the link").forward;
        (
            sum as f64 / result.truth.len() as f64 / 1e6,
            link.policed.packets,
        )
    };
    let (below, none) = policed(5.4);
    assert!((5.6..5.9).contains(&below) && none == 0, "{below} {none}");
    let (above, some) = policed(6.2);
    assert!(above > 6.0 && some > 100, "{above} {some}");
}

#[test]
fn a_recorded_link_carries_what_its_trace_has_room_for() {
    let result = run("cell", &[CUBIC, BULK]);
    let trace = imtcp_sim::trace::drawn(4);
    let capacity = result
        .truth
        .iter()
        .map(|row| row.capacity_bps as f64 / 10.0);
    let capacity: f64 = capacity.sum();
    // The run is one round of the trace, but for its last deliveries, at 30 s.
    let room = trace.mean().as_bps_f64() * 30.0;
    assert!(
        (room - 100e3..room).contains(&capacity),
        "{capacity} {room}"
    );
    assert!(result.flows[0].reference.steps.is_empty());
    for (crossed, row) in crossed(&result).iter().zip(&result.truth) {
        // A packet that takes what is left of one delivery and a part of the next counts with that.
        let most = row.capacity_bps as f64 / 10.0 + 12_000.0;
        assert!(*crossed <= most, "{row:?}");
    }
    let sum: f64 = crossed(&result).iter().sum();
    assert!((0.8 * room..=room).contains(&sum), "{sum} of {room}");
}

/// Packets that a link marked and dropped early, and those that the flow found lost.
fn marks(result: &RunResult) -> [u64; 3] {
    let link = result.link("bottleneck").expect("the link").forward;
    let lost = result.flows[0].lost_packets;
    [link.marked.packets, link.managed.packets, lost]
}

#[test]
fn a_flow_that_takes_marks_is_marked_and_not_dropped_from() {
    // PIE and DualPI2 drop above a tenth and a quarter, which the end of slow start reaches.
    for (stack, queue, most) in [
        ("quiche", "{ kind = \"codel\", limit = \"500 KB\" }", 0),
        ("quinn", "{ kind = \"codel\", limit = \"500 KB\" }", 0),
        ("noq", "{ kind = \"fq-codel\", limit = \"500 KB\" }", 0),
        ("quiche", "{ kind = \"pie\", limit = \"500 KB\" }", 250),
        (
            "quiche",
            "{ kind = \"red\", limit = \"500 KB\", lower = \"50 KB\", upper = \"300 KB\" }",
            0,
        ),
        ("quiche", "{ kind = \"dualpi2\", limit = \"500 KB\" }", 30),
    ] {
        let keys = [
            ("link.bottleneck.queue", queue),
            ("flow.main.receiver.stack", stack),
        ];
        let result = run("marked", &keys);
        let [marked, dropped, lost] = marks(&result);
        assert!((10..500).contains(&marked), "{queue}: {marked}");
        assert!(dropped <= most && lost <= most, "{queue}: {dropped} {lost}");
        let goodput = result.flows[0].goodput_bps;
        assert!(goodput > 16_000_000, "{queue}: {goodput}");
        let keys = [keys[0], keys[1], ("flow.main.imtcp.takes_marks", "false")];
        let [marked, dropped, lost] = marks(&run("marked", &keys));
        assert_eq!(marked, 0, "{queue}");
        assert!(dropped > 2 && lost > 2, "{queue}: {dropped} {lost}");
    }
}

#[test]
fn the_short_queue_of_dualpi2_is_short() {
    let result = run("dualpi2", &[]);
    let [marked, dropped, _] = marks(&result);
    assert!(marked > 100 && dropped <= 2, "{marked} {dropped}");
    // 20 ms of propagation and a packet or two before it: the classic queue aims at 15 ms.
    let delay = &result.cross_delays[0];
    assert!(delay.mean_ms < 23.0, "{delay:?}");
    let rtt = result.flows[0].rtt_ms.expect("round trips");
    assert!(rtt.p50_ms > 44.0, "{rtt:?}");
}
