//! `imtcp-sim survey --shares`: what a bulk transfer would get, on paths that nobody chose.

use super::survey::on_each_path;
use super::{SurveyArguments, create, stdout};
use imtcp_sim::output;
use imtcp_sim::survey::share::{Score, Shared, Tally, run as read};
use imtcp_sim::survey::{Class, Path, Traces};
use std::error::Error;

/// How many of the worst paths are shown.
const SHOWN: usize = 8;

/// Runs all seeds of all classes; prints what it comes to.
///
/// # Errors
/// A file cannot be written.
pub fn run(
    classes: &[Class],
    arguments: &SurveyArguments,
    traces: Option<&Traces>,
) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = &arguments.out {
        create(folder)?;
    }
    let mut surveyed = Vec::new();
    for class in classes {
        let one = |path: &Path, seed| read(path, seed);
        let (_, all) = on_each_path(*class, arguments, traces, one)?;
        let tally = Tally::of(&all);
        stdout::write(report(*class, &all, &tally))?;
        if let Some(folder) = &arguments.out {
            output::share_files(*class, &all, folder)?;
        }
        surveyed.push((*class, tally));
    }
    if let Some(file) = &arguments.json {
        output::share_json(&surveyed, file)?;
    }
    Ok(())
}

fn report(class: Class, all: &[Shared], tally: &Tally) -> String {
    format!(
        "{}: what a bulk transfer would get, medians of {} paths\n{}\nThe worst:\n{}\n",
        class.name(),
        tally.paths,
        medians(tally),
        worst(all, tally)
    )
}

/// A score's number, as it is read.
type InWords = fn(&Score) -> String;

fn medians(tally: &Tally) -> comfy_table::Table {
    let names = tally.columns.iter().map(|column| column.reader.name());
    let mut table = super::table([""]);
    table.set_header(std::iter::once("").chain(names));
    let measures: [(&str, InWords); 5] = [
        ("off by a factor of", |it| number(it.factor_p50, 1.0, 2)),
        ("value over truth", |it| number(it.ratio_p50, 1.0, 2)),
        ("reach, %", |it| number(Some(it.reach), 100.0, 1)),
        ("coverage, mean, %", |it| number(it.coverage, 100.0, 1)),
        ("high over low", |it| number(it.width_p50, 1.0, 1)),
    ];
    for (name, of) in measures {
        let columns = tally.columns.iter();
        let values = columns.map(|column| of(&column.medians));
        table.add_row(std::iter::once(name.to_owned()).chain(values));
    }
    table
}

fn number(value: Option<f64>, times: f64, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| {
        format!("{:.digits$}", value * times)
    })
}

/// The paths where the controller's share is farthest off.
fn worst(all: &[Shared], tally: &Tally) -> comfy_table::Table {
    let mut table = super::table(["seed", "factor", "ratio", "coverage %", "path", "sends"]);
    table
        .set_content_arrangement(comfy_table::ContentArrangement::Dynamic)
        .set_width(150);
    let own = tally.columns.iter().flat_map(|column| &column.scores);
    let mut ordered: Vec<(&Shared, &Score)> = all.iter().zip(own).collect();
    let rank = |score: &Score| score.factor_p50.unwrap_or(f64::INFINITY);
    ordered.sort_by(|one, other| rank(other.1).total_cmp(&rank(one.1)));
    for (one, score) in ordered.into_iter().take(SHOWN) {
        let [path, sends] = one.facts.in_words();
        table.add_row([
            one.seed.to_string(),
            number(score.factor_p50, 1.0, 2),
            number(score.ratio_p50, 1.0, 2),
            number(score.coverage, 100.0, 0),
            path,
            sends,
        ]);
    }
    table
}
