//! A rate that is asked for, with the mechanism that keeps it and without.

use super::super::{DemoArguments, table};
use super::PACE;
use imtcp_sim::output;
use imtcp_sim::result::{PromiseResult, SlotPoint, SweepRow, SweepRun};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Sweep;
use std::error::Error;
use std::io::IsTerminal;

/// The view's width in columns, and the multiple of the required rate for which it stands.
const WIDTH: usize = 50;
const FULL_SCALE: f64 = 2.5;

/// What stands for the carriers in a row.
const MARKS: [char; 3] = ['o', 'r', 'c'];

/// Runs the cells of the built-in sweep and shows their slots side by side.
pub(super) fn show(arguments: &DemoArguments) -> Result<(), Box<dyn Error>> {
    let sweep = Sweep::load("demo-promise")?;
    say!("{}\n", sweep.title)?;
    let mut runs = Vec::new();
    for cell in sweep.cells(&[])? {
        let result = cell.scenario.run(arguments.seed, RunOptions::default())?;
        let mut promises = result.flows.into_iter().filter_map(|flow| flow.promise);
        runs.push(SweepRun {
            names: cell.names,
            seed: arguments.seed,
            promise: promises.next().ok_or("no slot ended")?,
        });
    }
    say!("    t  required  achieved  (|: required, o: imtcp, r: Reno, c: CUBIC)")?;
    let steered = &runs.first().ok_or("nothing was run")?.promise;
    for slot in &steered.slots {
        say!("{}", row(slot.t_s, steered, &runs))?;
        if std::io::stdout().is_terminal() {
            std::thread::sleep(PACE);
        }
    }
    say!("\n{}", comparison(&runs))?;
    let rows = SweepRow::of(&runs);
    output::sweep_files(&sweep, &runs, &rows, &arguments.out)?;
    let folder = arguments.out.display();
    say!(
        "In {folder}: {}-time.svg, the slots as a figure, and all of them as CSV",
        sweep.name
    )?;
    Ok(())
}

fn row(t_s: f64, steered: &PromiseResult, runs: &[SweepRun]) -> String {
    let mut bar = vec![' '; WIDTH + 1];
    bar[column(1.0)] = '|';
    let mut verdict = String::new();
    // The promise is drawn last, so that nothing hides it.
    for (run, mark) in runs.iter().zip(MARKS).rev() {
        let Some(slot) = beginning_near(&run.promise, t_s) else {
            continue;
        };
        bar[column(slot.achieved_bps as f64 / run.promise.required_bps as f64)] = mark;
        let rate = format!("{:8.2}", slot.achieved_bps as f64 / 1e6);
        verdict = format!("{rate} {}", word(slot));
    }
    let bar: String = bar.into_iter().collect();
    let required = steered.required_bps as f64 / 1e6;
    format!("{t_s:5.1} {required:8.2}  {verdict:30}  {}", bar.trim_end())
}

fn word(slot: &SlotPoint) -> String {
    match (slot.kept, slot.warned_s) {
        (true, _) => String::new(),
        (false, None) => "missed".to_owned(),
        (false, Some(left)) => format!("missed, told {left:.2} s ahead"),
    }
}

/// Slots of different carriers do not begin at the very same time.
fn beginning_near(promise: &PromiseResult, t_s: f64) -> Option<&SlotPoint> {
    let near = |slot: &&SlotPoint| (slot.t_s - t_s).abs() <= promise.per_s / 2.0;
    promise.slots.iter().find(near)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the view")]
fn column(share: f64) -> usize {
    ((share / FULL_SCALE).clamp(0.0, 1.0) * WIDTH as f64) as usize
}

fn comparison(runs: &[SweepRun]) -> comfy_table::Table {
    let mut rows = table([
        "slots kept",
        "alone",
        "beside eight",
        "least of them",
        "rivals lose of their fair share",
    ]);
    for run in runs {
        let promise = &run.promise;
        let kept = |beside: bool| {
            let all = || {
                promise
                    .slots
                    .iter()
                    .filter(|slot| (slot.rivals > 0) == beside)
            };
            format!(
                "{} of {}",
                all().filter(|slot| slot.kept).count(),
                all().count()
            )
        };
        let least = promise.slots.iter().map(|slot| slot.achieved_bps).min();
        let lost = promise
            .by_rivals
            .iter()
            .rev()
            .find_map(|beside| beside.lost_share);
        rows.add_row([
            run.names.join(" "),
            kept(false),
            kept(true),
            least.map_or("-".to_owned(), |bps| {
                format!("{:.2} Mbit/s", bps as f64 / 1e6)
            }),
            lost.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
        ]);
    }
    rows
}
