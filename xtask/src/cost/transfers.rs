//! One transfer after another, `imtcp` and CUBIC in turn.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::process::Process;
use super::report::{Bar, Report};
use super::{Stage, url};
use crate::testbed::{Network, median};

/// A transfer that takes longer has no end.
const PATIENCE: Duration = Duration::from_secs(300);

/// What clients print when all is done.
#[derive(Clone, Debug, Deserialize)]
pub struct Fetched {
    pub served: u64,
    pub failed: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub errors: Vec<String>,
}

/// What a transfer took.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    goodput_mbps: f64,
    cpu_s_per_gb: f64,
}

/// The last line of what clients print.
pub fn fetched(printed: &str) -> Result<Fetched> {
    let last = printed.lines().last().unwrap_or_default();
    crate::testbed::parse(last)
}

pub fn measure(stage: &Stage<'_>, report: &mut Report) -> Result<()> {
    let arguments = stage.arguments;
    stage.file("bulk", u64::from(arguments.megabytes) * 1_000_000)?;
    let network = stage.network(arguments.rate)?;
    say!("\n{network}\n")?;
    let controllers = ["cubic", "imtcp"];
    let mut pairs = Vec::new();
    for number in 1..=arguments.runs {
        // Whoever goes first changes, so that nothing that drifts favours one of them.
        let mut order = [0, 1];
        if number % 2 == 0 {
            order.reverse();
        }
        let mut pair = [None; 2];
        for which in order {
            let made = transfer(stage, &network, controllers[which], number)?;
            say!(
                "{}, run {number}: {:.2} Mbit/s, {:.3} s of processor time per GB",
                controllers[which],
                made.goodput_mbps,
                made.cpu_s_per_gb
            )?;
            pair[which] = Some(made);
        }
        if let [Some(cubic), Some(imtcp)] = pair {
            pairs.push((cubic, imtcp));
        }
    }
    tell(&pairs, report);
    Ok(())
}

fn tell(pairs: &[(Transfer, Transfer)], report: &mut Report) {
    let each = |of: fn(&Transfer) -> f64| {
        let each = pairs.iter().map(|(cubic, imtcp)| of(imtcp) / of(cubic));
        let each: Vec<_> = each.map(|ratio| format!("{:.1}", ratio * 100.0)).collect();
        each.join(", ")
    };
    let ratio = |of: fn(&Transfer) -> f64| {
        let each = pairs.iter().map(|(cubic, imtcp)| of(imtcp) / of(cubic));
        median(each).unwrap_or(f64::NAN) * 100.0
    };
    let middle =
        |of: fn(&(Transfer, Transfer)) -> f64| median(pairs.iter().map(of)).unwrap_or(f64::NAN);
    report.bar(
        "goodput beside CUBIC's, % (median of pairs)",
        ratio(|transfer| transfer.goodput_mbps),
        Bar::AtLeast(98.0),
        &format!(
            "{:.2} and {:.2} Mbit/s; pairs {}",
            middle(|pair| pair.1.goodput_mbps),
            middle(|pair| pair.0.goodput_mbps),
            each(|transfer| transfer.goodput_mbps)
        ),
    );
    report.bar(
        "processor time per GB beside CUBIC's, % (median of pairs)",
        ratio(|transfer| transfer.cpu_s_per_gb),
        Bar::AtMost(105.0),
        &format!(
            "{:.3} and {:.3} s; pairs {}",
            middle(|pair| pair.1.cpu_s_per_gb),
            middle(|pair| pair.0.cpu_s_per_gb),
            each(|transfer| transfer.cpu_s_per_gb)
        ),
    );
}

fn transfer(stage: &Stage<'_>, network: &Network, cc: &str, number: u32) -> Result<Transfer> {
    let log = |what: &str| format!("transfer-{cc}-{number}-{what}");
    let server = stage.server(network, &log("serve"), &["--cc", cc])?;
    let process = Process(server.id());
    let before = process.cpu()?;
    let client = stage.clients(network, &log("fetch"), &[&url("bulk")])?;
    let printed = client.wait_until_it_ends(PATIENCE)?;
    let took = process.cpu()? - before;
    server.end()?;
    let fetched = fetched(&printed)?;
    ensure!(
        fetched.failed == 0 && fetched.bytes > 0,
        "a transfer failed: {}",
        fetched.errors.first().context("without a reason")?
    );
    #[expect(clippy::cast_precision_loss, reason = "for a table")]
    let bytes = fetched.bytes as f64;
    Ok(Transfer {
        goodput_mbps: bytes * 8e-6 / fetched.seconds,
        cpu_s_per_gb: took.as_secs_f64() / (bytes * 1e-9),
    })
}
