//! `imtcp-qlog qvis`.

use clap::Args;
use imtcp_qlog::qvis::{self, MOST_BYTES};
use std::error::Error;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog.
    file: PathBuf,
    /// Where the result goes [default: beside the qlog]. qvis wants the ending .sqlog.
    #[arg(long, short, value_name = "SQLOG")]
    output: Option<PathBuf>,
    /// Leave out what was before, in seconds.
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = from)]
    from: f64,
    /// Leave out what was after, in seconds.
    #[arg(long, value_name = "S", default_value_t = f64::INFINITY, hide_default_value = true)]
    #[arg(value_parser = to)]
    to: f64,
}

/// What both ends of the part are to be.
const TIME: &str = "this is no time; write seconds, such as 2.5";

fn from(text: &str) -> Result<f64, &'static str> {
    to(text).and_then(|time| {
        if time.is_finite() {
            Ok(time)
        } else {
            Err(TIME)
        }
    })
}

/// A log may end at any time, so that `inf` is one.
fn to(text: &str) -> Result<f64, &'static str> {
    let time = text.trim().parse::<f64>();
    time.ok()
        .filter(|time| *time > f64::NEG_INFINITY)
        .ok_or(TIME)
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let (from, to) = (arguments.from, arguments.to);
    if from > to {
        return Err(format!(
            "--from {from} --to {to}: the part ends before it begins; let --to be the later"
        )
        .into());
    }
    let mut log = super::open(&arguments.file, false)?;
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => super::beside(&arguments.file, "-qvis.sqlog"),
    };
    let file = super::create(&[&arguments.file], &output)?;
    let times = from * 1e3..=to * 1e3;
    let written = qvis::write(&mut log, times, file)?.map_err(super::failed(&output))?;
    super::warn(&log);
    eprintln!("wrote {}: {} events", output.display(), written.events);
    if written.bytes > MOST_BYTES {
        eprintln!(
            "warning: {}: qvis does not open files beyond {} MB; this one has {} MB. Choose a part \
             with --from and --to",
            output.display(),
            MOST_BYTES / 1_000_000,
            written.bytes / 1_000_000
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_lies_between_two_times() {
        assert_eq!((from("2.5"), to("2.5")), (Ok(2.5), Ok(2.5)));
        assert_eq!(to("inf"), Ok(f64::INFINITY));
        for text in ["nan", "inf", "-inf", "soon", ""] {
            assert_eq!(from(text), Err(TIME), "{text}");
        }
        for text in ["nan", "-inf", "late"] {
            assert_eq!(to(text), Err(TIME), "{text}");
        }
        let (file, output) = (PathBuf::from("no.sqlog"), None);
        let backwards = Arguments {
            file,
            output,
            from: 5.0,
            to: 1.0,
        };
        let error = run(&backwards)
            .expect_err("it ends before it begins")
            .to_string();
        assert!(
            error.starts_with("--from 5 --to 1: the part ends"),
            "{error}"
        );
    }
}
