//! A measurement, live, and what it costs.

use super::super::{DemoArguments, table};
use super::PACE;
use imtcp_cc::EstimatorKind;
use imtcp_cc::config::Config;
use imtcp_cc::units::{Bandwidth, Timestamp};
use imtcp_sim::network::FlowId;
use imtcp_sim::output::{self, Idle};
use imtcp_sim::result::{FlowResult, RunResult, available_on};
use imtcp_sim::run::{Qlog, RunOptions, qlog_path};
use imtcp_sim::scenario::Scenario;
use imtcp_sim::simulation::Simulation;
use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

/// A row of the live view stands for so many bins: one second.
const BINS_A_ROW: usize = 10;
/// The live view's width in columns stands for this rate.
const WIDTH: usize = 50;
const FULL_SCALE: Bandwidth = Bandwidth::from_mbps(50);
/// The one flow of the scenario.
const MAIN: FlowId = FlowId(0);

/// Runs the built-in scenario twice, with and without measuring, and compares.
pub(super) fn show(arguments: &DemoArguments) -> Result<(), Box<dyn Error>> {
    let measuring = Scenario::load("demo", &[])?;
    let mut silent = measuring.clone();
    silent.name = "demo-without-measuring".to_owned();
    silent.flows[MAIN.0].imtcp = Config::builder().measurement(false).build()?;

    say!("{}\n", measuring.title)?;
    say!("    t    truth  estimate  (|: truth, o: estimate, in Mbit/s)")?;
    say!("                         {}", scale())?;
    let mut view = LiveView::new();
    let mut show = |simulation: &Simulation<'_>, now: Timestamp| view.show(simulation, now);
    let with = one(&measuring, arguments, Some(&mut show))?;
    view.said?;
    say!("\nThe same path and seed once more, without measuring ...")?;
    let without = one(&silent, arguments, None)?;
    say!("\n{}", comparison(&with, &without))?;
    let name = format!("demo-seed{}-main", arguments.seed);
    say!("In {}:", arguments.out.display())?;
    say!("  {name}.svg     estimate against truth")?;
    say!(
        "  {name}.sqlog   the server's qlog; `cargo run --release -p imtcp-qlog -- FILE` sums \
         it up"
    )?;
    say!("  and series as CSV, and the same of the run without measuring")?;
    Ok(())
}

/// A run and what its qlog says of packets without data.
struct Outcome {
    result: RunResult,
    idle: Idle,
}

impl Outcome {
    fn flow(&self) -> &FlowResult {
        &self.result.flows[MAIN.0]
    }
}

fn one(
    scenario: &Scenario,
    arguments: &DemoArguments,
    progress: Option<imtcp_sim::run::Progress<'_>>,
) -> Result<Outcome, Box<dyn Error>> {
    let folder: &Path = &arguments.out;
    let options = RunOptions {
        qlog: Some(Qlog::into_folder(folder)),
        progress,
    };
    let result = scenario.run(arguments.seed, options)?;
    output::series(&result, folder)?;
    output::figures(scenario, &result, folder)?;
    let qlog = qlog_path(folder, scenario, arguments.seed, &result.flows[MAIN.0].name);
    let idle = output::idle_packets(&qlog)?;
    Ok(Outcome { result, idle })
}

/// Prints a row for every second of the simulation, at a pace that can be watched.
struct LiveView {
    rows: usize,
    watched: bool,
    /// What became of the rows. The simulation goes on when they cannot be written.
    said: Result<(), String>,
}

impl LiveView {
    fn new() -> Self {
        Self {
            rows: 0,
            watched: std::io::stdout().is_terminal(),
            said: Ok(()),
        }
    }

    fn show(&mut self, simulation: &Simulation<'_>, now: Timestamp) {
        let seconds = usize::try_from(now.as_nanos() / 1_000_000_000).unwrap_or(usize::MAX);
        if seconds <= self.rows {
            return;
        }
        self.rows = seconds;
        let truth = last_second(simulation, seconds);
        let estimate = simulation.pairs()[MAIN.0]
            .tap()
            .last_estimate(EstimatorKind::Statistical);
        let row = row(seconds, truth, estimate.map(|estimate| estimate.available));
        if self.said.is_ok() {
            self.said = say!("{row}");
        }
        if self.watched {
            std::thread::sleep(PACE);
        }
    }
}

/// The mean truth of the last second on the scenario's one link.
fn last_second(simulation: &Simulation<'_>, seconds: usize) -> Bandwidth {
    let available = available_on(simulation, MAIN, 0, seconds * BINS_A_ROW);
    let last = available.iter().skip((seconds - 1) * BINS_A_ROW);
    let sum: f64 = last.map(|rate| rate.as_bps_f64()).sum();
    Bandwidth::from_bps_f64(sum / BINS_A_ROW as f64)
}

fn row(seconds: usize, truth: Bandwidth, estimate: Option<Bandwidth>) -> String {
    let mega = |rate: Bandwidth| format!("{:8.2}", rate.as_bps_f64() / 1e6);
    let mut bar = vec![' '; WIDTH + 1];
    bar[column(truth)] = '|';
    if let Some(estimate) = estimate {
        bar[column(estimate)] = 'o';
    }
    let bar: String = bar.into_iter().collect();
    let estimate = estimate.map_or("       -".to_owned(), mega);
    format!(
        "{seconds:5} {} {estimate}   {}",
        mega(truth),
        bar.trim_end()
    )
}

fn column(rate: Bandwidth) -> usize {
    let scaled = u128::from(rate.as_bps()) * WIDTH as u128 / u128::from(FULL_SCALE.as_bps());
    usize::try_from(scaled).unwrap_or(WIDTH).min(WIDTH)
}

/// Marks every ten Mbit/s.
fn scale() -> String {
    (0..=5)
        .map(|tens| format!("{:<10}", tens * 10))
        .collect::<String>()
        .trim_end()
        .to_owned()
}

fn comparison(with: &Outcome, without: &Outcome) -> comfy_table::Table {
    let mut table = table(["", "measuring", "not measuring"]);
    let mut add = |name: &str, value: &dyn Fn(&Outcome) -> String| {
        table.add_row([name.to_owned(), value(with), value(without)]);
    };
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |s| format!("{:.2} %", s * 100.0));
    add("goodput", &|run| {
        Bandwidth::from_bps(run.flow().goodput_bps).to_string()
    });
    add("median round trip", &|run| {
        run.flow()
            .rtt_ms
            .map_or("-".to_owned(), |rtt| format!("{:.1} ms", rtt.p50_ms))
    });
    add("mean error of the estimate", &|run| {
        percent(run.flow().score.mare)
    });
    add("intervals that hold the truth", &|run| {
        percent(run.flow().score.coverage95)
    });
    add("settled after each step", &|run| settled(run.flow()));
    add(
        "longest wait for a stream to fill, of what is allowed (p99)",
        &|run| {
            percent(
                run.flow()
                    .measuring
                    .and_then(|m| m.waits)
                    .map(|waits| waits.p99_of_limit),
            )
        },
    );
    add("extra bytes (packets without data)", &|run| {
        format!("{} ({})", run.idle.bytes, run.idle.packets)
    });
    table
}

fn settled(flow: &FlowResult) -> String {
    if flow.estimates.is_empty() {
        return "-".to_owned();
    }
    let settle = |settle: &Option<f64>| settle.map_or("never".to_owned(), |s| format!("{s:.2} s"));
    flow.score
        .settle_s
        .iter()
        .map(settle)
        .collect::<Vec<_>>()
        .join(", ")
}
