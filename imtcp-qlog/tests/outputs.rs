//! What the program does with its outputs: it destroys no input, and ends when nobody listens.

use imtcp_qlog::Log;
use imtcp_qlog::export::{CsvRows, export};
use imtcp_qlog::qvis;
use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As quiche writes it.
const LOG: &str = concat!(
    "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":",
    "\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"event_schemas\":",
    "[\"urn:ietf:params:qlog:events:quic-12\"]}}\n",
    "\x1e{\"time\":1.5,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":",
    "\"1RTT\"},\"raw\":{\"length\":1200}}}\n",
    "\x1e{\"time\":2.0,\"name\":\"quic:recovery_metrics_updated\",\"data\":{\"min_rtt\":7.5}}\n",
);

fn program(arguments: &[&str], files: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_imtcp-qlog"));
    command.args(arguments).args(files);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(unix)]
#[test]
fn an_output_that_is_the_input_is_refused_under_whatever_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("run.sqlog");
    fs::write(&log, LOG).expect("a file");
    let (link, hard) = (folder.path().join("link"), folder.path().join("hard"));
    std::os::unix::fs::symlink(&log, &link).expect("a link");
    fs::hard_link(&log, &hard).expect("a link");
    let other = folder.path().join("other.sqlog");
    fs::write(&other, LOG).expect("a file");
    for command in ["rewrite", "export", "qvis", "plot", "compare"] {
        for output in [&log, &link, &hard] {
            let mut files: Vec<&Path> = vec![&log];
            if command == "compare" {
                files.insert(0, &other);
            }
            let output = program(&[command, "-o"], &[output])
                .args(files)
                .output()
                .expect("the program runs");
            let said = said(&output);
            assert_eq!(output.status.code(), Some(1), "{command}: {said}");
            assert!(
                said.contains("this is the input") && said.contains("--output"),
                "{command}: {said}"
            );
            let after = fs::read_to_string(&log).expect("it is still there");
            assert_eq!(after, LOG, "{command} changed it");
        }
    }
    // The truth of a plot is an input, too.
    let truth = folder.path().join("truth.csv");
    fs::write(&truth, "t_s,truth_bps\n0,1\n").expect("a file");
    let output = program(&["plot", "--truth"], &[&truth, &log])
        .args(["-o".as_ref(), truth.as_os_str()])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(fs::read_to_string(&truth).is_ok_and(|text| text.starts_with("t_s")));
}

/// Standard output is a pipe that nobody reads.
fn unheard(arguments: &[&str], files: &[&Path]) -> Output {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    program(arguments, files)
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("the program runs")
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("run.sqlog");
    fs::write(&log, LOG).expect("a file");
    let other = folder.path().join("other.sqlog");
    fs::write(&other, LOG).expect("a file");
    for (arguments, files) in [
        (&["summary", "--csv"][..], &[log.as_path()][..]),
        (&["export"], &[&log]),
        (&["compare"], &[&log, &other]),
        (&["compare", "--csv"], &[&log, &other]),
    ] {
        let output = unheard(arguments, files);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{arguments:?}: {}",
            said(&output)
        );
    }
}

/// Counts what was read of a log without an end.
struct Endless {
    record: Cursor<Vec<u8>>,
    read: Arc<AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.record.read(buffer)?;
        self.read.fetch_add(read, Ordering::Relaxed);
        if read == 0 && self.read.load(Ordering::Relaxed) < MOST_READ {
            self.record.set_position(0);
            return self.read(buffer);
        }
        Ok(read)
    }
}

/// Here even an endless log ends, or the tests would not.
const MOST_READ: usize = 50_000_000;

/// Takes so many bytes, and no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => self.0 = left,
            None => return Err(io::Error::from(io::ErrorKind::StorageFull)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_more_is_read_once_the_output_has_failed() {
    let endless = || {
        let read = Arc::new(AtomicUsize::new(0));
        let source = Endless {
            record: Cursor::new(LOG.as_bytes().to_vec()),
            read: read.clone(),
        };
        let log = Log::new(source, Path::new("endless")).expect("a log");
        (log, read)
    };
    let (mut log, read) = endless();
    let rows = CsvRows::new(Full(20_000)).expect("there is room");
    let outcome = export(&mut log, rows).expect("the log can be read");
    assert!(outcome.is_err());
    assert!(read.load(Ordering::Relaxed) < 2_000_000, "{read:?}");
    let (mut log, read) = endless();
    let outcome = qvis::write(&mut log, 0.0..=1e9, Full(20_000)).expect("the log can be read");
    assert!(outcome.is_err());
    assert!(read.load(Ordering::Relaxed) < 2_000_000, "{read:?}");
}

fn rewrite(input: &[u8], options: &[&str]) -> (Output, Option<Vec<u8>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("raw"), folder.path().join("new"));
    fs::write(&from, input).expect("a file");
    let output = program(&["rewrite", "--compression", "none"], &[&from])
        .args(options)
        .args(["--output".as_ref(), to.as_os_str()])
        .output()
        .expect("the program runs");
    (output, fs::read(to).ok())
}

#[test]
fn only_quiches_sequences_are_rewritten() {
    let lines = LOG.replace('\x1e', "");
    let object = concat!(
        "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":",
        "[{\"time\":0,\"name\":\"transport:packet_sent\",\"data\":{}}]}]}"
    );
    let other = LOG.replace("JSON-SEQ", "application/qlog+json-seq");
    let (_, headless) = LOG.split_once('\n').expect("lines");
    for input in [lines.as_str(), object, &other, headless] {
        let (output, new) = rewrite(input.as_bytes(), &[]);
        let said = said(&output);
        assert_eq!((output.status.code(), new), (Some(1), None), "{said}");
        assert!(
            said.contains("this is not a log as quiche writes it; give quiche's own .sqlog"),
            "{said}"
        );
    }
    let (output, _) = rewrite(b"\x7fELF", &[]);
    assert!(said(&output).contains("this is not a qlog"));
}

#[test]
fn what_was_rewritten_can_become_smaller_but_its_rates_are_not_taken_for_bytes_again() {
    let (output, once) = rewrite(LOG.as_bytes(), &["--quiches-controller"]);
    assert!(output.status.success(), "{}", said(&output));
    let once = once.expect("it is written");
    let (output, twice) = rewrite(&once, &["--level", "events"]);
    assert!(output.status.success(), "{}", said(&output));
    let twice = String::from_utf8(twice.expect("it is written")).expect("text");
    assert!(
        !twice.contains("packet_sent") && twice.contains("min_rtt"),
        "{twice}"
    );
    let (output, _) = rewrite(&once, &["--quiches-controller"]);
    assert!(
        said(&output).contains("leave out --quiches-controller"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_log_may_come_from_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("new");
    let mut child = program(&["rewrite", "--compression", "none", "-o"], &[&to])
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("a pipe");
    // Byte by byte: a header need not come at once.
    for byte in LOG.as_bytes().chunks(1) {
        input.write_all(byte).expect("somebody reads");
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let (_, expected) = rewrite(LOG.as_bytes(), &[]);
    assert_eq!(fs::read(to).ok(), expected);
}

#[test]
fn a_compressed_log_that_is_cut_off_is_rewritten_as_far_as_it_goes() {
    // Of a length that no packing makes nothing of.
    let record = |number: u32| {
        let time = f64::from(number) + 1.0 / f64::from(number + 1);
        format!("\x1e{{\"time\":{time},\"name\":\"quic:packet_lost\",\"data\":{{}}}}\n")
    };
    let log = LOG.to_owned() + &(10..20_000).map(record).collect::<String>();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(log.as_bytes()).expect("memory takes it");
    let whole = gzip.finish().expect("memory takes it");
    let (output, new) = rewrite(&whole[..whole.len() / 2], &[]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("is cut off; what came before was rewritten"),
        "{said}"
    );
    let new = String::from_utf8(new.expect("it is written")).expect("text");
    let count = new.lines().count();
    assert!((5000..15_000).contains(&count), "{count}");
    let mut damaged = whole;
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    let (output, _) = rewrite(&damaged, &[]);
    assert!(!output.status.success());
}
