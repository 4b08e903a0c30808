//! One play: the server, the competing downloads, the browser, and what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::checks::{Check, of_etp, of_play};
use super::seen::{Seen, ServerLog, slots};
use super::tools::{self, Tools};
use super::{Arguments, LINK_MBPS};
use crate::testbed::{Launcher, Network, Running, parse};

/// Content in a full packet, and the Ethernet frame around it that the token bucket counts: 1350
/// bytes of QUIC, of which a header without a connection ID, a tag, and the header of a STREAM
/// frame take about 35; and 42 bytes of UDP, IPv4 and Ethernet.
const CONTENT: f64 = 1315.0;
const FRAME: f64 = 1392.0;

/// The server's name. Nobody is asked for it.
const NAME: &str = "video.test";

/// The rivals have the path for themselves first.
const HEAD_START: Duration = Duration::from_secs(2);

/// A minute of picture is encoded in seconds, where the machine has nothing else to do.
const ENCODING: Duration = Duration::from_secs(600);

/// Beside its title a browser needs time to begin, and waits for stalls.
const PATIENCE: Duration = Duration::from_secs(90);

/// The title is longer than what is played of it, so that the player has something to fetch to the
/// end. Twice as much as it keeps ahead.
const REST_S: u32 = 24;

/// The browser's priority: above all programs without real-time priority, below the server's.
const BROWSER_PRIORITY: &str = "5";

/// What all plays have in common.
pub struct Stage<'a> {
    pub arguments: &'a Arguments,
    pub tools: &'a Tools,
    /// The folder with the players.
    pub packages: &'a Path,
    pub network: &'a Network,
    pub launcher: &'a Launcher,
    pub scratch: &'a Path,
}

/// A play.
pub struct What {
    /// `dash` or `shaka`.
    pub player: &'static str,
    /// Whether its choice goes by CMSD.
    pub wants_cmsd: bool,
    /// Downloads beside it.
    pub flows: u32,
}

impl Stage<'_> {
    fn text(&self, name: &str) -> String {
        self.scratch.join(name).display().to_string()
    }

    /// Two bit rates: the one that is asked for, and a lower one that a player could flee to.
    pub fn make_title(&self) -> Result<()> {
        let (folder, rate) = (self.text("title"), self.arguments.rate * 1000);
        let length = format!("{} s", self.arguments.seconds + REST_S);
        let rates = format!("{} kbit/s,{rate} kbit/s", rate / 2);
        let line = [
            "imtcp-title",
            &folder,
            "--length",
            &length,
            "--rates",
            &rates,
        ];
        let log = self.scratch.join("make-title");
        let making = self.launcher.start_outside(&log, &line)?;
        making.wait_until_it_ends(ENCODING).context("no title")?;
        tools::furnish(&self.scratch.join("title"), self.packages)
    }

    /// Plays, and tells what came of it. Returns how many checks failed.
    pub fn play(&self, what: &What) -> Result<usize> {
        let log = |name: &str| {
            let (player, flows) = (what.player, what.flows);
            self.scratch.join(format!("{player}-{flows}-{name}"))
        };
        let files = [log("slots.csv"), log("estimates.csv")];
        let mut server = self.serve(&log("serve"), &files)?;
        server.wait_until_it_listens()?;
        let rivals = (what.flows > 0).then(|| self.rivals(what.flows, &log));
        let rivals = rivals.transpose()?;
        let browser = self.browser(what, &log("browser"))?;
        let bound = Duration::from_secs(u64::from(self.arguments.seconds)) * 2 + PATIENCE;
        let printed = browser.wait_until_it_ends(bound)?;
        let received = rivals.map(end_rivals).transpose()?;
        server.end()?;
        let seen: Seen = parse(&printed)?;
        let server_log = ServerLog::read(&read(&log("serve").with_extension("err"))?)?;
        let slots = slots(&fs::read_to_string(&files[0]).unwrap_or_default());
        tell(what, &seen, &server_log, slots, received.as_deref())?;
        self.check(what, &seen, &server_log)
    }

    fn check(&self, what: &What, seen: &Seen, log: &ServerLog) -> Result<usize> {
        let floor_kbps = f64::from(self.arguments.rate * 1000);
        let mut checks = of_play(seen, log, f64::from(self.arguments.seconds), floor_kbps);
        if what.flows == 0 {
            checks.push(of_etp(seen, f64::from(LINK_MBPS) * CONTENT / FRAME));
        }
        for Check { holds, claim } in &checks {
            let mark = if *holds { "ok    " } else { "FAILED" };
            say!("  {mark}  {claim}")?;
        }
        say!("")?;
        Ok(checks.iter().filter(|check| !check.holds).count())
    }

    fn serve(&self, log: &Path, [slots, estimates]: &[PathBuf; 2]) -> Result<Running> {
        let listen = format!("{}:4433", Network::SERVER);
        let (title, tls) = (self.text("title"), self.text("tls"));
        let (slots, estimates) = (slots.display().to_string(), estimates.display().to_string());
        let mut line = vec!["imtcp-serve", "--root", &title, "--tls-dir", &tls];
        line.extend([
            "--listen",
            &listen,
            "--cc",
            &self.arguments.cc,
            "--log",
            "json",
        ]);
        if self.arguments.cc.starts_with("imtcp") {
            line.extend(["--slots", &slots, "--estimates", &estimates]);
        }
        self.launcher.start(self.network.server(), log, &line)
    }

    fn browser(&self, what: &What, log: &Path) -> Result<Running> {
        let (rate, cmsd) = (self.arguments.rate * 1000, u8::from(what.wants_cmsd));
        let page = format!("https://{NAME}:4433/play.html?player={}", what.player);
        let seconds = self.arguments.seconds;
        let asked = json!({
            "chromium": self.tools.chromium,
            "packages": self.packages,
            "url": format!("{page}&manifest=manifest.mpd&floor={rate}&cmsd={cmsd}"),
            "address": Network::SERVER,
            "certificate": self.scratch.join("tls/cert.pem"),
            "seconds": seconds,
            "patience": seconds * 2,
        });
        let (asked, driver) = (asked.to_string(), tools::sources().join("drive.mjs"));
        let (driver, node) = (
            driver.display().to_string(),
            self.tools.node.display().to_string(),
        );
        let chrt = self
            .tools
            .chrt
            .as_ref()
            .map(|chrt| chrt.display().to_string());
        let mut line = Vec::new();
        // Without one, whatever else this machine does delays acknowledgements, and so spoils what
        // is measured.
        if let Some(chrt) = chrt.as_deref().filter(|_| self.launcher.has_real_time()) {
            line.extend([chrt, "--rr", BROWSER_PRIORITY]);
        }
        line.extend([&*node, &*driver, &*asked]);
        self.launcher
            .start_at_ordinary_priority(self.network.client(), log, &line)
    }

    fn rivals(&self, flows: u32, log: &dyn Fn(&str) -> PathBuf) -> Result<(Running, Running)> {
        let address = format!("{}:9", Network::CLIENT);
        let line = ["crosstraffic", "tcp-receive", "--listen", &address];
        let client = self.network.client();
        let mut receiver = self.launcher.start(client, &log("receive"), &line)?;
        receiver.wait_until_it_listens()?;
        let flows = flows.to_string();
        let mut line = vec!["crosstraffic", "tcp-send", "--to", &address];
        line.extend(["--flows", &flows]);
        let server = self.network.server();
        let mut sender = self.launcher.start(server, &log("send"), &line)?;
        sleep(HEAD_START);
        sender.ensure_it_runs()?;
        Ok((sender, receiver))
    }
}

/// The sender goes first. If the receiver went first, the sender would be reset.
fn end_rivals((sender, receiver): (Running, Running)) -> Result<String> {
    sender.stop()?;
    receiver.stop()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn tell(
    what: &What,
    seen: &Seen,
    log: &ServerLog,
    (kept, missed): (usize, usize),
    received: Option<&str>,
) -> Result<()> {
    let beside = match what.flows {
        0 => "alone".to_owned(),
        1 => "beside a download over TCP".to_owned(),
        flows => format!("beside {flows} downloads over TCP"),
    };
    let cmsd = if what.wants_cmsd { ", by CMSD" } else { "" };
    let browser = seen.version.as_deref().unwrap_or("?");
    say!("{} in Chromium {browser}, {beside}{cmsd}", what.player)?;
    let own = seen
        .player
        .iter()
        .map(|(key, value)| format!("{key} {value}"));
    say!("  player: {}", own.collect::<Vec<_>>().join(", "))?;
    let began = seen.began.unwrap_or(f64::INFINITY);
    let shown = seen
        .bitrates
        .iter()
        .map(|shown| format!("{:.0}", shown.kbps));
    let shown = shown.collect::<Vec<_>>().join(", ");
    say!("  page: began after {began:.2} s; bit rates in kbit/s: {shown}")?;
    say!("  slots of the promise: {kept} kept, {missed} missed")?;
    for ended in &log.ended {
        say!("  server: {ended}")?;
    }
    if let Some(received) = received.filter(|received| !received.trim().is_empty()) {
        say!("  downloads: {}", received.trim())?;
    }
    Ok(())
}
