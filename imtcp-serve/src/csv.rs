//! Files of estimates and slots. Each line names its connection as its qlog and the log do.

use anyhow::{Context, Result};
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::promise::{Requirement, SlotReport, Status};
use imtcp_cc::units::Timestamp;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Lines that wait for the disk. Subscribers must not wait, so what comes beyond is counted and
/// lost.
const WAITING: usize = 65_536;

/// The columns of the file of estimates.
pub const ESTIMATES: &str =
    "connection,seconds,estimator,available_bps,low_bps,high_bps,window_s,flags";

/// The columns of the file of slots.
pub const SLOTS: &str = "connection,event,what,slot,start_s,end_s,required_bps,achieved_bps,\
    warned_s,can_promise,cause,shortfall_bytes,note,seconds";

/// The note at a slot that was a try to let the player climb.
pub const TRY: &str = "try";

/// A file that is written by a thread of its own.
#[derive(Debug)]
pub struct CsvFile {
    lines: SyncSender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
    lost: AtomicU64,
}

#[derive(Debug)]
enum Message {
    Line(String),
    End,
}

impl CsvFile {
    /// Makes the file anew, with a line of columns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, columns: &str) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let (lines, taken) = sync_channel(WAITING);
        let (name, columns) = (path.display().to_string(), columns.to_owned());
        let writer = thread::spawn(move || {
            if let Err(error) = write(file, &columns, &taken) {
                tracing::error!(file = name, %error, "no more lines are written");
            }
        });
        Ok(Self {
            lines,
            writer: Mutex::new(Some(writer)),
            lost: AtomicU64::new(0),
        })
    }

    /// Adds a line. Never waits.
    pub fn line(&self, line: String) {
        if self.lines.try_send(Message::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written. Lines that come later are lost.
    pub fn finish(&self) {
        let writer = self.writer.lock().ok().and_then(|mut writer| writer.take());
        if let Some(writer) = writer {
            // If the writer has given up, it has told why.
            let _ = self.lines.send(Message::End);
            let _ = writer.join();
        }
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "lines did not reach the file");
        }
    }
}

/// Flushes whenever nothing waits, so that the file can be followed.
fn write(file: File, columns: &str, lines: &Receiver<Message>) -> std::io::Result<()> {
    let mut file = BufWriter::new(file);
    writeln!(file, "{columns}")?;
    file.flush()?;
    while let Ok(Message::Line(line)) = lines.recv() {
        writeln!(file, "{line}")?;
        while let Ok(message) = lines.try_recv() {
            match message {
                Message::Line(line) => writeln!(file, "{line}")?,
                Message::End => return file.flush(),
            }
        }
        file.flush()?;
    }
    Ok(())
}

/// Writes the estimates of one connection's path.
#[derive(Debug)]
pub struct Estimates {
    connection: Arc<str>,
    file: Arc<CsvFile>,
}

impl Estimates {
    /// Of this connection, to this file.
    pub fn new(connection: Arc<str>, file: Arc<CsvFile>) -> Self {
        Self { connection, file }
    }
}

impl Subscriber for Estimates {
    fn on_event(&self, _: Timestamp, event: &Event) {
        if let Event::EstimateUpdated {
            estimator,
            estimate,
        } = event
        {
            self.file.line(format!(
                "{},{:.6},{estimator},{},{},{},{:.6},{}",
                self.connection,
                estimate.at.as_secs_f64(),
                estimate.available.as_bps(),
                estimate.low.as_bps(),
                estimate.high.as_bps(),
                estimate.window.as_secs_f64(),
                estimate.flags.names().collect::<Vec<_>>().join("+"),
            ));
        }
    }
}

/// Something about a promise.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'e> {
    /// It came into force, with the probability that it is kept if that is known.
    Required(&'e Requirement, Option<f64>),
    /// The probability became known after it came into force.
    Foreseen(&'e Requirement, f64),
    /// Nothing is required any more.
    Withdrawn,
    /// The path does not allow it, and why.
    Refused(&'e Requirement, &'e str),
    /// Its status changed.
    Status(Status),
    /// A slot ended, with the probability that the next one is kept; and whether it was a try to
    /// let the player climb.
    Slot(&'e SlotReport, Option<f64>, bool),
}

/// The line of the file of slots, written so long after the connection began.
pub fn slots_line(connection: &str, at: Duration, entry: &Entry<'_>) -> String {
    let probability = |known: &Option<f64>| known.map_or(String::new(), |p| format!("{p:.3}"));
    let required = |what: &str, requirement: &Requirement, known: &Option<f64>, note: &str| {
        let (demand, rate) = (requirement.wanted().name(), requirement.rate().as_bps());
        let note = note.replace(',', ";");
        format!(
            "{what},{demand},,,,{rate},,,{},,,{note}",
            probability(known)
        )
    };
    let rest = match entry {
        Entry::Required(requirement, known) => required("required", requirement, known, ""),
        Entry::Foreseen(requirement, known) => required("foreseen", requirement, &Some(*known), ""),
        Entry::Withdrawn => "withdrawn,,,,,,,,,,,".to_owned(),
        Entry::Refused(requirement, why) => required("refused", requirement, &None, why),
        Entry::Status(status) => {
            let (cause, shortfall) = match status {
                Status::AtRisk { cause, shortfall } | Status::Broken { cause, shortfall } => {
                    (cause.name(), shortfall.get().to_string())
                }
                _ => ("", String::new()),
            };
            format!("status,{},,,,,,,,{cause},{shortfall},", status.name())
        }
        Entry::Slot(report, known, is_try) => {
            let notice = report.warned.map(|at| report.end.saturating_since(at));
            format!(
                "slot,{},{},{:.6},{:.6},{},{},{},{},,,{}",
                report.outcome.name(),
                report.index,
                report.start.as_secs_f64(),
                report.end.as_secs_f64(),
                report.required.as_bps(),
                report.achieved.as_bps(),
                notice.map_or(String::new(), |span| format!("{:.6}", span.as_secs_f64())),
                probability(known),
                if *is_try { TRY } else { "" },
            )
        }
    };
    format!("{connection},{rest},{:.3}", at.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::Estimate;
    use imtcp_cc::estimate::EstimatorKind;
    use imtcp_cc::promise::{Cause, Outcome};
    use imtcp_cc::units::{Bandwidth, Bytes};
    use imtcp_examples::requirement;
    use std::fs;

    #[test]
    fn every_line_has_the_columns() {
        let wanted = requirement::parse("8 Mbit/s per 2 s").expect("a requirement");
        let slot = SlotReport {
            index: 3,
            start: Timestamp::from_nanos(1),
            end: Timestamp::from_nanos(2),
            required: wanted.rate(),
            achieved: wanted.rate(),
            outcome: Outcome::Kept,
            warned: Some(Timestamp::from_nanos(1)),
        };
        let risk = Status::AtRisk {
            cause: Cause::Crowded,
            shortfall: Bytes::new(7),
        };
        for entry in [
            Entry::Required(&wanted, None),
            Entry::Foreseen(&wanted, 0.5),
            Entry::Withdrawn,
            Entry::Refused(&wanted, "a, b"),
            Entry::Status(Status::Kept),
            Entry::Status(risk),
            Entry::Slot(&slot, Some(0.9), false),
            Entry::Slot(&slot, None, true),
        ] {
            let line = slots_line("0a1b", Duration::from_millis(1500), &entry);
            assert_eq!(line.split(',').count(), SLOTS.split(',').count(), "{line}");
        }
    }

    #[test]
    fn estimates_reach_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("estimates.csv");
        let file = Arc::new(CsvFile::create(&path, ESTIMATES).expect("created"));
        let estimates = Estimates::new(Arc::from("0a1b"), Arc::clone(&file));
        let estimate = Estimate {
            at: Timestamp::from_nanos(1_500_000_000),
            available: Bandwidth::from_mbps(20),
            low: Bandwidth::from_mbps(19),
            high: Bandwidth::from_mbps(21),
            window: Duration::from_millis(250),
            flags: imtcp_cc::Flags::default(),
        };
        let event = Event::EstimateUpdated {
            estimator: EstimatorKind::Statistical,
            estimate,
        };
        estimates.on_event(estimate.at, &event);
        file.finish();
        let text = fs::read_to_string(path).expect("written");
        let expected = "0a1b,1.500000,statistical,20000000,19000000,21000000,0.250000,";
        assert_eq!(text, format!("{ESTIMATES}\n{expected}\n"));
    }
}
