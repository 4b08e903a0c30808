//! A folder of recorded traces, for radio links.

use super::draw::Draw;
use crate::trace::{Trace, TraceError, read};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The fastest of a trace is looked for in so much of it.
const LOOKED_AT: Duration = Duration::from_secs(3600);
/// No run on a drawn path is longer.
const LONGEST_RUN: Duration = Duration::from_secs(60);
/// Aggregates have room for a rate that is higher than the fastest by up to this. It is a little
/// less than what [`super::radio`] gives them, because their times are rounded.
const HIGHER: f64 = 1.19;

/// Traces of a folder, in the order of their names.
#[derive(Clone, Debug)]
pub struct Traces {
    all: Vec<Recorded>,
}

/// What a path has to know of its trace.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// As scenarios name it.
    pub(super) name: String,
    pub(super) mean_mbps: f64,
    /// In the fastest tenth of a second.
    pub(super) fastest_mbps: f64,
    period_s: f64,
    /// Where it begins, in seconds.
    from_s: f64,
    trace: Arc<Trace>,
}

impl Traces {
    /// Reads all files of a folder but hidden ones. Each has to be a trace.
    ///
    /// # Errors
    /// The folder cannot be read or is empty, or a file is no trace.
    pub fn read(folder: &Path) -> Result<Self, TraceError> {
        let wrong = |problem: String| TraceError {
            file: folder.display().to_string(),
            line: None,
            problem,
            remedy: "name a folder of packet-delivery traces, such as `imtcp-sim traces` writes"
                .to_owned(),
        };
        let cannot = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
        // A path that follows a trace names it in full, so that it runs from anywhere.
        let absolute = folder.canonicalize().map_err(cannot)?;
        let mut files = Vec::new();
        for entry in absolute.read_dir().map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.path().is_file() && !is_hidden {
                files.push(entry.path());
            }
        }
        files.sort_unstable();
        let all: Vec<Recorded> = files
            .iter()
            .map(|file| read(file).map(Recorded::drawn))
            .collect::<Result<_, _>>()?;
        match all.is_empty() {
            true => Err(wrong("there is no file in it".to_owned())),
            false => Ok(Self { all }),
        }
    }

    /// One of them, begun anywhere.
    pub(super) fn draw(&self, draw: &mut Draw) -> Recorded {
        let last = u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX);
        let trace = &self.all[draw.count(0, last) as usize];
        trace.begun(draw.evenly(0.0, trace.period_s))
    }
}

impl Recorded {
    /// A trace from its beginning.
    pub(super) fn drawn(trace: Trace) -> Self {
        Self {
            name: trace.name().to_owned(),
            mean_mbps: mbps(trace.mean()),
            fastest_mbps: fastest_mbps(&trace, trace.period().min(LOOKED_AT)),
            period_s: trace.period().as_secs_f64(),
            from_s: 0.0,
            trace: Arc::new(trace),
        }
    }

    /// The same, begun elsewhere. Its tenths of a second hold other deliveries together then.
    fn begun(&self, from_s: f64) -> Self {
        let begun = self.trace.from(Duration::from_secs_f64(from_s));
        let looked_at = begun.period().max(LONGEST_RUN).min(LOOKED_AT);
        let fastest_mbps = fastest_mbps(&begun, looked_at);
        Self {
            from_s,
            fastest_mbps: match fastest_mbps > HIGHER * self.fastest_mbps {
                true => fastest_mbps,
                false => self.fastest_mbps,
            },
            ..self.clone()
        }
    }

    /// A link that was written with a rate, with this trace.
    pub(super) fn instead_of_rate(&self, link: &str) -> String {
        let name = self.name.replace('\\', "\\\\").replace('"', "\\\"");
        let trace = match self.from_s > 0.0 {
            true => format!(
                "trace = {{ file = \"{name}\", from = \"{:.3} s\" }}",
                self.from_s
            ),
            false => format!("trace = \"{name}\""),
        };
        let lines = link.lines().map(|line| match line.starts_with("rate = ") {
            true => trace.clone() + "\n",
            false => line.to_owned() + "\n",
        });
        lines.collect()
    }
}

fn mbps(rate: Bandwidth) -> f64 {
    rate.as_bps_f64() / 1e6
}

/// The rate in the fastest tenth of a second.
fn fastest_mbps(trace: &Trace, looked_at: Duration) -> f64 {
    let profile = trace.profile(Timestamp::from_origin(looked_at));
    let rates = profile.steps().iter().map(|step| step.rate);
    mbps(rates.max().unwrap_or(trace.mean()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::Class;

    #[test]
    fn radio_links_follow_the_traces_of_a_folder() {
        let folder = std::env::temp_dir().join(format!("imtcp-sim-traces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let empty = Traces::read(&folder).expect_err("it is empty").to_string();
        assert!(
            empty.contains("there is no file in it; name a folder"),
            "{empty}"
        );
        for (name, text) in [("a b", "1\n2\n"), ("c.trace", "2\n"), (".hidden", "x")] {
            std::fs::write(folder.join(name), text).expect("it can be written");
        }
        let traces = Traces::read(&folder).expect("two traces");
        let mut seen = [0; 2];
        for seed in 1..=60 {
            let path = Class::Radio.draw_among(seed, Some(&traces)).expect("valid");
            let scenario = path.scenario(&[]).expect("it was valid");
            let trace = scenario.links[0].forward.trace.as_ref().expect("a trace");
            let mean = trace.mean().as_bps_f64() / 1e6;
            // An opportunity a millisecond, or one in two.
            let index = usize::from((mean - 6.0).abs() < 1e-9);
            assert!(index == 1 || (mean - 12.0).abs() < 1e-9, "{mean}");
            seen[index] += 1;
        }
        assert!(seen.iter().all(|count| *count > 15), "{seen:?}");
        std::fs::write(folder.join("d"), "2\n1\n").expect("it can be written");
        let error = Traces::read(&folder).expect_err("d").to_string();
        assert!(
            error.ends_with("d:2: 1 comes after 2; sort the lines: deliveries ascend"),
            "{error}"
        );
        std::fs::remove_dir_all(&folder).expect("it was there");
        assert!(Traces::read(&folder).is_err());
    }

    /// Deliveries around the edge of a tenth of a second came into one, and the link was faster
    /// than its aggregates: the survey ended there.
    #[test]
    fn a_trace_begun_anywhere_has_aggregates_that_keep_up() {
        let deliveries = (95..105).flat_map(|ms| vec![ms; 20]);
        let text: String = deliveries
            .chain([1000])
            .map(|ms| format!("{ms}\n"))
            .collect();
        let trace = crate::trace::parse("t", &text).expect("a trace");
        // A hundred on either side of 100 ms.
        let whole = Recorded::drawn(trace);
        assert!((whole.fastest_mbps - 12.0).abs() < 0.2, "{whole:?}");
        assert!((whole.begun(0.05).fastest_mbps - 24.0).abs() < 0.2);
        assert_eq!(whole.begun(0.1).fastest_mbps, whole.fastest_mbps);
        let folder = std::env::temp_dir().join(format!("imtcp-sim-edge-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        std::fs::write(folder.join("t"), text).expect("it can be written");
        let read = Traces::read(&folder).expect("a trace");
        for seed in 1..=100 {
            let path = Class::Radio.draw_among(seed, Some(&read));
            path.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
