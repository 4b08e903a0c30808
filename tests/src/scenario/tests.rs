//! Every error names file, line, column, key, problem and remedy; every built-in scenario loads.

use super::*;
use crate::network::FlowId;
use imtcp_cc::units::Bandwidth;

const GOOD: &str = r#"name = "good"
title = "one link"
duration = "10 s"

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "5 ms"
queue = "20 packets"

[[traffic]]
name = "cross"
link = "bottleneck"
kind = "poisson"
rate = "4 Mbit/s"
steps = [{ at = "5 s", rate = "6 Mbit/s" }]

[[flow]]
name = "main"
controller = "reno"
application = { kind = "bulk" }
"#;

fn good() -> Scenario {
    Scenario::parse("good.toml", GOOD, &[]).expect("the good scenario loads")
}

fn error_of(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "nothing to replace");
    let text = GOOD.replace(from, to);
    match Scenario::parse("bad.toml", &text, &[]) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_say_where_what_and_how_to_mend_it() {
    for (from, to, expected) in [
        (
            "rate = \"10 Mbit/s\"",
            "rate = \"10\"",
            "bad.toml:7:8: link.bottleneck.rate: `10` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\"",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = 10",
            "bad.toml:7:8: link.bottleneck.rate: `10` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\"",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = \"0 Mbit/s\"",
            "bad.toml:7:8: link.bottleneck.rate: a rate of zero; it must be above zero",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = true",
            "bad.toml:7:8: link.bottleneck.rate: this is a boolean; \
             write a number and its unit in quotes",
        ),
        (
            "delay = \"5 ms\"",
            "delai = \"5 ms\"",
            "bad.toml:5:1: link.bottleneck: `delay` is missing; add delay = \"10 ms\"",
        ),
        (
            "queue = \"20 packets\"",
            "queue = \"20 packets\"\nqueues = 3",
            "bad.toml:10:1: link.bottleneck.queues: unknown key `queues`; did you mean `queue`?",
        ),
        (
            "link = \"bottleneck\"",
            "link = \"botleneck\"",
            "bad.toml:13:8: traffic.cross.link: unknown link `botleneck`; \
             did you mean `bottleneck`?",
        ),
        (
            "kind = \"poisson\"",
            "kind = \"fractal\"",
            "bad.toml:14:8: traffic.cross.kind: unknown value `fractal`; \
             known: cbr, poisson, onoff, web",
        ),
        (
            "at = \"5 s\"",
            "at = \"5\"",
            "bad.toml:16:17: traffic.cross.steps[0].at: `5` has no unit; \
             write a number and its unit, such as \"90 ms\"",
        ),
        (
            "controller = \"reno\"",
            "controller = \"imtcp\"\nimtcp = { stream_packets = 2 }",
            "bad.toml:21:9: flow.main.imtcp: stream_packets is 2; it must be 3 to 64; \
             mend `stream_packets`",
        ),
        (
            "controller = \"reno\"",
            "controller = \"reno\"\nreceiver = { stack = \"quin\" }",
            "bad.toml:21:22: flow.main.receiver.stack: unknown value `quin`; did you mean `quinn`?",
        ),
        (
            "controller = \"reno\"",
            "controller = \"reno\"\nreceiver = { stack = \"quinn\", delay = \"30 ms\" }",
            "bad.toml:21:39: flow.main.receiver.delay: quinn acknowledges in a way of its own; \
             leave it out, or write stack = \"quiche\"",
        ),
        (
            "controller = \"reno\"",
            "controller = \"reno\"\nstart = \"5 s\"\nstop = \"4 s\"",
            "bad.toml:22:8: flow.main.stop: it stops before it starts; \
             let `stop` be later than `start`",
        ),
        (
            "name = \"cross\"",
            "name = \"cross traffic\"",
            "bad.toml:12:8: traffic.cross traffic.name: `cross traffic` cannot name files and \
             keys; use letters, digits, `-` and `_` only",
        ),
        (
            "duration = \"10 s\"",
            "duration = \"10 s",
            "bad.toml:3:17: not TOML: invalid basic string, expected `\"`",
        ),
    ] {
        assert_eq!(error_of(from, to), expected);
    }
}

#[test]
fn a_missing_file_points_to_the_list() {
    let error = Scenario::load("no-such-scenario", &[]).expect_err("there is no such file");
    let text = error.to_string();
    assert!(
        text.starts_with("no-such-scenario: cannot be read"),
        "{text}"
    );
    assert!(
        text.ends_with("a name that `imtcp-sim list` shows"),
        "{text}"
    );
}

fn with(path: &str, value: &str) -> Result<Scenario, String> {
    let overrides = [(path.to_owned(), value.to_owned())];
    Scenario::parse("good.toml", GOOD, &overrides).map_err(|error| error.to_string())
}

#[test]
fn overrides_reach_any_key_with_and_without_quotes() {
    let changed = with("link.bottleneck.rate", "20 Mbit/s").expect("a good override");
    let rate = changed.links[0].forward.rate.rate_at(Timestamp::ZERO);
    assert_eq!(rate, Bandwidth::from_mbps(20));
    let changed = with("flow.main.imtcp.stream_packets", "8").expect("a table made on the way");
    assert_eq!(changed.flows[0].imtcp.stream_packets(), 8);
    let changed = with("flow.main.controller", "\"cubic\"").expect("quoted");
    assert_eq!(changed.flows[0].controller, Controller::Cubic);
}

#[test]
fn a_wrong_override_is_named_as_the_culprit() {
    assert_eq!(
        with("link.bottleneck.rate", "20"),
        Err("--set: link.bottleneck.rate: `20` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\""
            .to_owned())
    );
    assert_eq!(
        with("link.bottelneck.rate", "20 Mbit/s"),
        Err(
            "--set: link.bottelneck.rate: no link is named `bottelneck`; known: bottleneck"
                .to_owned()
        )
    );
    assert_eq!(
        with("title.more", "1"),
        Err("--set: title.more: `title` holds no keys; leave out what follows it".to_owned())
    );
}

#[test]
fn a_receiver_offers_what_its_stack_does_unless_told_otherwise() {
    let offers = |receiver: &str| {
        let text = format!("{GOOD}receiver = {{ {receiver} }}\n");
        let scenario = Scenario::parse("good.toml", &text, &[]).expect(receiver);
        scenario.flows[0].receiver.ack_frequency
    };
    assert!(!offers("acknowledge = 2"));
    assert!(offers("acknowledge = 2, ack_frequency = true"));
    for stack in ["quinn", "noq"] {
        assert!(offers(&format!("stack = \"{stack}\"")));
        assert!(!offers(&format!(
            "ack_frequency = false, stack = \"{stack}\""
        )));
    }
}

#[test]
fn nominal_rates_follow_the_settings() {
    let scenario = good();
    let nominal = Nominal::new(&scenario, FlowId(0));
    let at = |seconds| Timestamp::from_origin(Duration::from_secs(seconds));
    assert_eq!(nominal.round_trip(), Duration::from_millis(10));
    assert_eq!(nominal.bandwidth_delay_product(), 12_500);
    assert_eq!(nominal.available(at(0)), (0, Bandwidth::from_mbps(6)));
    assert_eq!(nominal.available(at(5)), (0, Bandwidth::from_mbps(4)));
    assert_eq!(nominal.steps(), vec![at(5)]);
}

#[test]
fn a_step_that_the_tight_link_does_not_feel_is_none() {
    // A second link of 100 Mbit/s whose cross traffic changes in vain.
    let text = GOOD.replace(
        "[[flow]]",
        "[[link]]\nname = \"wide\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"1 MB\"\n\
         [[traffic]]\nname = \"vain\"\nlink = \"wide\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n\
         start = \"2 s\"\n[[flow]]",
    );
    let scenario = Scenario::parse("two.toml", &text, &[]).expect("two links");
    let steps = Nominal::new(&scenario, FlowId(0)).steps();
    assert_eq!(steps, vec![Timestamp::from_origin(Duration::from_secs(5))]);
}

#[test]
fn every_built_in_scenario_loads_under_its_own_name() {
    let all = listed();
    assert!(all.len() >= 20, "only {} scenarios", all.len());
    for listed in all {
        let scenario = Scenario::load(listed.name, &[]).expect(listed.name);
        assert_eq!(scenario.name, listed.name);
        assert!(
            scenario.title.len() <= 100,
            "{}: the title is long",
            listed.name
        );
    }
}
