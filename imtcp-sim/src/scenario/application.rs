//! `application = { ... }`: what a flow has to send, and when.

use super::Section;
use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::Entry;
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::fmt;
use std::time::Duration;

/// What the server's application sends. Rates and sizes are those of application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// As much data as the connection takes, up to a size if there is one.
    Bulk {
        /// Where the transfer ends.
        size: Option<Bytes>,
        /// The most that may be written and not yet acknowledged, as a socket's send buffer bounds
        /// it: the flow carries at most this much per round trip.
        send_buffer: Option<Bytes>,
    },
    /// A burst every period on one stream: frames of a live source, or chunks of a stored video.
    /// What the connection does not take at once waits at the sender.
    Periodic {
        /// Mean rate.
        rate: Bandwidth,
        /// From one burst to the next.
        period: Duration,
        /// Which bursts are larger than the others.
        keyframes: Option<Keyframes>,
        /// When the source rests.
        pause: Option<Pause>,
    },
    /// A stored video that a player fetches: the next chunk once the one before has come and the
    /// player's buffer has room for it.
    Player {
        /// Bytes of the video per time of watching.
        rate: Bandwidth,
        /// How long a chunk is watched.
        period: Duration,
        /// The most that is fetched and not watched, in time of watching; at least a chunk.
        buffer: Duration,
    },
    /// Pages that somebody loads, one after the other.
    Pages(PageSettings),
    /// QUIC DATAGRAM frames, evenly spaced or in bursts, never sent again.
    Datagrams {
        /// Mean rate.
        rate: Bandwidth,
        /// Size of each; the largest that fits into a packet if none is given.
        size: Option<Bytes>,
        /// From one burst to the next; none for even spacing.
        period: Option<Duration>,
    },
}

/// Pages, and the time between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSettings {
    /// How long a page is read before the next one is asked for, on average.
    pub think: Duration,
    /// Objects of a page.
    pub objects: u32,
    /// Mean size of an object.
    pub object: Bytes,
    /// Pareto shape of the sizes of objects.
    pub shape: Shape,
}

/// A Pareto distribution's shape, above 1, in whole thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    thousandths: u32,
}

impl Shape {
    /// The nearest one. What is not above 1 becomes the least that is.
    pub fn of(shape: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "bounded before")]
        #[expect(clippy::cast_sign_loss, reason = "bounded before")]
        let thousandths = libm::round(shape.clamp(1.001, 1000.0) * 1e3) as u32;
        Self { thousandths }
    }

    /// As a number.
    pub fn value(self) -> f64 {
        f64::from(self.thousandths) / 1e3
    }
}

/// Larger frames among others: those that do not build on the frames before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyframes {
    /// One of so many frames, beginning with the first, is one.
    pub every: u32,
    /// It has so many times the size of another one.
    pub times: u32,
}

/// A time in which a source makes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk { size, send_buffer } => {
                write!(f, "bulk")?;
                if let Some(size) = size {
                    write!(f, " of {size}")?;
                }
                match send_buffer {
                    Some(buffer) => write!(f, ", up to {buffer} unacknowledged"),
                    None => Ok(()),
                }
            }
            Self::Periodic {
                rate,
                period,
                keyframes,
                pause,
            } => {
                write!(f, "{rate}, a burst every {period:?}")?;
                if let Some(Keyframes { every, times }) = keyframes {
                    write!(f, ", one of {every} {times} times as large")?;
                }
                match pause {
                    Some(_) => write!(f, ", with a pause"),
                    None => Ok(()),
                }
            }
            Self::Player {
                rate,
                period,
                buffer,
            } => write!(
                f,
                "{rate} of video, fetched in chunks of {period:?} up to {buffer:?} ahead"
            ),
            Self::Pages(pages) => write!(
                f,
                "pages of {} x {}, each read for {:?} on average",
                pages.objects, pages.object, pages.think
            ),
            Self::Datagrams { rate, size, period } => {
                write!(f, "{rate} of datagrams")?;
                if let Some(size) = size {
                    write!(f, " of {size}")?;
                }
                match period {
                    Some(period) => write!(f, ", a burst every {period:?}"),
                    None => write!(f, ", evenly spaced"),
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Bulk,
    Frames,
    Chunks,
    Player,
    Pages,
    Datagrams,
}

const KINDS: &[(&str, Kind)] = &[
    ("bulk", Kind::Bulk),
    ("frames", Kind::Frames),
    ("chunks", Kind::Chunks),
    ("player", Kind::Player),
    ("pages", Kind::Pages),
    ("datagrams", Kind::Datagrams),
];

/// More bursts than this in a second would be simulated for ever.
const MOST_PER_SECOND: f64 = 10_000.0;
const SHORTEST_PERIOD: Duration = Duration::from_micros(100);

pub(super) fn read(entry: &Entry<'_>) -> Result<Application, ScenarioError> {
    let mut section = entry.section()?;
    let kind = section.required("kind", "\"bulk\"")?.choice(KINDS)?;
    let bytes = |section: &mut Section<'_>, key| {
        let entry = section.optional(key);
        entry
            .map(|entry| entry.quantity(quantity::size))
            .transpose()
    };
    let rate = |section: &mut Section<'_>| {
        let entry = section.required("rate", "\"2 Mbit/s\"")?;
        entry.quantity(quantity::rate_above_zero)
    };
    let application = match kind {
        Kind::Bulk => Application::Bulk {
            size: bytes(&mut section, "size")?,
            send_buffer: bytes(&mut section, "send_buffer")?,
        },
        Kind::Frames => {
            let rate = rate(&mut section)?;
            let per_second = section
                .required("per_second", "30")?
                .number(0.1..=MOST_PER_SECOND)?;
            Application::Periodic {
                rate,
                period: Duration::from_secs_f64(1.0 / per_second),
                keyframes: keyframes(&mut section)?,
                pause: pause(&mut section)?,
            }
        }
        Kind::Chunks => Application::Periodic {
            rate: rate(&mut section)?,
            period: section
                .required("period", "\"4 s\"")?
                .quantity(|text| quantity::span_of_at_least(text, SHORTEST_PERIOD))?,
            keyframes: None,
            pause: pause(&mut section)?,
        },
        Kind::Player => {
            let rate = rate(&mut section)?;
            let period = section.required("period", "\"4 s\"")?;
            let period = period.quantity(quantity::span_above_zero)?;
            let entry = section.required("buffer", "\"240 s\"")?;
            let buffer = entry.quantity(quantity::span)?;
            if buffer < period {
                let problem = "the buffer has no room for a chunk";
                let remedy = "let `buffer` be `period` or more";
                return Err(entry.reject(Complaint::new(problem, remedy)));
            }
            Application::Player {
                rate,
                period,
                buffer,
            }
        }
        Kind::Pages => Application::Pages(pages(&mut section)?),
        Kind::Datagrams => Application::Datagrams {
            rate: rate(&mut section)?,
            size: bytes(&mut section, "size")?,
            period: section
                .optional("per_second")
                .map(|entry| entry.number(0.1..=MOST_PER_SECOND))
                .transpose()?
                .map(|per_second| Duration::from_secs_f64(1.0 / per_second)),
        },
    };
    section.finish()?;
    Ok(application)
}

/// The paper's pages are the default ([IM] 4.3: eight objects of 12 KB on average, shape 1.2).
fn pages(section: &mut Section<'_>) -> Result<PageSettings, ScenarioError> {
    let think = section.required("think", "\"2 s\"")?;
    let objects = section.optional("objects");
    let object = section.optional("object");
    let shape = section.optional("shape");
    Ok(PageSettings {
        think: think.quantity(quantity::span_above_zero)?,
        objects: objects.map_or(Ok(8), |entry| entry.count(1..=10_000))?,
        object: object.map_or(Ok(Bytes::new(12_000)), |entry| {
            entry.quantity(quantity::size)
        })?,
        shape: Shape::of(shape.map_or(Ok(1.2), |entry| entry.number(1.01..=100.0))?),
    })
}

/// `keyframes = { every = 60, times = 5 }`.
fn keyframes(section: &mut Section<'_>) -> Result<Option<Keyframes>, ScenarioError> {
    let Some(entry) = section.optional("keyframes") else {
        return Ok(None);
    };
    let mut section = entry.section()?;
    let keyframes = Keyframes {
        every: section.required("every", "60")?.count(1..=100_000)?,
        times: section.required("times", "5")?.count(1..=1000)?,
    };
    section.finish()?;
    Ok(Some(keyframes))
}

/// `pause = { from = "4 s", to = "7 s" }`.
fn pause(section: &mut Section<'_>) -> Result<Option<Pause>, ScenarioError> {
    let Some(entry) = section.optional("pause") else {
        return Ok(None);
    };
    let mut section = entry.section()?;
    let at = |entry: Entry<'_>| entry.quantity(quantity::span).map(Timestamp::from_origin);
    let from = at(section.required("from", "\"4 s\"")?)?;
    let to = at(section.required("to", "\"7 s\"")?)?;
    if to <= from {
        let remedy = "let `to` be later than `from`";
        return Err(entry.reject(Complaint::new("the pause ends before it begins", remedy)));
    }
    section.finish()?;
    Ok(Some(Pause { from, to }))
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    fn with(application: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"t\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
             rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"9 KB\"\n[[flow]]\n\
             name = \"main\"\ncontroller = \"reno\"\napplication = {{ {application} }}\n"
        );
        Scenario::parse("t.toml", &text, &[]).map_err(|error| error.to_string())
    }

    /// It made bursts without end.
    #[test]
    fn bursts_that_follow_each_other_too_soon_are_refused() {
        let chunks = |period: &str| {
            with(&format!(
                "kind = \"chunks\", rate = \"1 Mbit/s\", period = \"{period}\""
            ))
        };
        let error = chunks("1 ns").expect_err("too short");
        let expected = "application.period: 1 ns is too short to be simulated; at least 100µs";
        assert!(error.ends_with(expected), "{error}");
        chunks("100 us").expect("12.5 bytes");
    }
}
