//! `imtcp-qlog replay`: the measurement run again.

use clap::{Args, ValueEnum};
use imtcp_cc::EstimatorKind;
use imtcp_cc::qlog::Parameters;
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_qlog::replay::{Made, Replay, Told};
use imtcp_qlog::table::system_error;
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
        csv(&replay, output).map_err(system_error)?;
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
            "{file}: the replay gave {} estimates, of which {} differ from the log's {}, and \
             withdrew {} where the log has {}",
            replay.made.len(),
            replay.differences(),
            replay.told.len(),
            replay.withdrawn_again.len(),
            replay.withdrawn.len()
        )
        .into());
    }
    Ok(())
}

/// The live parameters with what the command line changes.
fn changed(arguments: &Arguments, mut live: Parameters) -> Result<Parameters, String> {
    let mut builder = live.config.to_builder();
    if let Some(estimator) = arguments.estimator {
        builder = builder.estimator(match estimator {
            Estimator::Classic => EstimatorKind::Classic,
            Estimator::Statistical => EstimatorKind::Statistical,
        });
    }
    if let Some(packets) = arguments.stream_packets {
        builder = builder.stream_packets(packets);
    }
    if let Some(count) = arguments.sub_ranges {
        builder = builder.sub_ranges(count);
    }
    if let Some(bps) = arguments.minimum_range {
        builder = builder.minimum_range(Bandwidth::from_bps(bps));
    }
    if let Some(bytes) = arguments.header_overhead {
        builder = builder.header_overhead(Bytes::new(bytes));
    }
    live.config = builder.build().map_err(|error| error.to_string())?;
    Ok(live)
}

/// Value and width of the interval, in bits per second, of estimates.
type Values = Vec<(u64, u64)>;

/// What an estimator said when it was live, but for lower bounds.
fn live(replay: &Replay, estimator: &str) -> Values {
    let told = replay.told.iter();
    let told = told.filter(|told| told.estimator == estimator && !told.is_lower_bound());
    told.map(|told| {
        let high = told.high_bps.unwrap_or(0);
        (told.available_bps, high.saturating_sub(told.low_bps))
    })
    .collect()
}

/// What it said in the replay.
fn again(replay: &Replay, estimator: &str) -> Values {
    let made = replay.made.iter();
    let made = made
        .filter(|made| made.estimator.to_string() == estimator && !made.estimate.flags.lower_bound);
    made.map(|made| {
        let estimate = &made.estimate;
        let width = estimate.high.saturating_sub(estimate.low);
        (estimate.available.as_bps(), width.as_bps())
    })
    .collect()
}

/// Their number, the mean of the values, and the mean of the widths.
fn means(values: &Values) -> [String; 3] {
    let mean = |part: fn(&(u64, u64)) -> u64| match values.len() {
        0 => "-".to_owned(),
        count => {
            let sum: f64 = values.iter().map(|value| part(value) as f64).sum();
            format!("{:.2}", sum / count as f64 / 1e6)
        }
    };
    let [value, width] = [mean(|value| value.0), mean(|value| value.1)];
    [values.len().to_string(), value, width]
}

fn text(arguments: &Arguments, replay: &Replay) -> String {
    let mut table = super::table();
    table.set_header([
        "estimates, Mbit/s",
        "count",
        "mean",
        "mean width of the interval",
    ]);
    for estimator in ["statistical", "classic"] {
        let rows = [
            ("live", live(replay, estimator)),
            ("replay", again(replay, estimator)),
        ];
        for (name, values) in rows {
            let [count, mean, width] = means(&values);
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

fn csv(replay: &Replay, output: &mut impl Write) -> csv::Result<()> {
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
    Ok(csv.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use imtcp_cc::Config;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn what_the_command_line_does_not_name_stays_as_it_was() {
        let config = Config::builder().takes_marks(true).sub_ranges(7);
        let live = Parameters {
            config: config.build().expect("it is right"),
            max_datagram: Bytes::new(1200),
            saved: None,
        };
        let changed = |line: &[&str]| {
            let line = Line::parse_from([&["replay", "x.sqlog"], line].concat());
            changed(&line.arguments, live.clone())
        };
        assert_eq!(changed(&[]), Ok(live.clone()));
        let again = changed(&["--stream-packets", "9"]).expect("it is right");
        let expected = live.config.to_builder().stream_packets(9).build();
        assert_eq!(Ok(again.config.clone()), expected);
        assert!(again.config.takes_marks() && again.config.sub_ranges() == 7);
        assert!(changed(&["--stream-packets", "99"]).is_err());
    }
}
