//! `imtcp-sim survey --estimates`: how right estimates are on paths that nobody chose.

use super::survey::on_each_path;
use super::{SurveyArguments, create, stdout};
use imtcp_sim::output::{self, EstimatePage};
use imtcp_sim::survey::estimate::{Measure, Surveyed, Tally, percent, run as read};
use imtcp_sim::survey::{Class, Path, Traces};
use std::error::Error;

/// How many of the worst paths are shown.
const SHOWN: usize = 8;

/// Runs all seeds of all classes; prints what it comes to.
///
/// # Errors
/// A bar is missed, or a file cannot be written.
pub fn run(
    classes: &[Class],
    arguments: &SurveyArguments,
    traces: Option<&Traces>,
) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = &arguments.out {
        create(folder)?;
    }
    let mut page = EstimatePage::default();
    let mut surveyed = Vec::new();
    for class in classes {
        let one = |path: &Path, seed| read(path, seed, arguments.observers);
        let (_, all) = on_each_path(*class, arguments, traces, one)?;
        let tally = Tally::of(&all);
        stdout::write(report(*class, &all, &tally))?;
        if let Some(folder) = &arguments.out {
            output::estimate_files(*class, &all, &tally, folder)?;
        }
        page.add(*class, &all, &tally);
        surveyed.push((*class, tally));
    }
    if let Some(file) = &arguments.json {
        output::estimate_json(&surveyed, file)?;
    }
    let in_folder = arguments.out.as_ref().map(|it| it.join("estimates.html"));
    for file in in_folder.iter().chain(&arguments.html) {
        page.write(file)?;
    }
    let missed = surveyed
        .iter()
        .filter(|(class, it)| !it.misses(*class).is_empty());
    match missed.count() {
        0 => Ok(()),
        missed => Err(format!("bars are missed in {missed} of {} classes", surveyed.len()).into()),
    }
}

fn report(class: Class, all: &[Surveyed], tally: &Tally) -> String {
    let misses = match &tally.misses(class)[..] {
        [] => "All bars are met.".to_owned(),
        missed => format!("Missed: {}.", missed.join(", ")),
    };
    format!(
        "{}: medians of {} paths; errors are shares of the capacity\n\
         {}\n{misses}\nThe worst:\n{}\n",
        class.name(),
        tally.paths,
        medians(class, tally),
        worst(all, tally)
    )
}

fn medians(class: Class, tally: &Tally) -> comfy_table::Table {
    let mut table = super::table(["", "bar"]);
    let readers = tally.columns.iter().map(|column| column.reader.name());
    table.set_header(["", "bar"].into_iter().chain(readers));
    for measure in Measure::all(class) {
        let mut row = vec![measure.name.to_owned(), measure.bar.clone()];
        let columns = tally.columns.iter();
        row.extend(columns.map(|column| measure.of(&column.medians)));
        table.add_row(row);
    }
    table
}

/// The paths with the largest errors and with the least reach.
fn worst(all: &[Surveyed], tally: &Tally) -> comfy_table::Table {
    let mut table = super::table([
        "seed",
        "p50 %",
        "p90 %",
        "bias %",
        "reach %",
        "coverage %",
        "false %",
        "path",
        "sends",
    ]);
    table
        .set_content_arrangement(comfy_table::ContentArrangement::Dynamic)
        .set_width(150);
    let number = |value: Option<f64>| value.map_or("-".to_owned(), percent);
    for (one, score) in tally.worst_first(all).into_iter().take(SHOWN) {
        let [path, sends] = one.facts.in_words();
        table.add_row([
            one.seed.to_string(),
            number(score.error_p50),
            number(score.error_p90),
            number(score.bias),
            percent(score.reach),
            number(score.coverage),
            percent(score.false_confidence),
            path,
            sends,
        ]);
    }
    table
}
