//! Files of a survey: every path and what came of it.

use super::OutputError;
use crate::survey::{Class, Paired, Path, Tally};
use serde::Serialize;

#[derive(Serialize)]
struct Surveyed<'a> {
    class: &'static str,
    tally: Tally,
    paths: &'a [Paired],
}

/// Writes an array with one object per class.
///
/// # Errors
/// The file cannot be written.
pub fn survey_json(
    surveyed: &[(Class, Vec<Paired>)],
    path: &std::path::Path,
) -> Result<(), OutputError> {
    let objects: Vec<Surveyed<'_>> = surveyed
        .iter()
        .map(|(class, paths)| Surveyed {
            class: class.name(),
            tally: Tally::of(paths),
            paths,
        })
        .collect();
    super::json(&objects, path)
}

/// Writes `<class>.csv`, one line per path, and the scenario of each path that misses a bar.
///
/// # Errors
/// A file cannot be written.
pub fn survey_files(
    class: Class,
    paths: &[Path],
    all: &[Paired],
    folder: &std::path::Path,
) -> Result<(), OutputError> {
    let file = folder.join(format!("{}.csv", class.name()));
    table(all, &file).map_err(|error| OutputError::new(&file, error))?;
    for (path, paired) in paths.iter().zip(all) {
        if !paired.misses.is_empty() {
            let file = folder.join(format!("{}-{}.toml", class.name(), paired.seed));
            std::fs::write(&file, &path.text).map_err(|error| OutputError::new(&file, error))?;
        }
    }
    Ok(())
}

const HEADER: [&str; 32] = [
    "seed",
    "path",
    "sends",
    "rtt_ms",
    "queue_bdp",
    "bulk",
    "rivals",
    "ack_frequency",
    "receive_timestamps",
    "acknowledge",
    "duration_s",
    "goodput_bps",
    "of_not_measuring",
    "of_cubic",
    "of_placebo",
    "age_p95_ms",
    "age_p95_ms_not_measuring",
    "age_p95_ms_cubic",
    "age_above_ms",
    "placebo_age_above_ms",
    "age_max_ms",
    "age_max_ms_not_measuring",
    "lost",
    "lost_not_measuring",
    "lost_cubic",
    "longest_wait_s",
    "pairs",
    "pairs_of_not_measuring",
    "pairs_of_not_measuring_error",
    "pairs_age_above_ms",
    "pairs_age_above_ms_error",
    "misses",
];

fn table(all: &[Paired], file: &std::path::Path) -> Result<(), csv::Error> {
    let mut lines = csv::Writer::from_path(file)?;
    lines.write_record(HEADER)?;
    for paired in all {
        lines.write_record(line(paired))?;
    }
    lines.flush()?;
    Ok(())
}

fn line(paired: &Paired) -> [String; 32] {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6}"));
    let (facts, pairs) = (&paired.facts, paired.repeats.as_ref());
    let [path, sends] = facts.in_words();
    let misses: Vec<String> = paired.misses.iter().map(|miss| miss.in_words()).collect();
    [
        paired.seed.to_string(),
        path,
        sends,
        number(Some(facts.rtt_ms)),
        number(Some(facts.queue_bdp)),
        u8::from(facts.bulk).to_string(),
        facts.rivals_in_words(),
        u8::from(facts.ack_frequency).to_string(),
        u8::from(facts.receive_timestamps).to_string(),
        facts.acknowledge.to_string(),
        number(Some(facts.duration_s)),
        format!("{:.0}", paired.measuring.goodput_bps),
        number(Some(paired.of_not_measuring())),
        number(Some(paired.of_cubic())),
        number(paired.of_placebo()),
        number(paired.measuring.age_p95_ms),
        number(paired.not_measuring.age_p95_ms),
        number(paired.cubic.age_p95_ms),
        number(paired.age_above_ms()),
        number(paired.placebo_age_above_ms()),
        number(paired.measuring.age_max_ms),
        number(paired.not_measuring.age_max_ms),
        paired.measuring.lost_packets.to_string(),
        paired.not_measuring.lost_packets.to_string(),
        paired.cubic.lost_packets.to_string(),
        number(paired.longest_wait_s()),
        pairs.map_or(1, |pairs| pairs.pairs).to_string(),
        number(pairs.map(|pairs| pairs.goodput.mean)),
        number(pairs.map(|pairs| pairs.goodput.error)),
        number(pairs.map(|pairs| pairs.age_above_ms.mean)),
        number(pairs.map(|pairs| pairs.age_above_ms.error)),
        misses.join(" "),
    ]
}
