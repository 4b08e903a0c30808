//! `[[flow]]`: a connection with real endpoints.

use super::alike::Alike;
use super::application::{self, Application};
use super::controller::{self, Controller};
use super::error::{Complaint, ScenarioError};
use super::host::{self, Host};
use super::link::Link;
use super::reader::{Entry, Section};
use super::receiver::{self, Receiver};
use super::{life, link_named, promise, quantity};
use crate::network::Route;
use imtcp_cc::Window;
use imtcp_cc::config::{ConfigBuilder, StoreTarget, StoreTimer};
use imtcp_cc::units::{Bytes, Timestamp};
use imtcp_cc::{Config, EstimatorKind, Mode, SavedPath};
use std::time::Duration;

/// A connection that has just begun knows nothing of its path, so its first slots do not count.
pub const SETTLING: Duration = Duration::from_secs(2);

/// The usual flow-control window, which bounds nothing.
pub(super) const FLOW_CONTROL: Bytes = Bytes::new(64_000_000);

/// A connection: a server that sends and a client that acknowledges.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Names its output files and its share of the truth.
    pub name: String,
    /// The name under which it was written, where it stands for several: `count` was above 1.
    pub group: Option<String>,
    /// The server's congestion controller.
    pub controller: Controller,
    /// What the server sends.
    pub application: Application,
    /// When the client connects.
    pub start: Timestamp,
    /// When the server closes the connection, if before the end.
    pub stop: Option<Timestamp>,
    /// The client connects at a random instant of this span after `start`. So flows that are alike
    /// do not march in step, and seeds differ.
    pub start_within: Duration,
    /// The links it crosses.
    pub route: Route,
    /// The machine that the server runs on.
    pub host: Host,
    /// How the client acknowledges.
    pub receiver: Receiver,
    /// Largest UDP payload.
    pub packet: Bytes,
    /// Flow-control window of the connection and of its stream.
    pub flow_control: Bytes,
    /// The measuring controller's settings; the other controllers ignore them.
    pub imtcp: Config,
    /// What an earlier connection left of the path.
    pub remembered: Option<SavedPath>,
    /// The process that serves it, and all other flows that name it. Their promises share the
    /// bounds of the path. Without a name it is a process of its own.
    pub process: Option<String>,
    /// Slots of its promise that begin earlier in its life are not counted.
    pub slots_from: Duration,
    /// Whether the estimators of the literature watch it.
    pub observers: bool,
}

pub(super) fn read_all(
    root: &mut Section<'_>,
    links: &[Link],
    too_late: Timestamp,
) -> Result<Vec<Flow>, ScenarioError> {
    let read = |name: String, section: Section<'_>| read(name, section, links, too_late);
    let written = super::read_named(root, "flow", read)?;
    let flows: Vec<Flow> = written
        .into_iter()
        .flat_map(|(flow, alike)| alike.expand(&flow))
        .collect();
    let names = flows.iter().map(|flow| &flow.name);
    let twice = names
        .enumerate()
        .find(|(index, name)| flows[..*index].iter().any(|flow| flow.name == **name));
    if let Some((_, name)) = twice {
        let problem = format!("`count` makes a second flow named `{name}`");
        return Err(root.reject(Complaint::new(problem, "rename one of the two")));
    }
    Ok(flows)
}

fn read(
    name: String,
    mut section: Section<'_>,
    links: &[Link],
    too_late: Timestamp,
) -> Result<(Flow, Alike), ScenarioError> {
    let controller = controller::read(&section.required("controller", "\"imtcp\"")?)?;
    let application = section.required("application", "{ kind = \"bulk\" }")?;
    let application = application::read(&application)?;
    let (start, stop) = life::read(&mut section, too_late)?;
    let alike = Alike::read(&mut section, (start, stop), too_late)?;
    let start_within = life::within(&mut section, (alike.last(start), stop), too_late)?;
    let route = route(&mut section, links)?;
    let host = host::read(section.optional("host"))?;
    let receiver = receiver::read(section.optional("receiver"), controller.receiver())?;
    let packet = section.optional("packet");
    let packet = packet.map_or(Ok(controller.packet()), |entry| entry.quantity(packet_size))?;
    let window = section.optional("flow_control");
    let flow_control = window.map_or(Ok(FLOW_CONTROL), |entry| entry.quantity(quantity::size))?;
    let imtcp = imtcp(section.optional("imtcp"), round_trip(links, route))?;
    let remembered = section.optional("remembered");
    let remembered = remembered.map(|entry| saved_path(&entry)).transpose()?;
    let process = section.optional("process");
    let process = process.map(|entry| entry.text().map(str::to_owned));
    let process = process.transpose()?;
    let slots_from = section.optional("slots_from");
    let slots_from = slots_from.map_or(Ok(SETTLING), |entry| entry.quantity(quantity::span))?;
    let observers = observers(section.optional("observers"), controller)?;
    section.finish()?;
    let flow = Flow {
        name,
        group: None,
        controller,
        application,
        start,
        stop,
        start_within,
        route,
        host,
        receiver,
        packet,
        flow_control,
        imtcp,
        remembered,
        process,
        slots_from,
        observers,
    };
    Ok((flow, alike))
}

/// `observers = true`
fn observers(entry: Option<Entry<'_>>, controller: Controller) -> Result<bool, ScenarioError> {
    let Some(entry) = entry else {
        return Ok(false);
    };
    let wanted = entry.boolean()?;
    if wanted && !controller.is_behind_the_seam() {
        let problem = format!("nobody can watch `{}`", controller.name());
        let remedy = "take a controller behind the seam, such as reno-whole or imtcp";
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    Ok(wanted)
}

/// `remembered = { available = "50 Mbit/s", round_trip = "40 ms" }`
fn saved_path(entry: &Entry<'_>) -> Result<SavedPath, ScenarioError> {
    let mut section = entry.section()?;
    let available = section.required("available", "\"50 Mbit/s\"")?;
    let available = available.quantity(quantity::rate_above_zero)?;
    let least_rtt = section.required("round_trip", "\"40 ms\"")?;
    let least_rtt = least_rtt.quantity(quantity::span_above_zero)?;
    section.finish()?;
    Ok(SavedPath {
        available,
        least_rtt,
    })
}

/// Propagation there and back.
fn round_trip(links: &[Link], route: Route) -> Duration {
    let links = route.links().map(|index| &links[index]);
    links
        .map(|link| link.forward.pipe.delay + link.reverse.pipe.delay)
        .sum()
}

/// `from` and `to`: the first and the last link. Without these keys it is all links.
pub(super) fn route(section: &mut Section<'_>, links: &[Link]) -> Result<Route, ScenarioError> {
    let first = section.optional("from");
    let first = first.map_or(Ok(0), |entry| link_named(&entry, links))?;
    let Some(entry) = section.optional("to") else {
        return Ok(Route {
            first,
            last: links.len() - 1,
        });
    };
    let last = link_named(&entry, links)?;
    if last < first {
        let problem = "the last link comes before the first";
        let remedy = "links are listed from the servers to the clients";
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    Ok(Route { first, last })
}

/// QUIC needs 1200 bytes (RFC 9000, section 14); 1472 is what fits into an Ethernet frame.
fn packet_size(text: &str) -> Result<Bytes, Complaint> {
    let size = quantity::size(text)?;
    if !(1200..=1472).contains(&size.get()) {
        let problem = format!("{text} is no UDP payload for QUIC here");
        return Err(Complaint::new(problem, "1200 B to 1472 B"));
    }
    Ok(size)
}

fn imtcp(entry: Option<Entry<'_>>, round_trip: Duration) -> Result<Config, ScenarioError> {
    let Some(entry) = entry else {
        return Ok(Config::default());
    };
    let mut section = entry.section()?;
    let mut builder = Config::builder();
    if let Some(entry) = section.optional("measurement") {
        builder = builder.measurement(entry.boolean()?);
    }
    if let Some(entry) = section.optional("measured_start") {
        builder = builder.measured_start(entry.boolean()?);
    }
    if let Some(entry) = section.optional("remember_paths") {
        builder = builder.remember_paths(entry.boolean()?);
    }
    if let Some(entry) = section.optional("takes_marks") {
        builder = builder.takes_marks(entry.boolean()?);
    }
    if let Some(entry) = section.optional("pacing") {
        builder = builder.pacing(entry.boolean()?);
    }
    if let Some(entry) = section.optional("estimator") {
        builder = builder.estimator(entry.choice(&[
            ("statistical", EstimatorKind::Statistical),
            ("classic", EstimatorKind::Classic),
        ])?);
    }
    if let Some(entry) = section.optional("window") {
        builder =
            builder.window(entry.choice(&[("cubic", Window::Cubic), ("reno", Window::Reno)])?);
    }
    if let Some(entry) = section.optional("mode") {
        builder = builder.mode(mode(&entry)?);
    }
    builder = counts(&mut section, builder)?;
    builder = storing(&mut section, builder)?;
    builder = promise::read(&mut section, builder, round_trip)?;
    if let Some(entry) = section.optional("minimum_range") {
        builder = builder.minimum_range(entry.quantity(quantity::rate)?);
    }
    section.finish()?;
    builder.build().map_err(|error| {
        let problem = error.to_string();
        entry.reject(Complaint::new(
            problem,
            format!("mend `{}`", error.setting()),
        ))
    })
}

/// `"background"`, or with its parameter `{ background = 0.9 }`; likewise `full speed`.
fn mode(entry: &Entry<'_>) -> Result<Mode, ScenarioError> {
    let Ok(mut section) = entry.section() else {
        return entry.choice(&[
            ("standard", Mode::Standard),
            ("background", Mode::BACKGROUND),
            ("full speed", Mode::FULL_SPEED),
        ]);
    };
    let share = section.optional("background");
    let growth = section.optional("full speed");
    let mode = match (&share, &growth) {
        (Some(share), None) => Mode::Background {
            share: share.number(0.01..=1.0)?,
        },
        (None, Some(growth)) => Mode::FullSpeed {
            growth: growth.number(1.0..=1000.0)?,
        },
        _ => {
            let problem = "a mode with a parameter is one mode";
            let remedy = "`{ background = 0.9 }` or `{ \"full speed\" = 100 }`";
            return Err(entry.reject(Complaint::new(problem, remedy)));
        }
    };
    section.finish()?;
    Ok(mode)
}

/// The settings that are plain numbers; the builder knows their ranges.
fn counts(
    section: &mut Section<'_>,
    mut builder: ConfigBuilder,
) -> Result<ConfigBuilder, ScenarioError> {
    type Setter = fn(ConfigBuilder, u32) -> ConfigBuilder;
    let setters: [(&'static str, Setter); 4] = [
        ("stream_packets", ConfigBuilder::stream_packets),
        ("sub_ranges", ConfigBuilder::sub_ranges),
        (
            "measurement_interval_rtts",
            ConfigBuilder::measurement_interval_rtts,
        ),
        (
            "initial_window_packets",
            ConfigBuilder::initial_window_packets,
        ),
    ];
    for (key, set) in setters {
        if let Some(entry) = section.optional(key) {
            builder = set(builder, entry.count(0..=u32::MAX)?);
        }
    }
    Ok(builder)
}

/// m and T: "dynamic" or a number, "adaptive" or a time.
fn storing(
    section: &mut Section<'_>,
    mut builder: ConfigBuilder,
) -> Result<ConfigBuilder, ScenarioError> {
    if let Some(entry) = section.optional("store_target") {
        builder = builder.store_target(if entry.is_text() {
            entry.choice(&[("dynamic", StoreTarget::Dynamic)])?
        } else {
            StoreTarget::Fixed(entry.count(0..=u32::MAX)?)
        });
    }
    if let Some(entry) = section.optional("store_timer") {
        let adaptive = entry.text()? == "adaptive";
        builder = builder.store_timer(if adaptive {
            StoreTimer::Adaptive
        } else {
            StoreTimer::Fixed(entry.quantity(quantity::span)?)
        });
    }
    if let Some(entry) = section.optional("longest_hold") {
        builder = builder.longest_hold(entry.quantity(quantity::span)?);
    }
    Ok(builder)
}
