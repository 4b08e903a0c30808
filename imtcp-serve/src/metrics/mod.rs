//! What a server counts, and what its connections tell of their paths, as Prometheus reads it.

mod page;

pub use page::serve;

use crate::connection::Connection;
use crate::release::Distances;
use crate::required::Heard;
use crate::site::Live;
use imtcp_cc::Mode;
use imtcp_cc::promise::Promise;
use imtcp_cc::units::Bandwidth;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;

/// One label with its value.
type One = [(&'static str, &'static str); 1];

/// What has happened so far. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Handshakes that were completed.
    pub connections: Counter,
    /// Handshakes that were not.
    pub handshakes_failed: Counter,
    /// Bytes of content given to the driver.
    pub bytes: Counter,
    /// Rates that a path did not allow.
    pub refused: Counter,
    requests: Family<[(&'static str, String); 2], Counter>,
    progress: Family<One, Counter>,
    cmcd: Family<One, Counter>,
    slots: Family<One, Counter>,
    warnings: Family<One, Counter>,
    /// How well planned distances between packets are kept.
    pub distances: Arc<Distances>,
}

impl Counts {
    /// A request was answered. Methods that no server has are counted as one.
    pub fn request(&self, method: &str, status: u16) {
        let known = ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"];
        let method = if known.contains(&method) {
            method
        } else {
            "other"
        };
        let labels = [
            ("method", method.to_owned()),
            ("status", status.to_string()),
        ];
        self.requests.get_or_create(&labels).inc();
    }

    /// How far an answer got.
    pub fn progress(&self, progress: &'static str) {
        self.progress.get_or_create(&[("progress", progress)]).inc();
    }

    /// A request may have said something of the rate that it needs.
    pub fn heard(&self, heard: &Heard) {
        let count = |result| self.cmcd.get_or_create(&[("result", result)]).inc();
        if heard.cmcd.is_some() {
            count("understood");
        }
        if !heard.complaints.is_empty() {
            count("malformed");
        }
    }

    /// A slot of a promise ended.
    pub fn slot(&self, outcome: &'static str) {
        self.slots.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// The slots that ended so.
    pub fn slots(&self, outcome: &'static str) -> u64 {
        let counter = self.slots.get(&[("outcome", outcome)]);
        counter.map_or(0, |counter| counter.get())
    }

    /// A promise was called at risk, or broken.
    pub fn warning(&self, cause: &'static str) {
        self.warnings.get_or_create(&[("cause", cause)]).inc();
    }

    /// Everything that is told, under the names that it is told by.
    pub fn registry(&self, live: Arc<Live>) -> Registry {
        let mut all = Registry::with_prefix("imtcp_serve");
        let mut add = |name: &str, help: &str, counter: &Counter| {
            all.register(name, help, counter.clone());
        };
        add("connections", "Completed handshakes", &self.connections);
        add(
            "failed_handshakes",
            "Handshakes without an end",
            &self.handshakes_failed,
        );
        add("content_bytes", "Content given to connections", &self.bytes);
        add(
            "refused_rates",
            "Rates that a path did not allow",
            &self.refused,
        );
        all.register("requests", "Answered requests", self.requests.clone());
        let mut add = |name: &str, help: &str, family: &Family<One, Counter>| {
            all.register(name, help, family.clone());
        };
        add("answers", "How far answers got", &self.progress);
        add(
            "dialects",
            "Requests with CMCD, or with a malformed rate",
            &self.cmcd,
        );
        add("slots", "Slots of promises, by their outcome", &self.slots);
        add(
            "warnings",
            "Promises called at risk or broken, by cause",
            &self.warnings,
        );
        all.register_with_unit(
            "gap_error",
            "How far distances between packets of streams and trains are from planned ones",
            Unit::Seconds,
            self.distances.metric(),
        );
        all.register_collector(Box::new(OfConnections(live)));
        all
    }
}

/// Reads the handles of all connections when somebody asks. Nothing is counted in between.
#[derive(Debug)]
struct OfConnections(Arc<Live>);

type Read = fn(&Connection) -> Option<Bandwidth>;

/// Rates of single connections.
const RATES: [(&str, &str, Read); 9] = [
    (
        "required_bits_per_second",
        "The rate of application data that is required",
        |connection| connection.required().0,
    ),
    (
        "refused_bits_per_second",
        "The rate that its path does not allow",
        |connection| connection.required().1,
    ),
    (
        "available_bits_per_second",
        "The available bandwidth of its path, of IP packets",
        |connection| promise(connection)?.estimate().map(|is| is.available),
    ),
    (
        "available_low_bits_per_second",
        "The lower end of the 95 % interval",
        |connection| promise(connection)?.estimate().map(|is| is.low),
    ),
    (
        "available_high_bits_per_second",
        "The upper end of the 95 % interval",
        // A lower bound alone has no upper end.
        |connection| {
            let high = promise(connection)?.estimate()?.high;
            (high < Bandwidth::MAX).then_some(high)
        },
    ),
    (
        "share_bits_per_second",
        "What a bulk transfer in its place would get, of IP packets",
        |connection| promise(connection)?.share().map(|is| is.rate),
    ),
    (
        "share_low_bits_per_second",
        "The lower end of the 95 % interval of that",
        |connection| promise(connection)?.share().map(|is| is.low),
    ),
    (
        "share_high_bits_per_second",
        "The upper end of the 95 % interval of that",
        |connection| promise(connection)?.share().map(|is| is.high),
    ),
    (
        "capacity_bits_per_second",
        "The capacity of the tight link, of IP packets",
        |connection| promise(connection)?.capacity(),
    ),
];

fn promise(connection: &Connection) -> Option<&Promise> {
    connection.promise.as_ref()
}

impl Collector for OfConnections {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let all = self.0.all();
        let mut total = encoder.encode_descriptor(
            "open_connections",
            "Connections now",
            None,
            MetricType::Gauge,
        )?;
        total.encode_gauge(&all.len())?;
        for (name, help, read) in RATES {
            let mut gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for connection in &all {
                if let Some(rate) = read(connection) {
                    let labels = [("connection", &*connection.id)];
                    gauge.encode_family(&labels)?.encode_gauge(&rate.as_bps())?;
                }
            }
        }
        let mut gauge = encoder.encode_descriptor(
            "in_background",
            "1 while it uses only what others leave",
            None,
            MetricType::Gauge,
        )?;
        for connection in &all {
            if let Some(promise) = promise(connection) {
                let labels = [("connection", &*connection.id)];
                let is_background = u32::from(promise.mode() == Mode::BACKGROUND);
                gauge.encode_family(&labels)?.encode_gauge(&is_background)?;
            }
        }
        let mut gauge = encoder.encode_descriptor(
            "warned",
            "1 while its promise is at risk or broken",
            None,
            MetricType::Gauge,
        )?;
        for connection in &all {
            if let Some(promise) = promise(connection) {
                let labels = [("connection", &*connection.id)];
                let warned = u32::from(promise.status().is_warning());
                gauge.encode_family(&labels)?.encode_gauge(&warned)?;
            }
        }
        Ok(())
    }
}
