//! `imtcp-sim score`.

use super::{ScoreArguments, load};
use imtcp_cc::units::Timestamp;
use imtcp_sim::network::FlowId;
use imtcp_sim::score::{Reference, Sample, score};
use serde::Deserialize;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

/// The estimator that the controller itself goes by.
const DEFAULT_ESTIMATOR: &str = "statistical";

/// A line of the file that `serve --estimates` writes.
#[derive(Deserialize)]
struct Line {
    seconds: f64,
    estimator: String,
    available_bps: f64,
    low_bps: f64,
    high_bps: f64,
    window_s: f64,
}

/// Reads, scores, prints.
pub fn run(arguments: &ScoreArguments) -> Result<(), Box<dyn Error>> {
    let scenario = load(&arguments.scenario)?;
    let wanted = &arguments.flow;
    let mut names = scenario.flows.iter().map(|flow| &flow.name);
    let index = names.position(|name| name == wanted);
    let index = index.ok_or_else(|| format!("the scenario has no flow `{wanted}`"))?;
    let reference = Reference::nominal(&scenario, FlowId(index)).ok_or_else(|| {
        format!("`{wanted}` is not alone on its path, so nobody knows what was available to it")
    })?;
    let samples = read(&arguments.estimates, arguments.head_start)?;
    say!("{}", serde_json::to_string(&score(&samples, &reference))?)?;
    Ok(())
}

/// The samples of the controller's own estimator since the scenario began. There may be none: a
/// server that never knew enough has written the columns alone.
fn read(file: &Path, head_start: Duration) -> Result<Vec<Sample>, String> {
    let named = |error: csv::Error| format!("cannot read {}: {error}", file.display());
    let mut reader = csv::Reader::from_path(file).map_err(named)?;
    let columns = reader.headers().map_err(named)?.clone();
    if columns.is_empty() {
        return Err(format!(
            "{}: the file is empty; name what `serve --estimates` has written",
            file.display()
        ));
    }
    let (mut lines, mut own, mut samples) = (0u64, 0u64, Vec::new());
    for record in reader.records() {
        let record = record.map_err(named)?;
        let line: Line = record.deserialize(Some(&columns)).map_err(named)?;
        lines += 1;
        if line.estimator != DEFAULT_ESTIMATOR {
            continue;
        }
        own += 1;
        let sample = line.sample(head_start).map_err(|problem| {
            let number = record.position().map_or(0, csv::Position::line);
            format!("{}:{number}: {problem}", file.display())
        })?;
        samples.extend(sample);
    }
    if lines > 0 && own == 0 {
        return Err(format!(
            "{}: no estimate is by `{DEFAULT_ESTIMATOR}`, which is what is scored; let the server \
             measure with it",
            file.display()
        ));
    }
    Ok(samples)
}

impl Line {
    /// None from before the scenario began.
    fn sample(&self, head_start: Duration) -> Result<Option<Sample>, String> {
        let time = |column: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| format!("{column} is {seconds}, which is no time in seconds"))
        };
        let rates = [
            ("available_bps", self.available_bps),
            ("low_bps", self.low_bps),
            ("high_bps", self.high_bps),
        ];
        let wrong = rates
            .iter()
            .find(|(_, bps)| !(bps.is_finite() && *bps >= 0.0));
        if let Some((column, bps)) = wrong {
            return Err(format!("{column} is {bps}, which is no rate in bit/s"));
        }
        let window = time("window_s", self.window_s)?;
        let at = time("seconds", self.seconds)?.checked_sub(head_start);
        Ok(at.map(|at| Sample {
            at: Timestamp::from_origin(at),
            available_bps: self.available_bps,
            low_bps: self.low_bps,
            high_bps: self.high_bps,
            window,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &str = "seconds,estimator,available_bps,low_bps,high_bps,window_s\n";

    fn read_text(name: &str, text: &str) -> Result<Vec<Sample>, String> {
        let name = format!("imtcp-sim-score-{name}-{}.csv", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).expect("a file for the test");
        let found = read(&file, Duration::from_secs(2));
        std::fs::remove_file(&file).expect("it was there");
        found
    }

    #[test]
    fn estimates_count_from_the_scenarios_beginning() {
        let text = format!(
            "{COLUMNS}1.5,statistical,7,6,8,0.5\n2.5,classic,7,6,8,0.5\n3.5,statistical,7,6,8,0.5\n"
        );
        let samples = read_text("right", &text).expect("it is right");
        let at: Vec<u64> = samples.iter().map(|sample| sample.at.as_nanos()).collect();
        assert_eq!(at, [1_500_000_000]);
        assert_eq!(
            read_text("silent", COLUMNS),
            Ok(Vec::new()),
            "it said nothing"
        );
    }

    /// Times that are none gave an error without a place, and no estimates a score of nothing.
    #[test]
    fn what_cannot_be_scored_is_said_with_its_place() {
        for (name, line, expected) in [
            (
                "window",
                "3,statistical,7,6,8,-1",
                ":2: window_s is -1, which is no time",
            ),
            (
                "time",
                "nan,statistical,7,6,8,1",
                ":2: seconds is NaN, which is no time",
            ),
            (
                "rate",
                "3,statistical,nan,6,8,1",
                ":2: available_bps is NaN, which is no rate",
            ),
            (
                "other",
                "3,classic,7,6,8,1",
                "no estimate is by `statistical`",
            ),
        ] {
            let error = read_text(name, &format!("{COLUMNS}{line}\n")).expect_err(line);
            assert!(error.contains(expected), "{error}");
        }
        let error = read_text("empty", "").expect_err("an empty file");
        assert!(error.contains("the file is empty; name what"), "{error}");
    }
}
