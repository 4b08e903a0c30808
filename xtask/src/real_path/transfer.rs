//! One transfer over an emulated path, and what both ends and the path say of it.

#![expect(clippy::disallowed_methods, reason = "estimates carry real time")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::accuracy::Accuracy;
use super::cells::{Cell, Source};
use super::emulator::Report;
use super::results::{Packets, Row};
use super::rivals::Flows;
use crate::testbed::{Launcher, Namespace, Running, parse};
use crate::testbed::{arrivals, estimates};

/// The time that the handshake and the end take, beyond the transfer itself.
const PATIENCE: Duration = Duration::from_secs(15);

/// The file that is served, more than any transfer takes. It has no blocks on the disk.
const FILE: &str = "big";
const FILE_BYTES: u64 = 64 << 30;

/// The server listens here.
const PORT: u16 = 4433;

/// The kernel's flows listen here: the rivals, and one that is compared with the controllers.
const RIVALS_PORT: u16 = 9;
const KERNEL_PORT: u16 = 10;

/// What the newcomers of these names require.
const PROMISES: [(&str, &str); 2] = [
    ("promise", "8 Mbit/s per 2 s"),
    ("promise-exactly", "exactly 8 Mbit/s per 2 s"),
];
/// The period and the rate of these promises.
pub const PERIOD: Duration = Duration::from_secs(2);
pub const REQUIRED_BPS: f64 = 8e6;

/// The name of the kernel's CUBIC in the place of a controller.
const KERNEL: &str = "kernel";

/// Everybody that a transfer can be made with, by name.
pub const NEWCOMERS: [&str; 8] = [
    KERNEL,
    PROMISES[0].0,
    PROMISES[1].0,
    "imtcp",
    "imtcp-off",
    "reno",
    "cubic",
    "bbr2",
];

/// Who comes when the rivals have had their head start.
enum Newcomer<'a> {
    /// One more of the kernel's flows.
    Kernel,
    /// A server with a controller of ours or quiche's.
    Server {
        controller: &'a str,
        promise: Option<&'static str>,
    },
}

impl<'a> Newcomer<'a> {
    fn named(name: &'a str) -> Self {
        if name == KERNEL {
            return Self::Kernel;
        }
        let promise = PROMISES.iter().find(|(known, _)| *known == name);
        let promise = promise.map(|(_, required)| *required);
        let controller = promise.map_or(name, |_| "imtcp");
        Self::Server {
            controller,
            promise,
        }
    }
}

/// What a server and a client of the newcomer do.
struct Download<'a> {
    cell: &'a Cell,
    span: Duration,
    controller: &'a str,
    /// Further options of the server.
    options: &'a [&'a str],
}

fn url() -> String {
    format!("https://{}:{PORT}/{FILE}", Bench::SERVER)
}

/// Where transfers are made.
pub struct Bench<'a> {
    launcher: &'a Launcher,
    server: Namespace,
    client: Namespace,
    /// For files and logs.
    scratch: PathBuf,
    /// The folder that is served.
    root: PathBuf,
    /// The client, if it is another than `fetch`.
    client_line: Option<&'a str>,
    /// Where qlogs are kept, if they are.
    record: Option<PathBuf>,
}

/// What `fetch --json` prints, as far as it is of interest here.
#[derive(Deserialize)]
struct Fetched {
    goodput_bps: f64,
}

/// What `serve --stats --json` prints, as far as it is of interest here.
#[derive(Deserialize)]
struct Served {
    #[serde(flatten)]
    packets: Packets,
    acknowledged_bytes: u64,
    longest_connection_s: f64,
}

impl<'a> Bench<'a> {
    /// The server's address, from a block for tests between networks (RFC 2544).
    pub const SERVER: &'static str = "198.18.0.1";
    /// The client's address.
    pub const CLIENT: &'static str = "198.18.0.2";

    /// One bench of several, with files and logs in `scratch`.
    pub fn new(
        launcher: &'a Launcher,
        scratch: &Path,
        lane: usize,
        client_line: Option<&'a str>,
        record: Option<&Path>,
    ) -> Result<Self> {
        let root = scratch.join("root");
        let own = scratch.join(format!("lane-{lane}"));
        let record = record.map(Path::to_path_buf);
        for folder in [&root, &own].into_iter().chain(&record) {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let path = root.join(FILE);
        let file = File::create(&path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        file.set_len(FILE_BYTES)?;
        Ok(Self {
            launcher,
            server: Namespace::create("path", &format!("server{lane}"))?,
            client: Namespace::create("path", &format!("client{lane}"))?,
            scratch: own,
            root,
            client_line,
            record,
        })
    }

    /// Makes one transfer. What goes wrong in it is a result too.
    pub fn run(
        &self,
        cell: &Cell,
        controller: &str,
        run: u32,
        [head_start, span]: [Duration; 2],
    ) -> Result<Row> {
        let mut row = Row::new(cell.to_string(), controller, run);
        let emulator = self.emulator(cell)?;
        if let Err(error) = self.transfer(cell, [head_start, span], &mut row) {
            self.launcher.ensure_not_interrupted()?;
            row.error = Some(format!("{error:#}"));
        }
        row.path = Some(parse::<Report>(&emulator.stop()?)?);
        Ok(row)
    }

    fn transfer(&self, cell: &Cell, spans: [Duration; 2], row: &mut Row) -> Result<()> {
        let [head_start, span] = spans;
        let rivals = match cell.rivals {
            0 => None,
            count => Some(self.flows(RIVALS_PORT, count, head_start)?),
        };
        let name = row.controller.clone();
        match Newcomer::named(&name) {
            Newcomer::Kernel => {
                rivals.as_ref().map_or(Ok(()), Flows::count_anew)?;
                let newcomer = self.flows(KERNEL_PORT, 1, span)?;
                row.rivals_bps = rivals.map_or(Ok(0.0), Flows::stop)?;
                row.goodput_bps = newcomer.stop()?;
            }
            Newcomer::Server {
                controller,
                promise,
            } => {
                let mut options = Vec::new();
                options.extend(promise.map(|promise| ["--promise", promise]));
                let frames = cell.source.frames();
                options.extend(frames.as_deref().map(|frames| ["--frames", frames]));
                let download = Download {
                    cell,
                    span,
                    controller,
                    options: options.as_flattened(),
                };
                self.download(&download, rivals, row)?;
            }
        }
        Ok(())
    }

    /// The rivals' goodput counts from the client's start to its end, as the client's own does.
    fn download(
        &self,
        download: &Download<'_>,
        rivals: Option<Flows<'_>>,
        row: &mut Row,
    ) -> Result<()> {
        let &Download { cell, span, .. } = download;
        let estimates = self.scratch.join("estimates.csv");
        let server = self.serve(download.controller, download.options, &estimates)?;
        rivals.as_ref().map_or(Ok(()), Flows::count_anew)?;
        let listened = Instant::now();
        let fetched = match self.client_line {
            None => Some(self.fetch(cell, span)?),
            Some(line) => {
                self.fetch_with(line, span)?;
                None
            }
        };
        let took = listened.elapsed().as_secs_f64();
        row.rivals_bps = rivals.map_or(Ok(0.0), Flows::stop)?;
        let served: Served = parse(&server.stop()?)?;
        row.packets = Some(served.packets);
        self.keep_qlog(row)?;
        let span_s = match fetched {
            Some(fetched) => {
                row.goodput_bps = fetched.goodput_bps;
                self.read_arrivals(cell, row)?;
                span.as_secs_f64()
            }
            None => {
                let span_s = served.longest_connection_s;
                let acknowledged = served.acknowledged_bytes as f64 * 8.0;
                row.goodput_bps = acknowledged / span_s.max(f64::MIN_POSITIVE);
                span_s
            }
        };
        if cell.rivals == 0 && row.controller.starts_with("imtcp") {
            let begin = took - span_s;
            let estimates = estimates::read(&estimates)?;
            let truth = cell.rate_bps() as f64;
            row.accuracy = Some(Accuracy::of(&estimates, truth, begin, took));
        }
        Ok(())
    }

    fn read_arrivals(&self, cell: &Cell, row: &mut Row) -> Result<()> {
        let arrivals = self.arrivals();
        if let Source::Frames {
            kilobytes,
            period_ms,
        } = cell.source
        {
            let [bytes, period] = [u64::from(kilobytes) * 1000, period_ms.into()];
            let period = Duration::from_millis(period);
            row.goodput_bps = arrivals::within_frames(&arrivals, bytes, period)?;
        }
        row.periods_bps = arrivals::by_period(&arrivals, PERIOD)?;
        Ok(())
    }

    /// Gives the qlog of the transfer the name of its row.
    fn keep_qlog(&self, row: &Row) -> Result<()> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        let name = format!("{}-{}-{}.sqlog", row.cell, row.controller, row.run);
        for log in fs::read_dir(self.qlogs())? {
            let (from, to) = (log?.path(), record.join(&name));
            // The two may lie on different disks.
            let moved = fs::copy(&from, &to).and_then(|_| fs::remove_file(&from));
            moved.with_context(|| format!("cannot keep the qlog {}", to.display()))?;
        }
        Ok(())
    }

    /// Flows of the kernel's that have run for so long.
    fn flows(&self, port: u16, count: u16, span: Duration) -> Result<Flows<'a>> {
        let ends = [&self.server, &self.client];
        let log = self.log("flows");
        let mut flows = Flows::start(self.launcher, ends, port, count, &log)?;
        flows.run(span)?;
        Ok(flows)
    }

    fn emulator(&self, cell: &Cell) -> Result<Running> {
        let numbers = [cell.rate_bps(), cell.delay_us(), cell.queue_bytes()];
        let [rate, delay, queue] = numbers.map(|number| number.to_string());
        let (server, client) = (self.server.name(), self.client.name());
        let mut line = vec!["path-emulator"];
        line.extend(["--left", server, Self::SERVER]);
        line.extend(["--right", client, Self::CLIENT]);
        line.extend(["--rate-bps", &rate, "--delay-us", &delay]);
        line.extend(["--queue-bytes", &queue]);
        let tick = cell.tick_us.to_string();
        line.extend(["--tick-us", &tick]);
        let mut emulator = self.launcher.start_own(&self.log("path"), &line)?;
        emulator.wait_until_it_listens()?;
        Ok(emulator)
    }

    fn serve(&self, controller: &str, options: &[&str], estimates: &Path) -> Result<Running> {
        let listen = format!("{}:{PORT}", Self::SERVER);
        let (root, estimates) = (self.root.to_string_lossy(), estimates.to_string_lossy());
        let mut line = vec!["serve", "--root", &root, "--listen", &listen];
        line.extend(["--controller", controller, "--estimates", &estimates]);
        line.extend(["--stats", "--json"]);
        line.extend(options);
        let qlogs = self.qlogs();
        let qlogs = qlogs.to_string_lossy();
        if self.record.is_some() {
            // A transfer that failed may have left one.
            let _ = fs::remove_dir_all(self.qlogs());
            line.extend(["--qlog", &qlogs, "--qlog-replay"]);
        }
        let log = self.log("serve");
        let mut server = self.launcher.start(self.server.name(), &log, &line)?;
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn fetch(&self, cell: &Cell, span: Duration) -> Result<Fetched> {
        let url = url();
        let seconds = span.as_secs().to_string();
        let mut line = vec!["fetch", &url, "--insecure", "--json", "--seconds", &seconds];
        let arrivals = self.arrivals();
        let arrivals = arrivals.to_string_lossy();
        line.extend(["--arrivals", &arrivals]);
        line.extend(cell.extensions.options());
        let client = self
            .launcher
            .start(self.client.name(), &self.log("fetch"), &line)?;
        parse(&client.wait_until_it_ends(span + PATIENCE)?)
    }

    /// Lets a client of somebody else's fetch for that long. It may end sooner by itself, and well.
    /// The line is the shell's as it is, so that it may set variables and have several commands.
    /// All of them are one process group, which is told to end when the time is over.
    fn fetch_with(&self, line: &str, span: Duration) -> Result<()> {
        let line = line.replace("{url}", &url());
        let line = line.replace("{host}", Self::SERVER);
        let line = line.replace("{port}", &PORT.to_string());
        let (log, program) = (self.log("client"), ["sh", "-c", &line]);
        let name = self.client.name();
        let mut client = self
            .launcher
            .start_at_ordinary_priority(name, &log, &program)?;
        match client.wait_for_code(span)? {
            // What the line has started in the background ends as well.
            None | Some(0) => client.end_or_kill(),
            Some(code) => {
                let said = fs::read_to_string(log.with_extension("err")).unwrap_or_default();
                bail!("the client ended with {code}: {}", said.trim())
            }
        }
    }

    /// How much has arrived at which time, in the latest transfer.
    fn arrivals(&self) -> PathBuf {
        self.scratch.join("arrivals.csv")
    }

    /// The qlog of the latest transfer, until it is kept.
    fn qlogs(&self) -> PathBuf {
        self.scratch.join("qlogs")
    }

    /// The logs of the latest transfer; what matters of them is in its row.
    fn log(&self, what: &str) -> PathBuf {
        self.scratch.join(what)
    }
}
