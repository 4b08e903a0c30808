//! `imtcp-sim explain`.

use imtcp_cc::units::{Bandwidth, Timestamp};
use imtcp_sim::network::{
    Direction, Discipline, FlowId, HopSettings, PipeSettings, QueueLimit, Reorder,
};
use imtcp_sim::scenario::{Link, Nominal, Scenario, Times};
use imtcp_sim::traffic::Pattern;
use std::fmt::Write;

/// Prints what a scenario is made of and what it promises.
pub fn print(scenario: &Scenario) -> Result<(), String> {
    say!("{}: {}", scenario.name, scenario.title)?;
    say!("{} s of virtual time\n", scenario.duration.as_secs_f64())?;
    say!("{}\n", path(scenario))?;
    say!("Links, in forward order\n{}\n", links(&scenario.links))?;
    if !scenario.traffic.is_empty() {
        say!("Cross traffic\n{}\n", traffic(scenario))?;
    }
    if !scenario.tools.is_empty() {
        say!("Tools\n{}\n", tools(scenario))?;
    }
    if !scenario.flows.is_empty() {
        say!("Flows\n{}\n", flows(scenario))?;
        say!("Nominal available bandwidth\n{}", available(scenario))?;
    }
    Ok(())
}

fn tools(scenario: &Scenario) -> comfy_table::Table {
    let mut table = super::table(["tool", "kind", "over", "from", "measurements"]);
    for tool in &scenario.tools {
        let links = tool
            .route
            .links()
            .map(|link| scenario.links[link].name.as_str());
        let count = match tool.times {
            _ if tool.follow => "one that goes on".to_owned(),
            Times::Count(count) => count.to_string(),
            Times::Unbounded => "as many as there is time for".to_owned(),
        };
        table.add_row([
            tool.name.clone(),
            tool.kind.name().to_owned(),
            links.collect::<Vec<_>>().join(", "),
            format!("{} s", tool.start.as_secs_f64()),
            count,
        ]);
    }
    table
}

fn path(scenario: &Scenario) -> String {
    let mut path = "servers ".to_owned();
    for link in &scenario.links {
        let rate = match &link.forward.trace {
            Some(trace) => trace.mean(),
            None => link.forward.rate.rate_at(Timestamp::ZERO),
        };
        // Writing into a string cannot fail.
        let _ = write!(
            path,
            "──[{}: {rate}, {:?}]── ",
            link.name, link.forward.pipe.delay
        );
    }
    path + "clients"
}

fn links(links: &[Link]) -> comfy_table::Table {
    let mut table = super::table(["link", "direction", "rate", "delay", "queue", "loss"]);
    for link in links {
        for (direction, hop) in [("forward", &link.forward), ("reverse", &link.reverse)] {
            table.add_row(hop_row(&link.name, direction, hop));
        }
    }
    table
}

fn hop_row(name: &str, direction: &str, hop: &HopSettings) -> [String; 6] {
    let queue = match hop.queue {
        QueueLimit::Bytes(bytes) => bytes.to_string(),
        QueueLimit::Packets(packets) => format!("{packets} packets"),
    };
    let queue = match hop.discipline {
        Discipline::DropTail => queue,
        managed => format!("{queue}, {}", managed.name()),
    };
    let loss = hop.loss.map_or("none".to_owned(), |loss| {
        let burst = loss
            .burst_packets
            .map(|burst| format!(" in bursts of {burst}"));
        format!("{:.2} %{}", loss.share * 100.0, burst.unwrap_or_default())
    });
    let mut rate = match &hop.trace {
        Some(trace) => {
            let (name, mean, period) = (trace.name(), trace.mean(), trace.period());
            format!("{mean} on average\ntrace {name}\nrepeats every {period:?}")
        }
        None => over_time(hop.rate.steps().iter().map(|step| (step.at, step.rate))),
    };
    if let Some(bucket) = hop.bucket {
        let (kind, after, size) = (bucket.name(), bucket.rate, bucket.size);
        let _ = write!(rate, "\n{kind}: {after} after {size}");
    }
    [
        name.to_owned(),
        direction.to_owned(),
        rate,
        delays(&hop.pipe),
        queue,
        loss,
    ]
}

/// The propagation delay, and what else is behind the transmitter.
fn delays(pipe: &PipeSettings) -> String {
    let mut text = format!("{:?}", pipe.delay);
    if !pipe.jitter.is_zero() {
        let _ = write!(text, " +-{:?}", pipe.jitter);
    }
    for (at, delay) in &pipe.delay_steps {
        let _ = write!(text, "\n{} s: {delay:?}", at.as_secs_f64());
    }
    if let Some(Reorder { share, later }) = pipe.reorder {
        let _ = write!(
            text,
            "\n{:.2} % of the packets {later:?} later",
            share * 100.0
        );
    }
    for outage in &pipe.outages {
        let [from, to] = [outage.start, outage.end].map(Timestamp::as_secs_f64);
        let _ = write!(text, "\nout from {from} to {to} s");
    }
    text
}

fn over_time(steps: impl Iterator<Item = (Timestamp, Bandwidth)>) -> String {
    let step = |(at, rate): (Timestamp, Bandwidth)| match at {
        Timestamp::ZERO => rate.to_string(),
        at => format!("{} s: {rate}", at.as_secs_f64()),
    };
    steps.map(step).collect::<Vec<_>>().join("\n")
}

fn traffic(scenario: &Scenario) -> comfy_table::Table {
    let mut table = super::table([
        "traffic",
        "link",
        "direction",
        "kind",
        "mean rate",
        "packets",
    ]);
    for traffic in &scenario.traffic {
        let kind = match traffic.source.pattern {
            Pattern::Constant => "constant rate",
            Pattern::Poisson => "Poisson",
            Pattern::OnOff(_) => "on/off",
            Pattern::Web(_) => "web pages",
        };
        let direction = match traffic.hop.direction {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
        };
        let steps = traffic.source.rate.steps().iter();
        table.add_row([
            traffic.name.clone(),
            scenario.links[traffic.hop.link].name.clone(),
            direction.to_owned(),
            kind.to_owned(),
            over_time(steps.map(|step| (step.at, step.rate))),
            format!("{:.0} B on average", traffic.source.sizes.mean_bytes()),
        ]);
    }
    table
}

fn flows(scenario: &Scenario) -> comfy_table::Table {
    let header = [
        "flow",
        "controller",
        "application",
        "from, to",
        "round trip",
        "BDP",
    ];
    let mut table = super::table(header);
    for (index, flow) in scenario.flows.iter().enumerate() {
        let nominal = Nominal::new(scenario, FlowId(index));
        let link = |index: usize| scenario.links[index].name.as_str();
        table.add_row([
            flow.name.clone(),
            flow.controller.name().to_owned(),
            flow.application.to_string(),
            format!("{}, {}", link(flow.route.first), link(flow.route.last)),
            format!("{:?}", nominal.round_trip()),
            format!("{} B", nominal.bandwidth_delay_product()),
        ]);
    }
    table
}

fn available(scenario: &Scenario) -> comfy_table::Table {
    let mut table = super::table(["flow", "from", "available", "tight link"]);
    for (index, flow) in scenario.flows.iter().enumerate() {
        let nominal = Nominal::new(scenario, FlowId(index));
        for at in [nominal.life().0].into_iter().chain(nominal.steps()) {
            let (tight, rate) = nominal.available(at);
            table.add_row([
                flow.name.clone(),
                format!("{} s", at.as_secs_f64()),
                rate.to_string(),
                scenario.links[tight].name.clone(),
            ]);
        }
    }
    table
}
