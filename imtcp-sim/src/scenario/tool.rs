//! `[[tool]]`: a tool that measures the path with packets of its own.

use super::error::{Complaint, ScenarioError};
use super::flow::route;
use super::link::Link;
use super::reader::Section;
use super::{life, quantity};
use crate::network::Route;
use crate::tool::Kind;
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The pause between measurements, if the scenario does not say another.
const PAUSE: Duration = Duration::from_secs(1);

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Names it in results, and seeds what it draws.
    pub name: String,
    /// Which tool.
    pub kind: Kind,
    /// The links it crosses.
    pub route: Route,
    /// When its first measurement begins.
    pub start: Timestamp,
    /// No measurement begins from then on.
    pub stop: Option<Timestamp>,
    /// How many measurements there are.
    pub times: Times,
    /// The time from the end of a measurement to the beginning of the next.
    pub pause: Duration,
    /// Whether a measurement goes on and tells one answer after the other.
    pub follow: bool,
    /// Whether the far end sends each probe back, in place of a receiver that tells when it came.
    pub echo: bool,
    /// The capacity that the tool is told; `None` for that of the narrowest link.
    pub capacity: Option<Bandwidth>,
}

/// How many measurements there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// So many.
    Count(u32),
    /// As many as there is time for.
    Unbounded,
}

pub(super) fn read_all(
    root: &mut Section<'_>,
    links: &[Link],
    too_late: Timestamp,
) -> Result<Vec<Tool>, ScenarioError> {
    let read = |name: String, section: Section<'_>| read(name, section, links, too_late);
    super::read_named(root, "tool", read)
}

fn read(
    name: String,
    mut section: Section<'_>,
    links: &[Link],
    too_late: Timestamp,
) -> Result<Tool, ScenarioError> {
    let kinds: Vec<(&str, Kind)> = Kind::ALL.iter().map(|kind| (kind.name(), *kind)).collect();
    let kind = section.required("kind", "\"pathload\"")?.choice(&kinds)?;
    let follow = follow(&mut section, kind)?;
    let route = route(&mut section, links)?;
    let (start, stop) = life::read(&mut section, too_late)?;
    let times = times(&mut section)?;
    let pause = match section.optional("pause") {
        Some(entry) => entry.quantity(quantity::span)?,
        None => PAUSE,
    };
    let echo = echo(&mut section, kind)?;
    let capacity = capacity(&mut section, kind)?;
    section.finish()?;
    Ok(Tool {
        name,
        kind,
        route,
        start,
        stop,
        times,
        pause,
        follow,
        echo,
        capacity,
    })
}

/// Whether it follows the path. Then it has no end, so nothing may be said of ends.
fn follow(section: &mut Section<'_>, kind: Kind) -> Result<bool, ScenarioError> {
    let Some(entry) = section.optional("follow") else {
        return Ok(false);
    };
    if !entry.boolean()? {
        return Ok(false);
    }
    if !kind.follows() {
        let problem = format!("a measurement of `{}` ends with its answer", kind.name());
        let remedy = "write times = \"unbounded\" in place of `follow`";
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    for key in ["times", "pause", "stop"] {
        if let Some(entry) = section.optional(key) {
            let problem = "a measurement that follows the path has no end";
            let remedy = format!("leave `{key}` out, or `follow`");
            return Err(entry.reject(Complaint::new(problem, remedy)));
        }
    }
    Ok(true)
}

/// Whether probes come back. A tool that is made for echoes asks no receiver.
fn echo(section: &mut Section<'_>, kind: Kind) -> Result<bool, ScenarioError> {
    let Some(entry) = section.optional("echo") else {
        return Ok(kind.echoes());
    };
    let echo = entry.boolean()?;
    if kind.echoes() && !echo {
        let problem = format!("`{}` knows nothing but echoes", kind.name());
        return Err(entry.reject(Complaint::new(problem, "leave `echo` out")));
    }
    Ok(echo)
}

fn capacity(section: &mut Section<'_>, kind: Kind) -> Result<Option<Bandwidth>, ScenarioError> {
    match section.optional("capacity") {
        Some(entry) if !kind.needs_capacity() => {
            let problem = format!("`{}` measures without knowing the capacity", kind.name());
            Err(entry.reject(Complaint::new(problem, "leave `capacity` out")))
        }
        Some(entry) => Ok(Some(entry.quantity(quantity::rate_above_zero)?)),
        None => Ok(None),
    }
}

/// A count, or `"unbounded"`; one without the key.
fn times(section: &mut Section<'_>) -> Result<Times, ScenarioError> {
    /// More measurements than this have no place in a day.
    const MOST: u32 = 100_000;
    let Some(entry) = section.optional("times") else {
        return Ok(Times::Count(1));
    };
    if entry.is_text() {
        return entry.choice(&[("unbounded", Times::Unbounded)]);
    }
    Ok(Times::Count(entry.count(1..=MOST)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const PATH: &str = "name = \"a\"\ntitle = \"a\"\nduration = \"9 s\"\n[[link]]\n\
        name = \"bottleneck\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"9 KB\"\n";

    #[test]
    fn a_tool_has_its_keys_and_says_what_is_wrong_with_them() {
        let with_tool = |keys: &str| {
            let text = format!("{PATH}[[tool]]\nname = \"t\"\n{keys}\n");
            Scenario::parse("tool.toml", &text, &[])
        };
        let keys = "kind = \"spruce\"\nstart = \"1 s\"\ntimes = \"unbounded\"\npause = \"2 s\"\n\
                    capacity = \"9 Mbit/s\"\necho = true";
        let tool = with_tool(keys).expect("it is right").tools.remove(0);
        assert_eq!((tool.times, tool.echo), (Times::Unbounded, true));
        assert_eq!(tool.capacity, Some(Bandwidth::from_mbps(9)));
        assert_eq!((tool.pause, tool.route.last), (Duration::from_secs(2), 0));
        for (keys, expected) in [
            ("", "tool.t: `kind` is missing; add kind = \"pathload\""),
            (
                "kind = \"pathlode\"",
                "tool.t.kind: unknown value `pathlode`; did you mean `pathload`?",
            ),
            (
                "kind = \"igi\"\ntimes = 0",
                "tool.t.times: 0 is out of range; write a whole number, 1 to 100000",
            ),
            (
                "kind = \"igi\"\ntimes = \"forever\"",
                "tool.t.times: unknown value `forever`; known: unbounded",
            ),
            (
                "kind = \"pathload\"\ncapacity = \"9 Mbit/s\"",
                "`pathload` measures without knowing the capacity; leave `capacity` out",
            ),
            (
                "kind = \"pathload\"\nfollow = true",
                "a measurement of `pathload` ends with its answer; write times = \"unbounded\" in \
                 place of `follow`",
            ),
            (
                "kind = \"abw-ping\"\nfollow = true\nstop = \"3 s\"",
                "tool.t.stop: a measurement that follows the path has no end; leave `stop` out, or \
                 `follow`",
            ),
            (
                "kind = \"abw-ping\"\necho = false",
                "tool.t.echo: `abw-ping` knows nothing but echoes; leave `echo` out",
            ),
            (
                "kind = \"igi\"\npause = \"2\"",
                "tool.t.pause: `2` has no unit; write a number and its unit, such as \"90 ms\"",
            ),
            (
                "kind = \"igi\"\nto = \"there\"",
                "tool.t.to: unknown link `there`; known: bottleneck",
            ),
        ] {
            let error = with_tool(keys).expect_err(keys).to_string();
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }
}
