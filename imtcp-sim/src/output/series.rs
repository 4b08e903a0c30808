//! Series as CSV: the truth of every link, and for every flow its estimates and its state.

use super::OutputError;
use crate::result::{EstimatePoint, FlowResult, RunResult};
use std::path::{Path, PathBuf};

/// Writes `<scenario>-seed<N>-truth.csv`, and `...-<flow>-estimates.csv` and `...-<flow>-state.csv`
/// for every flow, and `...-<flow>-observed.csv` for those that were watched. Where there are
/// tools, `...-tools.csv` has their measurements.
///
/// # Errors
/// A file cannot be written.
pub fn series(result: &RunResult, folder: &Path) -> Result<(), OutputError> {
    let stem = format!("{}-seed{}", result.scenario, result.seed);
    let path = |suffix: &str| folder.join(format!("{stem}-{suffix}.csv"));
    write(&path("truth"), |csv| truth(csv, result))?;
    if !result.tools.is_empty() {
        write(&path("tools"), |csv| tools(csv, result))?;
    }
    for flow in &result.flows {
        write(&path(&format!("{}-estimates", flow.name)), |csv| {
            estimates(csv, flow)
        })?;
        write(&path(&format!("{}-state", flow.name)), |csv| {
            state(csv, flow)
        })?;
        if !flow.observed.is_empty() {
            write(&path(&format!("{}-observed", flow.name)), |csv| {
                observed(csv, flow)
            })?;
        }
    }
    Ok(())
}

type Csv = csv::Writer<std::fs::File>;

fn write(
    path: &PathBuf,
    rows: impl FnOnce(&mut Csv) -> Result<(), csv::Error>,
) -> Result<(), OutputError> {
    let failed = |error: csv::Error| OutputError::new(path, error);
    let mut csv = csv::Writer::from_path(path).map_err(failed)?;
    rows(&mut csv).map_err(failed)?;
    csv.flush().map_err(|error| OutputError::new(path, error))
}

/// One row for each link, bin and user: cross traffic, a flow or a tool.
fn truth(csv: &mut Csv, result: &RunResult) -> Result<(), csv::Error> {
    csv.write_record(["link", "t_s", "capacity_bps", "user", "bps"])?;
    for row in &result.truth {
        let cross = ("cross traffic", row.cross_bps);
        let users = row.flow_bps.iter().chain(&row.tool_bps);
        let users = users.map(|(name, bps)| (name.as_str(), *bps));
        for (user, bps) in [cross].into_iter().chain(users) {
            csv.serialize((&row.link, row.t_s, row.capacity_bps, user, bps))?;
        }
    }
    Ok(())
}

/// Both estimators' series, and the truth over each estimate's window.
fn estimates(csv: &mut Csv, flow: &FlowResult) -> Result<(), csv::Error> {
    csv.write_record([
        "estimator",
        "t_s",
        "available_bps",
        "low_bps",
        "high_bps",
        "window_s",
        "truth_bps",
        "flags",
    ])?;
    for (name, points) in [
        ("default", &flow.estimates),
        ("classic", &flow.estimates_classic),
    ] {
        for point in points {
            let truth = truth_of(flow, point);
            let flags = point.flags.join(" ");
            let (available, low, high) = (point.available_bps, point.low_bps, point.high_bps);
            csv.serialize((
                name,
                point.t_s,
                available,
                low,
                high,
                point.window_s,
                truth,
                flags,
            ))?;
        }
    }
    Ok(())
}

fn truth_of(flow: &FlowResult, point: &EstimatePoint) -> Option<u64> {
    let at = |seconds: f64| {
        imtcp_cc::units::Timestamp::from_origin(std::time::Duration::from_secs_f64(
            seconds.max(0.0),
        ))
    };
    let mean = flow
        .reference
        .truth
        .mean(at(point.t_s - point.window_s), at(point.t_s))?;
    Some(imtcp_cc::units::Bandwidth::from_bps_f64(mean).as_bps())
}

/// One row for each measurement.
fn tools(csv: &mut Csv, result: &RunResult) -> Result<(), csv::Error> {
    csv.write_record([
        "tool",
        "kind",
        "start_s",
        "end_s",
        "value_bps",
        "low_bps",
        "high_bps",
        "truth_bps",
        "error",
        "packets",
        "bytes",
        "other_bytes",
        "lost_packets",
        "added_mean_ms",
        "added_max_ms",
    ])?;
    for tool in &result.tools {
        for measurement in &tool.measurements {
            csv.serialize((
                (
                    &tool.name,
                    tool.kind,
                    measurement.start_s,
                    measurement.end_s,
                ),
                (
                    measurement.value_bps,
                    measurement.low_bps,
                    measurement.high_bps,
                ),
                (measurement.truth_bps, measurement.error),
                (
                    measurement.packets,
                    measurement.bytes,
                    measurement.other_bytes,
                ),
                (
                    measurement.lost_packets,
                    measurement.added_mean_ms,
                    measurement.added_max_ms,
                ),
            ))?;
        }
    }
    Ok(())
}

fn observed(csv: &mut Csv, flow: &FlowResult) -> Result<(), csv::Error> {
    csv.write_record(["observer", "t_s", "bps"])?;
    for observed in &flow.observed {
        for reading in &observed.readings {
            csv.serialize((observed.name, reading.t_s, reading.bps))?;
        }
    }
    Ok(())
}

fn state(csv: &mut Csv, flow: &FlowResult) -> Result<(), csv::Error> {
    csv.write_record([
        "t_s",
        "window_bytes",
        "smoothed_rtt_ms",
        "delivered_bytes",
        "lost_packets",
        "told_bps",
    ])?;
    for snapshot in &flow.snapshots {
        csv.serialize((
            snapshot.at.as_secs_f64(),
            snapshot.window,
            snapshot.smoothed_rtt_ms,
            snapshot.delivered,
            snapshot.lost,
            snapshot.told_bps,
        ))?;
    }
    Ok(())
}
