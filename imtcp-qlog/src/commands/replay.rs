//! `imtcp-qlog replay`: the measurement run again.

use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use imtcp_cc::qlog::Parameters;
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::{Config, EstimatorKind};
use imtcp_qlog::replay::{Made, Replay, Told};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog that was written for a replay.
    file: PathBuf,
    /// Another estimator drives.
    #[arg(long, value_enum)]
    estimator: Option<Estimator>,
    /// Packets of a probe stream; 3 to 64.
    #[arg(long, value_name = "N")]
    stream_packets: Option<u32>,
    /// Sub-ranges of a search range; 2 to 16.
    #[arg(long, value_name = "N")]
    sub_ranges: Option<u32>,
    /// The least width of the search range, in bit/s.
    #[arg(long, value_name = "BITS")]
    minimum_range: Option<u64>,
    /// Bytes of IP and UDP headers.
    #[arg(long, value_name = "BYTES")]
    header_overhead: Option<u64>,
    /// Print every estimate of the log and of the replay as CSV.
    #[arg(long)]
    csv: bool,
    /// Fail unless the replay gives the estimates of the log exactly.
    #[arg(long)]
    exact: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Estimator {
    Classic,
    Statistical,
}

pub fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut log = super::open(&arguments.file, false)?;
    let replay = Replay::of(&mut log, |live| changed(arguments, live))?;
    if arguments.csv {
        csv(&replay, output)?;
    } else {
        write!(output, "{}", text(arguments, &replay))?;
    }
    output.flush()?;
    super::warn(&log);
    for doubt in &replay.doubts {
        eprintln!("warning: {}: {doubt}", arguments.file.display());
    }
    if arguments.exact && !replay.is_exact() {
        let file = arguments.file.display();
        return Err(format!(
            "{file}: the replay gave {} estimates, of which {} differ from the log's {}",
            replay.made.len(),
            replay.differences(),
            replay.told.len()
        )
        .into());
    }
    Ok(())
}

/// The live parameters with what the command line changes.
fn changed(arguments: &Arguments, mut live: Parameters) -> Result<Parameters, String> {
    let had = &live.config;
    let mut builder = Config::builder()
        .measurement(had.measurement())
        .estimator(match arguments.estimator {
            Some(Estimator::Classic) => EstimatorKind::Classic,
            Some(Estimator::Statistical) => EstimatorKind::Statistical,
            None => had.estimator(),
        })
        .stream_packets(arguments.stream_packets.unwrap_or(had.stream_packets()))
        .sub_ranges(arguments.sub_ranges.unwrap_or(had.sub_ranges()))
        .store_target(had.store_target())
        .store_timer(had.store_timer())
        .measurement_interval_rtts(had.measurement_interval_rtts())
        .minimum_range(
            arguments
                .minimum_range
                .map_or(had.minimum_range(), Bandwidth::from_bps),
        )
        .header_overhead(
            arguments
                .header_overhead
                .map_or(had.header_overhead(), Bytes::new),
        )
        .window(had.window())
        .promise(had.promise())
        .promise_ceiling(had.promise_ceiling())
        .promise_weight(had.promise_weight())
        .promise_law(had.promise_law())
        .slot_length(had.slot_length())
        .packet_overhead(had.packet_overhead())
        .ack_frequency(had.ack_frequency())
        .longest_hold(had.longest_hold())
        .measured_start(had.measured_start())
        .remember_paths(had.remember_paths())
        .initial_window_packets(had.initial_window_packets());
    if let Some(rtt) = had.initial_rtt() {
        builder = builder.initial_rtt(rtt);
    }
    live.config = builder.build().map_err(|error| error.to_string())?;
    Ok(live)
}

fn text(arguments: &Arguments, replay: &Replay) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "estimates, Mbit/s",
        "count",
        "mean",
        "mean width of the interval",
    ]);
    for estimator in ["statistical", "classic"] {
        let told = replay
            .told
            .iter()
            .filter(|told| told.estimator == estimator);
        let told: Vec<_> = told.filter(|told| is_estimate(told)).collect();
        let made = replay
            .made
            .iter()
            .filter(|made| made.estimator.to_string() == estimator);
        let made: Vec<_> = made
            .filter(|made| !made.estimate.flags.lower_bound)
            .collect();
        let row = |values: Vec<(u64, u64)>| {
            let count = values.len();
            let mean = |part: fn(&(u64, u64)) -> u64| {
                if count == 0 {
                    return "-".to_owned();
                }
                let sum: f64 = values.iter().map(|value| part(value) as f64).sum();
                format!("{:.2}", sum / count as f64 / 1e6)
            };
            [
                count.to_string(),
                mean(|value| value.0),
                mean(|value| value.1),
            ]
        };
        let live = row(told
            .iter()
            .map(|told| {
                (
                    told.available_bps,
                    told.high_bps.unwrap_or(0).saturating_sub(told.low_bps),
                )
            })
            .collect());
        let again = row(made
            .iter()
            .map(|made| {
                let estimate = &made.estimate;
                let width = estimate.high.saturating_sub(estimate.low);
                (estimate.available.as_bps(), width.as_bps())
            })
            .collect());
        for (name, [count, mean, width]) in [("live", live), ("replay", again)] {
            table.add_row([format!("{estimator}, {name}"), count, mean, width]);
        }
    }
    let verdict = if replay.is_exact() {
        "the replay gave the live estimates exactly".to_owned()
    } else if replay.live == replay.parameters {
        format!(
            "with the live parameters the replay differs in {} of {} estimates: the log is not of \
             this version of imtcp-cc, or it is not complete",
            replay
                .differences()
                .max(replay.told.len().abs_diff(replay.made.len())),
            replay.told.len()
        )
    } else {
        "the packets left as the live parameters had it".to_owned()
    };
    format!(
        "{}: the core was fed {} times; {verdict}\n\n{table}\n",
        arguments.file.display(),
        replay.inputs
    )
}

fn is_estimate(told: &Told) -> bool {
    !told.flags.iter().any(|flag| flag == "lower_bound")
}

fn csv(replay: &Replay, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut csv = csv::Writer::from_writer(output);
    let columns = [
        "run",
        "time_ms",
        "estimator",
        "available_bps",
        "low_bps",
        "high_bps",
        "flags",
    ];
    csv.write_record(columns)?;
    for told in &replay.told {
        let Told {
            available_bps,
            low_bps,
            high_bps,
            ..
        } = told;
        csv.write_record([
            "live".to_owned(),
            told.time_ms.to_string(),
            told.estimator.clone(),
            available_bps.to_string(),
            low_bps.to_string(),
            high_bps.map_or(String::new(), |high| high.to_string()),
            told.flags.join(" "),
        ])?;
    }
    for Made {
        at,
        estimator,
        estimate,
    } in &replay.made
    {
        let flags: Vec<_> = estimate.flags.names().collect();
        csv.write_record([
            "replay".to_owned(),
            (at.as_secs_f64() * 1e3).to_string(),
            estimator.to_string(),
            estimate.available.as_bps().to_string(),
            estimate.low.as_bps().to_string(),
            estimate.high.as_bps().to_string(),
            flags.join(" "),
        ])?;
    }
    csv.flush()?;
    Ok(())
}
