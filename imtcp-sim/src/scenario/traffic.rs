//! `[[traffic]]`: a source of cross traffic on one link, in one direction.

use super::error::{Complaint, ScenarioError};
use super::link::{Link, steps};
use super::reader::{Entry, Section};
use super::{life, link_named, quantity};
use crate::network::{Direction, Ecn, HopId};
use crate::profile::Profile;
use crate::traffic::{OnOffSettings, Pattern, Periods, Sizes, SourceSettings, WebSettings};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// Cross traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Seeds its random stream.
    pub name: String,
    /// The hop that it takes. It leaves the path behind that hop.
    pub hop: HopId,
    /// Whether its packets say that marks will do. It does not react to them.
    pub ecn: Ecn,
    /// What it sends.
    pub source: SourceSettings,
}

const KINDS: &[(&str, Kind)] = &[
    ("cbr", Kind::Constant),
    ("poisson", Kind::Poisson),
    ("onoff", Kind::OnOff),
    ("web", Kind::Web),
];

#[derive(Clone, Copy)]
enum Kind {
    Constant,
    Poisson,
    OnOff,
    Web,
}

pub(super) fn read_all(
    root: &mut Section<'_>,
    links: &[Link],
    too_late: Timestamp,
) -> Result<Vec<Traffic>, ScenarioError> {
    let read = |name: String, section: Section<'_>| read(name, section, links, too_late);
    super::read_named(root, "traffic", read)
}

fn read(
    name: String,
    mut section: Section<'_>,
    links: &[Link],
    too_late: Timestamp,
) -> Result<Traffic, ScenarioError> {
    let link = link_named(&section.required("link", "\"the-name-of-a-link\"")?, links)?;
    let direction = match section.optional("direction") {
        Some(entry) => entry.choice(&[
            ("forward", Direction::Forward),
            ("reverse", Direction::Reverse),
        ])?,
        None => Direction::Forward,
    };
    let kind = section.required("kind", "\"poisson\"")?.choice(KINDS)?;
    let pattern = match kind {
        Kind::Constant => Pattern::Constant,
        Kind::Poisson => Pattern::Poisson,
        Kind::OnOff => Pattern::OnOff(on_off(&mut section)?),
        Kind::Web => Pattern::Web(web(&mut section)?),
    };
    let rate = section
        .required("rate", "\"20 Mbit/s\"")?
        .quantity(quantity::rate)?;
    let steps = steps(&mut section, quantity::rate)?;
    let sizes = match section.optional("sizes") {
        Some(entry) => sizes(&entry)?,
        None => Sizes::fixed(Bytes::new(1500)),
    };
    let (start, stop) = life::read(&mut section, too_late)?;
    let ecn = match section.optional("ecn") {
        Some(entry) => entry.choice(&[("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1)])?,
        None => Ecn::NotCapable,
    };
    section.finish()?;
    let stop = stop.unwrap_or(Timestamp::from_nanos(u64::MAX));
    let source = SourceSettings {
        rate: Profile::stepped(rate, &steps).within(start, stop),
        sizes,
        pattern,
    };
    Ok(Traffic {
        name,
        hop: HopId { link, direction },
        ecn,
        source,
    })
}

fn on_off(section: &mut Section<'_>) -> Result<OnOffSettings, ScenarioError> {
    const SHORTEST: Duration = Duration::from_micros(1);
    let period = |text: &str| quantity::span_of_at_least(text, SHORTEST);
    let on = section.required("on", "\"50 ms\"")?.quantity(period)?;
    let off = section.required("off", "\"50 ms\"")?.quantity(period)?;
    let kind = match section.optional("periods") {
        Some(entry) => entry.choice(&[
            ("constant", Periods::Constant),
            ("exponential", Periods::Exponential),
            ("pareto", Periods::Pareto(1.5)),
        ])?,
        None => Periods::Constant,
    };
    let periods = match kind {
        Periods::Pareto(usual) => Periods::Pareto(shape(section, usual)?),
        other => other,
    };
    Ok(OnOffSettings { on, off, periods })
}

fn web(section: &mut Section<'_>) -> Result<WebSettings, ScenarioError> {
    /// Time between pages is counted in bits times nanoseconds, and a larger page has too many.
    const LARGEST_PAGE: Bytes = Bytes::new(100_000_000);
    let objects = section.optional("objects");
    let object = section.optional("object");
    let peak = section.optional("peak");
    let web = WebSettings {
        objects: objects.map_or(Ok(8), |entry| entry.count(1..=10_000))?,
        object: object.map_or(Ok(Bytes::new(12_000)), |entry| {
            entry.quantity(quantity::size)
        })?,
        shape: shape(section, 1.2)?,
        peak: peak.map_or(Ok(Bandwidth::from_mbps(10)), |entry| {
            entry.quantity(quantity::rate_above_zero)
        })?,
    };
    let page = web.object.times(u64::from(web.objects));
    if page > LARGEST_PAGE {
        let problem = format!("pages of {page} on average");
        let remedy = format!("let `objects` times `object` be {LARGEST_PAGE} at most");
        return Err(section.reject(Complaint::new(problem, remedy)));
    }
    Ok(web)
}

fn shape(section: &mut Section<'_>, usual: f64) -> Result<f64, ScenarioError> {
    let entry = section.optional("shape");
    entry.map_or(Ok(usual), |entry| entry.number(1.01..=100.0))
}

/// `"1200 B"`, `"mix"`, or `[{ size = "40 B", share = "58 %" }, ...]`.
fn sizes(entry: &Entry<'_>) -> Result<Sizes, ScenarioError> {
    if entry.is_array() {
        return shares(entry);
    }
    if entry.text()? == "mix" {
        return Ok(Sizes::mix());
    }
    entry.quantity(packet_size).map(Sizes::fixed)
}

fn shares(entry: &Entry<'_>) -> Result<Sizes, ScenarioError> {
    let mut shares = Vec::new();
    for mut section in entry.tables()? {
        let size = section
            .required("size", "\"576 B\"")?
            .quantity(packet_size)?;
        let share = section
            .required("share", "\"25 %\"")?
            .quantity(quantity::share)?;
        section.finish()?;
        shares.push((size, share));
    }
    if shares.is_empty() {
        let remedy = "write \"1500 B\", \"mix\", or [{ size = \"576 B\", share = \"100 %\" }]";
        return Err(entry.reject(Complaint::new("there is no size in it", remedy)));
    }
    let total: f64 = shares.iter().map(|(_, share)| share).sum();
    if (total - 1.0).abs() > 0.001 {
        let problem = format!("the shares add up to {:.1} %", total * 100.0);
        return Err(entry.reject(Complaint::new(problem, "let them add up to 100 %")));
    }
    Ok(Sizes::shares(&shares))
}

/// The size of an IP packet.
fn packet_size(text: &str) -> Result<Bytes, Complaint> {
    let size = quantity::size(text)?;
    if !(28..=65_535).contains(&size.get()) {
        return Err(Complaint::new(
            format!("{text} is no size of an IP packet with UDP"),
            "28 B to 65535 B",
        ));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn with(keys: &str) -> Result<Pattern, String> {
        of_kind("web", keys)
    }

    fn of_kind(kind: &str, keys: &str) -> Result<Pattern, String> {
        let text = format!(
            "name = \"t\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
             rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"9 KB\"\n[[traffic]]\n\
             name = \"t\"\nlink = \"l\"\nrate = \"1 Mbit/s\"\nkind = \"{kind}\"\n{keys}\n"
        );
        let mut scenario =
            Scenario::parse("t.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.traffic.remove(0).source.pattern)
    }

    /// 0x10 was read as 10.
    #[test]
    fn a_number_may_have_any_radix_of_toml() {
        for (written, expected) in [("0x10", 16.0), ("0b11", 3.0), ("0o17", 15.0), ("1_0", 10.0)] {
            let pattern = with(&format!("shape = {written}")).expect(written);
            let Pattern::Web(web) = pattern else {
                panic!("{pattern:?}");
            };
            assert_eq!(web.shape, expected, "{written}");
        }
        let error = with("shape = 0xff").expect_err("255 is above 100");
        assert!(
            error.ends_with("traffic.t.shape: 0xff is out of range; write a number, 1.01 to 100"),
            "{error}"
        );
    }

    /// A run with them did not come to an end.
    #[test]
    fn periods_that_are_too_short_are_refused() {
        for (on, off, key) in [("9 ns", "1 s", "on"), ("1 s", "999 ns", "off")] {
            let keys = format!("on = \"{on}\"\noff = \"{off}\"");
            let error = of_kind("onoff", &keys).expect_err(&keys);
            let expected = format!("traffic.t.{key}: ");
            assert!(error.contains(&expected), "{error}");
            let expected = "is too short to be simulated; at least 1µs";
            assert!(error.ends_with(expected), "{error}");
        }
        let keys = "on = \"1 us\"\noff = \"1 us\"";
        of_kind("onoff", keys).expect("long enough");
    }

    /// The time between them was cut short, and so more came than the rate says.
    #[test]
    fn pages_that_are_too_large_are_refused() {
        for keys in [
            "object = \"13 MB\"",
            "objects = 10000\nobject = \"10001 B\"",
        ] {
            let error = with(keys).expect_err(keys);
            let expected = "let `objects` times `object` be 100000000 B at most";
            assert!(error.ends_with(expected), "{error}");
        }
        with("objects = 10000\nobject = \"10 KB\"").expect("100 MB");
    }

    #[test]
    fn no_sizes_are_said_to_be_none() {
        let error = with("sizes = []").expect_err("no size");
        assert!(
            error.contains("traffic.t.sizes: there is no size in it; write \"1500 B\""),
            "{error}"
        );
    }
}
