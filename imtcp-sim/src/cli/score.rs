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

fn read(file: &Path, head_start_s: f64) -> Result<Vec<Sample>, Box<dyn Error>> {
    let named = |error: csv::Error| format!("cannot read {}: {error}", file.display());
    let mut reader = csv::Reader::from_path(file).map_err(named)?;
    let mut samples = Vec::new();
    for line in reader.deserialize() {
        let line: Line = line.map_err(named)?;
        let at_s = line.seconds - head_start_s;
        if line.estimator != DEFAULT_ESTIMATOR || at_s < 0.0 {
            continue;
        }
        let span = |seconds| Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string());
        samples.push(Sample {
            at: Timestamp::from_origin(span(at_s)?),
            available_bps: line.available_bps,
            low_bps: line.low_bps,
            high_bps: line.high_bps,
            window: span(line.window_s)?,
        });
    }
    Ok(samples)
}
