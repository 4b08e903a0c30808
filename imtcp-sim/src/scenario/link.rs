//! `[[link]]`: a hop in each direction.

use super::error::{Complaint, ScenarioError};
use super::reader::{Entry, Section};
use super::recorded::{self, Carries};
use super::{bucket, discipline, pipe, quantity};
use crate::network::{Discipline, HopSettings, LossModel, PipeSettings, QueueLimit, Release};
use crate::profile::{Profile, Step};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// A link of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Traffic and flows refer to the link by this name.
    pub name: String,
    /// From the servers to the clients.
    pub forward: HopSettings,
    /// From the clients to the servers.
    pub reverse: HopSettings,
}

/// The default for the reverse queue. Acknowledgements do not fill it.
const REVERSE_QUEUE: QueueLimit = QueueLimit::Bytes(Bytes::new(100_000_000));

/// The links of a run that ends at `end`.
pub(super) fn read_all(root: &mut Section<'_>, end: Timestamp) -> Result<Vec<Link>, ScenarioError> {
    let read = |name: String, section: Section<'_>| read(name, section, end);
    let links = super::read_named(root, "link", read)?;
    if links.is_empty() {
        return Err(root.reject(Complaint::new(
            "there is no link",
            "add [[link]] with name, rate, delay and queue",
        )));
    }
    Ok(links)
}

fn read(name: String, mut section: Section<'_>, end: Timestamp) -> Result<Link, ScenarioError> {
    let carries = recorded::read(&mut section, None, end)?;
    let rate = carries.rate;
    let pipe = pipe::read(&mut section, None)?;
    let queue = section.required("queue", "\"125 KB\"")?;
    let (queue, discipline) = discipline::read(&queue, rate)?;
    let loss = section
        .optional("loss")
        .map(|entry| loss(&entry))
        .transpose()?;
    let release = section.optional("release");
    let release = release
        .map(|entry| read_release(&entry, carries.fastest()))
        .transpose()?;
    let bucket = section.optional("bucket");
    let bucket = bucket
        .map(|entry| bucket::read(&entry, carries.fastest()))
        .transpose()?;
    let reverse = section.optional("reverse");
    let reverse = reverse.map(|entry| entry.section()).transpose()?;
    let reverse = read_reverse(reverse, (rate, pipe.delay), end)?;
    section.finish()?;
    let Carries { profile, trace, .. } = carries;
    let forward = HopSettings {
        rate: profile,
        trace,
        pipe,
        queue,
        discipline,
        loss,
        keep_every_acknowledgement: 1,
        release,
        bucket,
    };
    Ok(Link {
        name,
        forward,
        reverse,
    })
}

/// Rate and delay are those of the way forward, unless it says otherwise.
fn read_reverse(
    section: Option<Section<'_>>,
    (forward_rate, forward_delay): (Bandwidth, Duration),
    end: Timestamp,
) -> Result<HopSettings, ScenarioError> {
    let mut hop = HopSettings {
        rate: Profile::constant(forward_rate),
        trace: None,
        pipe: PipeSettings::of(forward_delay),
        queue: REVERSE_QUEUE,
        discipline: Discipline::DropTail,
        loss: None,
        keep_every_acknowledgement: 1,
        release: None,
        bucket: None,
    };
    let Some(mut section) = section else {
        return Ok(hop);
    };
    let carries = recorded::read(&mut section, Some(forward_rate), end)?;
    let (rate, fastest) = (carries.rate, carries.fastest());
    (hop.rate, hop.trace) = (carries.profile, carries.trace);
    hop.pipe = pipe::read(&mut section, Some(forward_delay))?;
    if let Some(entry) = section.optional("queue") {
        (hop.queue, hop.discipline) = discipline::read(&entry, rate)?;
    }
    if let Some(entry) = section.optional("loss") {
        hop.loss = Some(loss(&entry)?);
    }
    if let Some(entry) = section.optional("keep_every_acknowledgement") {
        hop.keep_every_acknowledgement = entry.count(1..=1000)?;
    }
    if let Some(entry) = section.optional("release") {
        hop.release = Some(read_release(&entry, fastest)?);
    }
    if let Some(entry) = section.optional("bucket") {
        hop.bucket = Some(bucket::read(&entry, fastest)?);
    }
    section.finish()?;
    Ok(hop)
}

/// `release = { every = "4 ms", packets = 42 }`.
fn read_release(entry: &Entry<'_>, rate: Bandwidth) -> Result<Release, ScenarioError> {
    /// Aggregates of packets of this size have to keep up with the transmitter, which never stops.
    const PACKET: Bytes = Bytes::new(1500);
    let mut section = entry.section()?;
    let every = section
        .required("every", "\"4 ms\"")?
        .quantity(quantity::span_above_zero)?;
    let packets = section.required("packets", "42")?.count(1..=10_000)?;
    section.finish()?;
    let most = Bandwidth::from_bytes_over(PACKET.times(u64::from(packets)), every);
    if most.is_some_and(|most| most < rate) {
        return Err(entry.reject(Complaint::new(
            format!("{packets} packets of 1500 B in that time are less than the link's rate"),
            "take larger aggregates, a shorter time, or a lower rate",
        )));
    }
    Ok(Release { every, packets })
}

fn loss(entry: &Entry<'_>) -> Result<LossModel, ScenarioError> {
    let mut section = entry.section()?;
    let share = section
        .required("rate", "\"1 %\"")?
        .quantity(quantity::share)?;
    let burst_packets = section.optional("burst_packets");
    let burst_packets = burst_packets
        .map(|entry| entry.number(1.0..=10_000.0))
        .transpose()?;
    section.finish()?;
    // Between two bursts a packet at least comes through.
    if let Some(burst) = burst_packets
        && share > burst / (burst + 1.0)
    {
        let problem = format!(
            "bursts of {burst} packets cannot lose {:.1} %",
            share * 100.0
        );
        let most = burst / (burst + 1.0) * 100.0;
        let remedy = format!("lose {most:.1} % at most, or take longer bursts");
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    Ok(LossModel {
        share,
        burst_packets,
    })
}

/// `steps = [{ at = "50 s", rate = "30 Mbit/s" }, ...]`.
pub(super) fn steps(
    section: &mut Section<'_>,
    read_rate: impl Fn(&str) -> Result<Bandwidth, Complaint>,
) -> Result<Vec<Step>, ScenarioError> {
    let mut steps = Vec::new();
    for mut step in section.tables("steps")? {
        let at = step
            .required("at", "\"50 s\"")?
            .quantity(quantity::span_above_zero)?;
        let rate = step
            .required("rate", "\"30 Mbit/s\"")?
            .quantity(&read_rate)?;
        step.finish()?;
        steps.push(Step {
            at: Timestamp::from_origin(at),
            rate,
        });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use crate::network::Loss;
    use crate::random::Random;
    use crate::scenario::Scenario;

    fn with(keys: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"t\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
             rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"9 KB\"\n{keys}\n"
        );
        Scenario::parse("t.toml", &text, &[]).map_err(|error| error.to_string())
    }

    /// 80 % in bursts of 2 lost 67 %.
    #[test]
    fn losses_that_bursts_cannot_make_are_refused_and_the_most_that_they_can_is_lost() {
        let loss = |percent: f64, burst: f64| {
            with(&format!(
                "loss = {{ rate = \"{percent} %\", burst_packets = {burst} }}"
            ))
        };
        for (percent, burst, most) in [
            (80.0, 2.0, "66.7"),
            (51.0, 1.0, "50.0"),
            (100.0, 9.0, "90.0"),
        ] {
            let error = loss(percent, burst).expect_err("it cannot be");
            let expected = format!("lose {most} % at most, or take longer bursts");
            assert!(error.ends_with(&expected), "{error}");
        }
        for (percent, burst) in [(66.6, 2.0), (50.0, 1.0), (90.0, 9.0)] {
            let scenario = loss(percent, burst).expect("it can be");
            let model = scenario.links[0].forward.loss.expect("a loss");
            let mut loss = Loss::new(model, Random::for_component(1, "loss"));
            let lost = (0..100_000).filter(|_| loss.strikes()).count() as f64 / 1e3;
            assert!((lost - percent).abs() < 1.0, "{percent} %: {lost}");
        }
    }
}
