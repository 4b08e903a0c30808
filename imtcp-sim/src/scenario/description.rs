//! A scenario in plain numbers, for programs that run it elsewhere: `imtcp-sim explain --json`.

use super::flow::{FLOW_CONTROL, SETTLING};
use super::{Acknowledge, Application, Flow, Host, Link, Receiver, Scenario, Stack};
use crate::network::{Discipline, HopSettings, QueueLimit};
use imtcp_cc::Config;
use imtcp_cc::promise::Demand;
use serde::Serialize;
use std::time::Duration;

/// A scenario in plain numbers. What these numbers do not say is listed in `beyond` by its keys, so
/// that nobody runs half of a scenario without knowing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    name: String,
    title: String,
    duration_s: f64,
    links: Vec<LinkDescription>,
    flows: Vec<FlowDescription>,
    beyond: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct LinkDescription {
    name: String,
    forward: HopDescription,
    reverse: HopDescription,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct HopDescription {
    /// The rate from each time on.
    rates: Vec<(f64, u64)>,
    delay_s: f64,
    jitter_s: f64,
    /// One of the two bounds is there.
    queue_bytes: Option<u64>,
    queue_packets: Option<u64>,
    loss_share: f64,
}

/// A flow, which crosses all links.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct FlowDescription {
    name: String,
    controller: &'static str,
    start_s: f64,
    stop_s: f64,
    start_within_s: f64,
    measurement: bool,
    ack_frequency: bool,
    receive_timestamps: bool,
    promise: Option<PromiseDescription>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PromiseDescription {
    rate_bps: u64,
    per_s: f64,
    exactly: bool,
}

impl Scenario {
    /// The scenario in plain numbers.
    pub fn description(&self) -> Description {
        let traffic = self.traffic.iter();
        let mut beyond: Vec<String> = traffic
            .map(|traffic| format!("traffic.{}", traffic.name))
            .collect();
        beyond.extend(self.tools.iter().map(|tool| format!("tool.{}", tool.name)));
        beyond.extend(self.links.iter().flat_map(keys_of_link));
        beyond.extend(self.flows.iter().flat_map(|flow| self.keys_of_flow(flow)));
        Description {
            name: self.name.clone(),
            title: self.title.clone(),
            duration_s: self.duration.as_secs_f64(),
            links: self.links.iter().map(link).collect(),
            flows: self.flows.iter().map(|flow| self.flow(flow)).collect(),
            beyond,
        }
    }

    fn flow(&self, flow: &Flow) -> FlowDescription {
        let stop = flow.stop.map_or(self.end(), |stop| stop.min(self.end()));
        let promise = flow.imtcp.promise().map(|promise| PromiseDescription {
            rate_bps: promise.rate().as_bps(),
            per_s: promise.per().as_secs_f64(),
            exactly: promise.wanted() == Demand::Exactly,
        });
        FlowDescription {
            name: flow.name.clone(),
            controller: flow.controller.name(),
            start_s: flow.start.as_secs_f64(),
            stop_s: stop.as_secs_f64(),
            start_within_s: flow.start_within.as_secs_f64(),
            measurement: flow.imtcp.measurement(),
            ack_frequency: flow.receiver.ack_frequency,
            receive_timestamps: flow.receiver.receive_timestamps,
            promise,
        }
    }

    fn keys_of_flow(&self, flow: &Flow) -> Vec<String> {
        let usual = flow.controller.receiver();
        let receiver = flow.receiver;
        let endless = Application::Bulk {
            size: None,
            send_buffer: None,
        };
        let plain = Config::builder()
            .measurement(flow.imtcp.measurement())
            .promise(flow.imtcp.promise());
        let acknowledges = |it: Receiver| -> (Stack, Acknowledge, Duration) {
            (it.stack, it.acknowledge, it.delay)
        };
        let keys = [
            ("application", flow.application != endless),
            ("from", flow.route.first != 0),
            ("to", flow.route.last + 1 != self.links.len()),
            ("host", flow.host != Host::default()),
            ("receiver", acknowledges(receiver) != acknowledges(usual)),
            ("receiver.host", receiver.host != usual.host),
            ("packet", flow.packet != flow.controller.packet()),
            ("flow_control", flow.flow_control != FLOW_CONTROL),
            ("slots_from", flow.slots_from != SETTLING),
            ("observers", flow.observers),
            ("imtcp", plain.build().ok().as_ref() != Some(&flow.imtcp)),
            ("remembered", flow.remembered.is_some()),
            ("process", flow.process.is_some()),
        ];
        let name = flow.group.as_ref().unwrap_or(&flow.name);
        let beyond = keys.into_iter().filter(|(_, is_beyond)| *is_beyond);
        beyond
            .map(|(key, _)| format!("flow.{name}.{key}"))
            .collect()
    }
}

fn link(link: &Link) -> LinkDescription {
    LinkDescription {
        name: link.name.clone(),
        forward: hop(&link.forward),
        reverse: hop(&link.reverse),
    }
}

fn hop(hop: &HopSettings) -> HopDescription {
    let steps = hop.rate.steps().iter();
    let (queue_bytes, queue_packets) = match hop.queue {
        QueueLimit::Bytes(bytes) => (Some(bytes.get()), None),
        QueueLimit::Packets(packets) => (None, Some(packets)),
    };
    HopDescription {
        rates: steps
            .map(|step| (step.at.as_secs_f64(), step.rate.as_bps()))
            .collect(),
        delay_s: hop.pipe.delay.as_secs_f64(),
        jitter_s: hop.pipe.jitter.as_secs_f64(),
        queue_bytes,
        queue_packets,
        loss_share: hop.loss.map_or(0.0, |loss| loss.share),
    }
}

fn keys_of_link(link: &Link) -> Vec<String> {
    let mut all = Vec::new();
    for (prefix, hop) in [("", &link.forward), ("reverse.", &link.reverse)] {
        let in_bursts = hop.loss.is_some_and(|loss| loss.burst_packets.is_some());
        let keys = [
            ("queue.kind", hop.discipline != Discipline::DropTail),
            ("loss.burst_packets", in_bursts),
            ("release", hop.release.is_some()),
            ("bucket", hop.bucket.is_some()),
            ("trace", hop.trace.is_some()),
            ("delay_steps", !hop.pipe.delay_steps.is_empty()),
            ("reorder", hop.pipe.reorder.is_some()),
            ("outages", !hop.pipe.outages.is_empty()),
            (
                "keep_every_acknowledgement",
                hop.keep_every_acknowledgement > 1,
            ),
        ];
        let beyond = keys.into_iter().filter(|(_, is_beyond)| *is_beyond);
        all.extend(beyond.map(|(key, _)| format!("link.{}.{prefix}{key}", link.name)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "name = \"a\"\ntitle = \"a\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
        rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\njitter = \"2 ms\"\nqueue = \"9 KB\"\n\
        steps = [{ at = \"4 s\", rate = \"5 Mbit/s\" }]\nloss = { rate = \"1 %\" }\n\
        [[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\napplication = { kind = \"bulk\" }\n\
        stop = \"8 s\"\n\
        imtcp = { promise = { rate = \"2 Mbit/s\", per = \"1 s\" } }\n";

    fn described(overrides: &[(&str, &str)]) -> Description {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(owned).collect();
        let scenario = Scenario::parse("test.toml", PLAIN, &overrides).expect("a scenario");
        scenario.description()
    }

    #[test]
    fn a_plain_scenario_is_told_in_full() {
        let described = described(&[]);
        assert_eq!(described.beyond, [""; 0]);
        let [link] = &described.links[..] else {
            panic!("one link: {described:?}");
        };
        assert_eq!(link.forward.rates, [(0.0, 8_000_000), (4.0, 5_000_000)]);
        assert_eq!(link.reverse.rates, [(0.0, 8_000_000)]);
        assert_eq!(
            (link.forward.jitter_s, link.forward.loss_share),
            (0.002, 0.01)
        );
        assert_eq!(
            (link.forward.queue_bytes, link.forward.queue_packets),
            (Some(9000), None)
        );
        let [flow] = &described.flows[..] else {
            panic!("one flow: {described:?}");
        };
        assert_eq!((flow.start_s, flow.stop_s), (0.0, 8.0));
        let promise = flow.promise.as_ref().expect("a promise");
        assert_eq!((promise.rate_bps, promise.per_s), (2_000_000, 1.0));
    }

    #[test]
    fn what_the_numbers_do_not_say_is_named_by_its_key() {
        for (key, value, expected) in [
            (
                "link.l.queue",
                "{ kind = \"codel\", limit = \"9 KB\" }",
                "link.l.queue.kind",
            ),
            (
                "link.l.bucket",
                "{ kind = \"shaper\", rate = \"2 Mbit/s\", size = \"9 KB\" }",
                "link.l.bucket",
            ),
            (
                "link.l.loss",
                "{ rate = \"1 %\", burst_packets = 4.0 }",
                "link.l.loss.burst_packets",
            ),
            (
                "link.l.reverse",
                "{ keep_every_acknowledgement = 4 }",
                "link.l.reverse.keep_every_acknowledgement",
            ),
            (
                "link.l.reverse",
                "{ reorder = { rate = \"1 %\", later = \"1 ms\" } }",
                "link.l.reverse.reorder",
            ),
            (
                "flow.main.application",
                "{ kind = \"frames\", rate = \"1 Mbit/s\", per_second = 30 }",
                "flow.main.application",
            ),
            (
                "flow.main.host",
                "{ send_takes = \"6 us\" }",
                "flow.main.host",
            ),
            (
                "flow.main.receiver",
                "{ acknowledge = 2 }",
                "flow.main.receiver",
            ),
            ("flow.main.imtcp.stream_packets", "8", "flow.main.imtcp"),
            ("flow.main.process", "one", "flow.main.process"),
            ("flow.main.flow_control", "20 KB", "flow.main.flow_control"),
            ("flow.main.slots_from", "4 s", "flow.main.slots_from"),
            ("flow.main.observers", "true", "flow.main.observers"),
        ] {
            assert_eq!(described(&[(key, value)]).beyond, [expected], "{key}");
        }
    }
}
