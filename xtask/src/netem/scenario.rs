//! A scenario of the simulator as a plan for a real kernel, or why the kernel cannot run it.

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

/// What `imtcp-sim explain --json` prints.
#[derive(Debug, Deserialize)]
pub struct Description {
    name: String,
    title: String,
    duration_s: f64,
    links: Vec<Link>,
    flows: Vec<DescribedFlow>,
    /// The keys that the other fields do not cover.
    beyond: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Link {
    name: String,
    forward: Hop,
    reverse: Hop,
}

/// One direction of the path.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Hop {
    /// The rate in bit/s of IP packets, from each time on, in seconds.
    pub rates: Vec<(f64, u64)>,
    /// The delay without jitter, in seconds.
    pub delay_s: f64,
    /// How much earlier or later a packet comes at most, in seconds.
    pub jitter_s: f64,
    /// The queue's bound, if it counts bytes.
    pub queue_bytes: Option<u64>,
    /// The queue's bound, if it counts packets.
    pub queue_packets: Option<u64>,
    /// The share of packets that is lost at random.
    pub loss_share: f64,
}

#[derive(Debug, Deserialize)]
struct DescribedFlow {
    name: String,
    controller: String,
    start_s: f64,
    stop_s: f64,
    start_within_s: f64,
    measurement: bool,
    ack_frequency: bool,
    receive_timestamps: bool,
    promise: Option<Promise>,
}

/// What a flow requires.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Promise {
    /// The rate of application data, in bit/s.
    pub rate_bps: u64,
    /// The period in seconds.
    pub per_s: f64,
    /// No more than the rate is wanted.
    pub exactly: bool,
}

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// How long it takes, in seconds.
    pub duration_s: f64,
    /// From the server to the client.
    pub forward: Hop,
    /// From the client to the server.
    pub reverse: Hop,
    /// Who sends.
    pub flows: Vec<Flow>,
}

/// A transfer without end.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, fit for files.
    pub name: String,
    /// Who sends.
    pub sender: Sender,
    /// When it begins at the earliest, in seconds.
    pub start_s: f64,
    /// How much later it may begin, in seconds.
    pub start_within_s: f64,
    /// When it ends, in seconds.
    pub stop_s: f64,
    /// What it requires. It steers by that if its controller can; the periods are counted anyway.
    pub promise: Option<Promise>,
}

/// Who sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Sender {
    /// `serve` with this controller, and what its client tells of arrivals.
    Quic {
        controller: String,
        ack_frequency: bool,
        receive_timestamps: bool,
    },
    /// The kernel's TCP.
    Kernel,
}

/// The simulator's name of the kernel's TCP.
const KERNEL: &str = "tcp-cubic";

impl Plan {
    /// Refuses what the kernel's path and the example programs cannot do.
    pub fn of(description: Description) -> Result<Self> {
        let name = description.name;
        if let Some(key) = description.beyond.first() {
            bail!(
                "{name}: `{key}` works in the simulator alone; leave it out of the scenario to run \
                 it over a real kernel"
            );
        }
        let [link] = &description.links[..] else {
            bail!(
                "{name}: `link.{}` is one link too many; over a real kernel a path has one",
                description.links[1].name
            );
        };
        ensure!(
            link.reverse.rates.len() == 1,
            "{name}: `link.{}.reverse.steps` works in the simulator alone; let the rate of the way \
             back be constant",
            link.name
        );
        ensure!(
            !description.flows.is_empty(),
            "{name}: there is no `flow`, so there is nothing to run"
        );
        Ok(Self {
            name,
            title: description.title,
            duration_s: description.duration_s,
            forward: link.forward.clone(),
            reverse: link.reverse.clone(),
            flows: description.flows.into_iter().map(Flow::of).collect(),
        })
    }

    /// The flow that the report is about: the first one from a server of ours.
    pub fn main(&self) -> &Flow {
        let of_ours = self.flows.iter().find(|flow| !flow.is_of_kernel());
        of_ours.unwrap_or(&self.flows[0])
    }

    /// Whether the available bandwidth is known beforehand: nobody else is on the path.
    pub fn has_truth(&self) -> bool {
        let measures = |sender: &Sender| match sender {
            Sender::Quic { controller, .. } => controller.starts_with("imtcp"),
            Sender::Kernel => false,
        };
        self.flows.len() == 1 && measures(&self.flows[0].sender)
    }
}

impl Flow {
    fn of(flow: DescribedFlow) -> Self {
        let controller = match (flow.controller.as_str(), flow.measurement) {
            ("imtcp", false) => "imtcp-off".to_owned(),
            (name, _) => name.to_owned(),
        };
        let sender = match flow.controller == KERNEL {
            true => Sender::Kernel,
            false => Sender::Quic {
                controller,
                ack_frequency: flow.ack_frequency,
                receive_timestamps: flow.receive_timestamps,
            },
        };
        Self {
            name: flow.name,
            sender,
            start_s: flow.start_s,
            start_within_s: flow.start_within_s,
            stop_s: flow.stop_s,
            promise: flow.promise,
        }
    }

    /// Whether the kernel sends.
    pub fn is_of_kernel(&self) -> bool {
        self.sender == Sender::Kernel
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::testbed::parse;

    /// A description with one link and one flow.
    pub fn described(change: impl Fn(&mut serde_json::Value)) -> Description {
        let hop = |rates: &str| {
            format!(
                r#"{{"rates":{rates},"delay_s":0.01,"jitter_s":0.002,"queue_bytes":50000,
                "queue_packets":null,"loss_share":0.01}}"#
            )
        };
        let text = format!(
            r#"{{"name":"test","title":"A test","duration_s":20.0,"beyond":[],
            "links":[{{"name":"bottleneck","forward":{},"reverse":{}}}],
            "flows":[{{"name":"main","controller":"imtcp","start_s":0.0,"stop_s":20.0,
            "start_within_s":0.0,"measurement":true,"ack_frequency":false,
            "receive_timestamps":false,"promise":null}}]}}"#,
            hop("[[0.0,10000000],[7.0,6000000]]"),
            hop("[[0.0,10000000]]")
        );
        let mut value = parse(&text).expect("JSON");
        change(&mut value);
        serde_json::from_value(value).expect("a description")
    }

    fn refusal(change: impl Fn(&mut serde_json::Value)) -> String {
        let error = Plan::of(described(change)).expect_err("it cannot be run");
        error.to_string()
    }

    #[test]
    fn a_plain_scenario_is_a_plan() {
        let plan = Plan::of(described(|_| {})).expect("plain");
        assert_eq!(plan.forward.rates, [(0.0, 10_000_000), (7.0, 6_000_000)]);
        assert!(plan.has_truth());
        let off = |value: &mut serde_json::Value| value["flows"][0]["measurement"] = false.into();
        let plan = Plan::of(described(off)).expect("plain");
        let Sender::Quic { controller, .. } = &plan.main().sender else {
            panic!("a server of ours: {plan:?}");
        };
        assert_eq!(controller, "imtcp-off");
    }

    #[test]
    fn what_the_kernel_cannot_do_is_refused_by_its_key() {
        let beyond = refusal(|value| value["beyond"] = vec!["flow.main.host"].into());
        assert!(beyond.contains("`flow.main.host`"), "{beyond}");
        let second = refusal(|value| {
            let mut link = value["links"][0].clone();
            link["name"] = "second".into();
            let links = value["links"].as_array_mut().expect("an array");
            links.push(link);
        });
        assert!(second.contains("`link.second`"), "{second}");
        let steps = refusal(|value| {
            value["links"][0]["reverse"]["rates"] = value["links"][0]["forward"]["rates"].clone();
        });
        assert!(steps.contains("`link.bottleneck.reverse.steps`"), "{steps}");
        let nobody = refusal(|value| value["flows"] = Vec::<String>::new().into());
        assert!(nobody.contains("no `flow`"), "{nobody}");
    }

    #[test]
    fn the_kernel_stands_for_tcp_cubic_and_leaves_no_truth() {
        let plan = Plan::of(described(|value| {
            let flows = value["flows"].as_array_mut().expect("an array");
            let mut rival = flows[0].clone();
            rival["name"] = "rival-1".into();
            rival["controller"] = "tcp-cubic".into();
            flows.insert(0, rival);
        }));
        let plan = plan.expect("plain");
        assert!(plan.flows[0].is_of_kernel());
        assert_eq!(plan.main().name, "main");
        assert!(!plan.has_truth());
    }
}
