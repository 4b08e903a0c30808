//! `imtcp-sim survey`: what measuring costs on paths that nobody chose.

use super::pool::{self, Failure};
use super::{SurveyArguments, create, stdout};
use imtcp_sim::output;
use imtcp_sim::survey::bars::{AGE_ABOVE_MS, GOODPUT_EACH, GOODPUT_MEDIAN};
use imtcp_sim::survey::{Class, Extent, Mean, Miss, Paired, Path, Tally, Traces, compare};
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many of the worst paths are shown.
const SHOWN: usize = 10;
/// How wide their table is, in columns of a terminal.
const WIDTH: u16 = 160;

/// Runs all seeds of all classes; prints the worst and what it all comes to.
///
/// # Errors
/// A bar is missed, or a file cannot be written.
pub fn run(arguments: &SurveyArguments) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = &arguments.out {
        create(folder)?;
    }
    let mut files = arguments.json.iter().chain(&arguments.html);
    files.try_for_each(|it| output::check(it))?;
    let classes = |all: &'static [Class]| match arguments.classes.is_empty() {
        true => all,
        false => &arguments.classes[..],
    };
    let traces = arguments.traces.as_deref().map(Traces::read).transpose()?;
    if arguments.promise {
        return super::promised::run(classes(Class::PROMISED), arguments);
    }
    let classes = classes(Class::ALL);
    if traces.is_some() && !classes.contains(&Class::Radio) {
        return Err("traces are for the class radio; name it, or leave out --traces".into());
    }
    if arguments.estimates {
        return super::estimated::run(classes, arguments, traces.as_ref());
    }
    if arguments.shares {
        return super::shared::run(classes, arguments, traces.as_ref());
    }
    let mut surveyed = Vec::new();
    for class in classes {
        surveyed.push((*class, survey(*class, arguments, traces.as_ref())?));
    }
    if let Some(file) = &arguments.json {
        output::survey_json(&surveyed, file)?;
    }
    let kept = surveyed.iter().map(|(_, all)| Tally::of(all).is_kept());
    match kept.filter(|kept| !kept).count() {
        0 => Ok(()),
        missed => Err(format!("bars are missed in {missed} of {} classes", surveyed.len()).into()),
    }
}

fn survey(
    class: Class,
    arguments: &SurveyArguments,
    traces: Option<&Traces>,
) -> Result<Vec<Paired>, Box<dyn Error>> {
    let extent = Extent {
        placebo: arguments.placebo,
        repeats: arguments.repeats,
    };
    let (paths, all) = on_each_path(class, arguments, traces, |path, seed| {
        compare(path, seed, extent)
    })?;
    stdout::write(report(class, &all))?;
    if let Some(folder) = &arguments.out {
        output::survey_files(class, &paths, &all, folder)?;
    }
    Ok(all)
}

/// Draws the path of each seed, and does `one` on it; shows how far it is.
pub(super) fn on_each_path<T: Send>(
    class: Class,
    arguments: &SurveyArguments,
    traces: Option<&Traces>,
    one: impl Fn(&Path, u64) -> Result<T, Failure> + Sync,
) -> Result<(Vec<Path>, Vec<T>), Box<dyn Error>> {
    let seeds: Vec<u64> = arguments.seeds.0.clone().collect();
    let paths: Vec<Path> = seeds
        .iter()
        .map(|seed| class.draw_among(*seed, traces))
        .collect::<Result<_, _>>()?;
    let clock = Clock::new(class, seeds.len());
    let job = |index: usize| {
        let done = one(&paths[index], seeds[index])?;
        clock.one_more();
        Ok(done)
    };
    let all = pool::run_all(seeds.len(), usize::from(arguments.jobs), job);
    clock.end();
    Ok((paths, all.map_err(|failure| failure.to_string())?))
}

/// The worst paths, then the sums.
fn report(class: Class, all: &[Paired]) -> String {
    let mut worst: Vec<&Paired> = all.iter().collect();
    worst.sort_by(|one, other| one.worse_first(other));
    worst.truncate(SHOWN);
    let mut table = super::table([
        "seed",
        "path",
        "sends",
        "Mbit/s",
        "of not measuring %",
        "of CUBIC %",
        "age p95 ms",
        "above ms",
        "lost, not m., CUBIC",
        "said after s",
        "misses",
    ]);
    table
        .set_content_arrangement(comfy_table::ContentArrangement::Dynamic)
        .set_width(WIDTH);
    for paired in &worst {
        table.add_row(row(paired));
    }
    let count = worst.len();
    format!(
        "{}: the worst {count} of {} paths\n{table}\n{}",
        class.name(),
        all.len(),
        sums(&Tally::of(all))
    )
}

fn row(paired: &Paired) -> [String; 11] {
    let number = |value: Option<f64>, digits: usize| match value {
        None => "-".to_owned(),
        Some(value) if value.is_infinite() => "never".to_owned(),
        Some(value) => format!("{value:.digits$}"),
    };
    let [path, sends] = paired.facts.in_words();
    let misses: Vec<String> = paired.misses.iter().map(Miss::in_words).collect();
    [
        paired.seed.to_string(),
        path,
        sends,
        number(Some(paired.measuring.goodput_bps / 1e6), 2),
        share_with_repeats(paired),
        number(Some(paired.of_cubic() * 100.0), 1),
        number(paired.measuring.age_p95_ms, 1),
        age_with_repeats(paired, number(paired.age_above_ms(), 1)),
        format!(
            "{}, {}, {}",
            paired.measuring.lost_packets,
            paired.not_measuring.lost_packets,
            paired.cubic.lost_packets
        ),
        number(paired.longest_wait_s(), 2),
        misses.join(", "),
    ]
}

/// The first pair of runs, and all of them where there were more.
fn share_with_repeats(paired: &Paired) -> String {
    let first = format!("{:.1}", paired.of_not_measuring() * 100.0);
    let Some(repeats) = &paired.repeats else {
        return first;
    };
    let Mean { mean, error } = repeats.goodput;
    let (mean, error) = (mean * 100.0, error * 100.0);
    format!("{first}; {mean:.1} +- {error:.1} of {}", repeats.pairs)
}

fn age_with_repeats(paired: &Paired, first: String) -> String {
    let Some(repeats) = &paired.repeats else {
        return first;
    };
    let Mean { mean, error } = repeats.age_above_ms;
    format!("{first}; {mean:.1} +- {error:.1}")
}

fn sums(tally: &Tally) -> String {
    let [goodput, age, silence] = tally.missed;
    let [measuring, not_measuring, cubic] = tally.lost;
    let paths = tally.paths;
    let chance = match tally.by_chance {
        0 => String::new(),
        paths => format!(
            "{paths} more paths missed in the first pair of runs, and by chance: not over many.\n"
        ),
    };
    let placebo = match tally.placebo_missed {
        None => String::new(),
        Some([goodput, age]) => format!(
            "Not measuring, begun a millisecond later, would miss goodput on {goodput} and age on \
             {age} paths.\n"
        ),
    };
    format!(
        "Goodput of not measuring: median {:.2} % (bar {:.1} %); below {:.0} % on {goodput} of \
         {paths} paths. Of CUBIC: median {:.2} %.\n\
         Age p95 above by more than a round trip or {AGE_ABOVE_MS:.0} ms on {age} paths.\n\
         Nothing said within 1 s of a step on {silence} paths.\n\
         Packets lost: {measuring}, not measuring {not_measuring}, CUBIC \
         {cubic}.\n{chance}{placebo}",
        tally.of_not_measuring * 100.0,
        GOODPUT_MEDIAN * 100.0,
        GOODPUT_EACH * 100.0,
        tally.of_cubic * 100.0,
    )
}

/// Shows how far it is: a bar on a terminal, and a line now and then elsewhere.
pub(super) struct Clock {
    name: &'static str,
    bar: ProgressBar,
    begun: Instant,
    count: usize,
    done: AtomicUsize,
}

#[expect(clippy::disallowed_methods, reason = "the time goes to standard error alone")]
impl Clock {
    pub(super) fn new(class: Class, count: usize) -> Self {
        let bar = ProgressBar::new(count as u64);
        let style = "{msg} {bar:40} {pos}/{len} paths, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message(class.name());
        Self {
            name: class.name(),
            bar,
            begun: Instant::now(),
            count,
            done: AtomicUsize::new(0),
        }
    }

    pub(super) fn one_more(&self) {
        self.bar.inc(1);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.bar.is_hidden() && done.is_multiple_of(20) && done < self.count {
            let left = self.begun.elapsed().as_secs_f64() / done as f64;
            let left = Duration::from_secs_f64(left * (self.count - done) as f64);
            let (name, count) = (self.name, self.count);
            eprintln!(
                "{name}: {done} of {count} paths, about {} s left",
                left.as_secs()
            );
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
        let seconds = self.begun.elapsed().as_secs();
        eprintln!("{}: {} paths in {seconds} s", self.name, self.count);
    }
}
