//! A folder of recorded traces, for radio links.

use super::draw::Draw;
use crate::trace::{Trace, TraceError, read};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::path::Path;
use std::time::Duration;

/// The fastest of a trace is looked for in so much of it.
const LOOKED_AT: Duration = Duration::from_secs(3600);

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
        Recorded {
            from_s: draw.evenly(0.0, trace.period_s),
            ..trace.clone()
        }
    }
}

impl Recorded {
    /// A trace from its beginning.
    #[expect(clippy::needless_pass_by_value, reason = "fits where traces are read")]
    pub(super) fn drawn(trace: Trace) -> Self {
        let mbps = |rate: Bandwidth| rate.as_bps_f64() / 1e6;
        let end = Timestamp::from_origin(trace.period().min(LOOKED_AT));
        let profile = trace.profile(end);
        let rates = profile.steps().iter().map(|step| step.rate);
        Self {
            name: trace.name().to_owned(),
            mean_mbps: mbps(trace.mean()),
            fastest_mbps: mbps(rates.max().unwrap_or(trace.mean())),
            period_s: trace.period().as_secs_f64(),
            from_s: 0.0,
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
}
