//! `imtcp-sim survey --promise`: promises on paths that nobody chose.

use super::pool::{self, Failure};
use super::{SurveyArguments, stdout, survey::Clock};
use imtcp_sim::output;
use imtcp_sim::survey::promise::{Bar, Carrier, Promised, Row, Tally, Wish, run as carry, wish};
use imtcp_sim::survey::{Class, Path};
use std::error::Error;

/// How many of the worst paths are shown.
const SHOWN: usize = 8;

/// Runs all seeds of all classes; prints what it comes to.
///
/// # Errors
/// A bar is missed, or a file cannot be written.
pub fn run(classes: &[Class], arguments: &SurveyArguments) -> Result<(), Box<dyn Error>> {
    let mut surveyed = Vec::new();
    for class in classes {
        let all = survey(*class, arguments)?;
        let tally = Tally::of(&all);
        stdout::write(report(*class, &all, &tally))?;
        surveyed.push((*class, all, tally));
    }
    if let Some(file) = &arguments.json {
        output::promise_json(&surveyed, file)?;
    }
    if let Some(folder) = &arguments.out {
        output::promise_files(&surveyed, folder)?;
        say!("{}", folder.join("promise.html").display())?;
    }
    match surveyed.iter().filter(|(_, _, it)| !it.is_kept()).count() {
        0 => Ok(()),
        missed => Err(format!("bars are missed in {missed} of {} classes", surveyed.len()).into()),
    }
}

fn survey(class: Class, arguments: &SurveyArguments) -> Result<Vec<Promised>, Box<dyn Error>> {
    let mut jobs: Vec<(u64, Path, Wish)> = Vec::new();
    for seed in arguments.seeds.0.clone() {
        let path = class.draw(seed)?;
        if let Some(wish) = wish(&path, class.name(), seed)? {
            jobs.push((seed, path, wish));
        }
    }
    let carriers = match &arguments.carriers[..] {
        [] => Carrier::ALL,
        named => named,
    };
    let clock = Clock::new(class, jobs.len());
    let one = |index: usize| -> Result<Promised, Failure> {
        let (seed, path, wish) = &jobs[index];
        let promised = carry(path, wish, *seed, carriers, &arguments.overrides)?;
        clock.one_more();
        Ok(promised)
    };
    let all = pool::run_all(jobs.len(), usize::from(arguments.jobs), one);
    clock.end();
    let left_out = arguments.seeds.0.clone().count() - jobs.len();
    if left_out > 0 {
        say!(
            "{}: on {left_out} paths inelastic traffic leaves nothing in some periods, and \
             nothing is promised",
            class.name()
        )?;
    }
    all.map_err(|failure| failure.to_string().into())
}

fn report(class: Class, all: &[Promised], tally: &Tally) -> String {
    format!(
        "{}: promises on {} paths\n{}\n{}\nThe worst:\n{}\n",
        class.name(),
        all.len(),
        rows(&tally.rows),
        bars(&tally.bars),
        worst(all)
    )
}

fn rows(rows: &[Row]) -> comfy_table::Table {
    let mut table = super::table([
        "required / fair",
        "carrier",
        "paths",
        "slots",
        "kept %",
        "mean of paths",
        "p5 of required %",
        "own loss %",
        "rivals of left % (worst)",
        "rivals of due % (worst)",
        "queueing p95 ms",
    ]);
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let pair = |pair: Option<[f64; 2]>| {
        pair.map_or("-".to_owned(), |[middle, worst]| {
            format!("{} ({})", percent(middle), percent(worst))
        })
    };
    for row in rows {
        table.add_row([
            row.share.in_words().to_owned(),
            row.carrier.name().to_owned(),
            row.paths.to_string(),
            row.slots.to_string(),
            percent(row.kept),
            percent(row.kept_of_paths),
            percent(row.p5),
            format!("{:.2}", row.loss * 100.0),
            pair(row.of_left),
            pair(row.of_due),
            row.queueing_p95_ms
                .map_or("-".to_owned(), |ms| format!("{ms:.1}")),
        ]);
    }
    table
}

fn bars(bars: &[Bar]) -> comfy_table::Table {
    let mut table = super::table(["bar", "wanted", "found", ""]);
    for bar in bars {
        table.add_row([
            bar.name.clone(),
            bar.wanted.clone(),
            bar.found
                .map_or("-".to_owned(), |found| format!("{:.1} %", found * 100.0)),
            bar.in_words().to_owned(),
        ]);
    }
    table
}

fn worst(all: &[Promised]) -> comfy_table::Table {
    let mut table = super::table(["seed", "kept %", "CUBIC %", "path", "beside", "promise"]);
    table
        .set_content_arrangement(comfy_table::ContentArrangement::Dynamic)
        .set_width(150);
    for (one, kept) in Promised::worst_first(all).into_iter().take(SHOWN) {
        let [path, _] = one.facts.in_words();
        let cubic = one.kept(Carrier::Cubic);
        table.add_row([
            one.seed.to_string(),
            format!("{:.0}", kept * 100.0),
            cubic.map_or("-".to_owned(), |kept| format!("{:.0}", kept * 100.0)),
            path,
            one.facts.rivals_in_words(),
            one.wish.in_words(),
        ]);
    }
    table
}
