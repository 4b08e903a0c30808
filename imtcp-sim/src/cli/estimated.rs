//! `imtcp-sim survey --estimates`: how right estimates are on paths that nobody chose.

use super::pool::{self, Failure};
use super::{SurveyArguments, create, survey::Clock};
use imtcp_sim::output;
use imtcp_sim::survey::estimate::bars::{Bars, COVERAGE, FALSE_CONFIDENCE};
use imtcp_sim::survey::estimate::{Reader, Score, Surveyed, Tally, run as read};
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
    let mut surveyed = Vec::new();
    for class in classes {
        let all = survey(*class, arguments, traces)?;
        let tally = Tally::of(&all);
        print!("{}", report(*class, &all, &tally));
        if let Some(folder) = &arguments.out {
            output::estimate_files(*class, &all, &tally, folder)?;
        }
        surveyed.push((*class, tally));
    }
    if let Some(file) = &arguments.json {
        output::estimate_json(&surveyed, file)?;
    }
    let missed = surveyed
        .iter()
        .filter(|(class, it)| !it.misses(*class).is_empty());
    match missed.count() {
        0 => Ok(()),
        missed => Err(format!("bars are missed in {missed} of {} classes", surveyed.len()).into()),
    }
}

fn survey(
    class: Class,
    arguments: &SurveyArguments,
    traces: Option<&Traces>,
) -> Result<Vec<Surveyed>, Box<dyn Error>> {
    let seeds: Vec<u64> = arguments.seeds.0.clone().collect();
    let paths: Vec<Path> = seeds
        .iter()
        .map(|seed| class.draw_among(*seed, traces))
        .collect::<Result<_, _>>()?;
    let clock = Clock::new(class, seeds.len());
    let one = |index: usize| -> Result<Surveyed, Failure> {
        let surveyed = read(&paths[index], seeds[index])?;
        clock.one_more();
        Ok(surveyed)
    };
    let all = pool::run_all(seeds.len(), usize::from(arguments.jobs), one);
    clock.end();
    all.map_err(|failure| failure.to_string().into())
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

/// A line of the table of medians.
struct Line {
    name: &'static str,
    bar: String,
    of: fn(&Score) -> Option<f64>,
    written: fn(f64) -> String,
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn seconds(seconds: f64) -> String {
    match seconds.is_finite() {
        true => format!("{seconds:.2}"),
        false => "never".to_owned(),
    }
}

fn lines(class: Class) -> [Line; 9] {
    let bars = Bars::of(class);
    let line = |name, bar, of| Line {
        name,
        bar,
        of,
        written: percent,
    };
    let most = |share: f64| format!("<= {}", percent(share));
    let [least, upper] = COVERAGE.map(percent);
    [
        line("error, median, %", most(bars.error_p50), |it| it.error_p50),
        line("error, p90, %", most(bars.error_p90), |it| it.error_p90),
        line("bias, %", String::new(), |it| it.bias),
        line("reach, %", format!(">= {}", percent(bars.reach)), |it| {
            Some(it.reach)
        }),
        line("with a value, %", String::new(), |it| Some(it.valued)),
        line("coverage, %", format!("{least} to {upper}"), |it| {
            it.coverage
        }),
        line("interval score, %", "the least".to_owned(), |it| {
            it.interval_score
        }),
        line("falsely confident, %", most(FALSE_CONFIDENCE), |it| {
            Some(it.false_confidence)
        }),
        Line {
            name: "lag, s",
            bar: bars.lag_s.map_or(String::new(), |lag| format!("<= {lag}")),
            of: |it| it.lag_s,
            written: seconds,
        },
    ]
}

fn medians(class: Class, tally: &Tally) -> comfy_table::Table {
    let mut table = super::table(["", "bar"]);
    let readers = Reader::ALL.iter().map(|reader| reader.name());
    table.set_header(["", "bar"].into_iter().chain(readers));
    for line in lines(class) {
        let mut row = vec![line.name.to_owned(), line.bar];
        row.extend(tally.columns.iter().map(|column| {
            let value = (line.of)(&column.medians);
            value.map_or("-".to_owned(), line.written)
        }));
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
    let Some(own) = tally.column(Reader::Statistical) else {
        return table;
    };
    let mut ordered: Vec<(&Surveyed, &Score)> = all.iter().zip(&own.scores).collect();
    let rank = |score: &Score| score.error_p90.unwrap_or(1.0) + 1.0 - score.reach;
    ordered.sort_by(|one, other| rank(other.1).total_cmp(&rank(one.1)));
    let number = |value: Option<f64>| value.map_or("-".to_owned(), percent);
    for (one, score) in ordered.into_iter().take(SHOWN) {
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
