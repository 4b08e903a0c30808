//! What the promises of a class come to, and the bars they are held to.

use super::run::{Carried, Carrier, Promised};
use super::wish::Share;
use crate::calibration::{Reliability, Warnings};
use crate::statistics::{median, quantile_of_sorted};
use serde::Serialize;

/// Each rival has at least this share of what is left for it, at the median.
const RIVALS: f64 = 0.90;
/// The worst bin of the forecasts is at most so far off.
const WORST_BIN: f64 = 0.06;
/// Warnings are right, and misses are warned of, at least so often.
const WARNINGS: f64 = 0.8;
/// Warnings are judged where at least this share of the slots is missed.
const MISSED: f64 = 0.05;

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tally {
    /// A row for each range of required / fair share and each carrier.
    pub rows: Vec<Row>,
    /// Forecasts, in tenths.
    pub forecasts: Vec<Bin>,
    /// The largest distance between forecast and outcome.
    pub worst_bin: Option<f64>,
    /// Warnings against misses.
    pub warnings: Warnings,
    /// The bars, with what was found.
    pub bars: Vec<Bar>,
}

/// A tenth of the forecasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// How many.
    pub count: u32,
    /// Their mean.
    pub predicted: Option<f64>,
    /// The share that was kept.
    pub observed: Option<f64>,
}

/// A carrier's promises within a range of required / fair share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The range.
    pub share: Share,
    /// The carrier.
    pub carrier: Carrier,
    /// Paths.
    pub paths: usize,
    /// Slots.
    pub slots: usize,
    /// The share of the slots that was kept.
    pub kept: f64,
    /// The mean over paths of the share of their slots that was kept.
    pub kept_of_paths: f64,
    /// 5th percentile over slots of achieved / required.
    pub p5: f64,
    /// Packets lost / sent: the median over paths.
    pub loss: f64,
    /// What rivals had of what is left when the promise is taken out: the median over all of them,
    /// and the worst.
    pub of_left: Option<[f64; 2]>,
    /// What they had of what was due to them beside a flow that may have its own fair share.
    pub of_due: Option<[f64; 2]>,
    /// The 95th percentile of round trips above the empty path's: the median over paths.
    pub queueing_p95_ms: Option<f64>,
}

/// Something that has to hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// What has to be.
    pub wanted: String,
    /// What was found. None where there was nothing to judge.
    pub found: Option<f64>,
    /// Whether it holds.
    pub met: bool,
}

impl Tally {
    /// Of all paths of a class.
    pub fn of(all: &[Promised]) -> Self {
        let carriers = || all.iter().flat_map(|one| &one.carriers);
        let own = || carriers().filter(|carried| carried.carrier == Carrier::Imtcp);
        let mut reliability = Reliability::default();
        for forecast in own().flat_map(|carried| &carried.forecasts) {
            reliability.add(forecast.probability, forecast.kept);
        }
        let mut warnings = Warnings::default();
        for carried in own() {
            warnings.merge(&carried.warnings);
        }
        let of_carrier = |share| {
            let row = move |carrier: &Carrier| Row::of(all, share, *carrier);
            Carrier::ALL.iter().filter_map(row)
        };
        let rows: Vec<Row> = Share::ALL.into_iter().flat_map(of_carrier).collect();
        let bin = |bin: &crate::calibration::Bin| Bin {
            count: bin.count,
            predicted: bin.predicted(),
            observed: bin.observed(),
        };
        let worst_bin = reliability.worst_gap();
        Self {
            bars: bars(&rows, worst_bin, &warnings),
            rows,
            forecasts: reliability.bins.iter().map(bin).collect(),
            worst_bin,
            warnings,
        }
    }

    /// Whether all bars are met.
    pub fn is_kept(&self) -> bool {
        self.bars.iter().all(|bar| bar.met)
    }
}

impl Row {
    fn of(all: &[Promised], share: Share, carrier: Carrier) -> Option<Self> {
        let within = all.iter().filter(|one| one.wish.share == share);
        let carried: Vec<&Carried> = within
            .flat_map(|one| &one.carriers)
            .filter(|carried| carried.carrier == carrier)
            .collect();
        let mut ratios: Vec<f64> = carried.iter().flat_map(|it| it.ratios.clone()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let slots: usize = carried.iter().map(|it| it.slots.count).sum();
        let kept = carried.iter();
        let kept = kept.map(|it| it.slots.kept_share * it.slots.count as f64);
        let of_paths = carried.iter().map(|it| it.slots.kept_share);
        let rivals = || carried.iter().flat_map(|it| &it.rivals);
        let queueing = carried.iter().filter_map(|it| Some(it.queueing_ms?[1]));
        Some(Self {
            share,
            carrier,
            paths: carried.len(),
            slots,
            kept: kept.sum::<f64>() / slots as f64,
            kept_of_paths: of_paths.sum::<f64>() / carried.len() as f64,
            p5: quantile_of_sorted(&ratios, 0.05)?,
            loss: median(carried.iter().map(|it| it.loss_share).collect())?,
            of_left: middle_and_least(rivals().filter_map(|it| it.of_left()).collect()),
            of_due: middle_and_least(rivals().filter_map(|it| it.of_due()).collect()),
            queueing_p95_ms: median(queueing.collect()),
        })
    }
}

fn middle_and_least(values: Vec<f64>) -> Option<[f64; 2]> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some([median(values)?, least])
}

fn bars(rows: &[Row], worst_bin: Option<f64>, warnings: &Warnings) -> Vec<Bar> {
    let mut bars = Vec::new();
    let own = || rows.iter().filter(|row| row.carrier == Carrier::Imtcp);
    for row in own() {
        let least = match row.share {
            Share::Half => 0.99,
            Share::Most => 0.97,
            Share::Beyond => 0.90,
        };
        let name = format!(
            "slots kept, required {} of the fair share",
            row.share.in_words()
        );
        bars.push(Bar::at_least(name, Some(row.kept), least));
    }
    for row in own().filter(|row| row.of_due.is_some()) {
        let found = row.of_due.map(|[middle, _]| middle);
        let name = format!(
            "each rival's share of what is due, {}",
            row.share.in_words()
        );
        bars.push(Bar::at_least(name, found, RIVALS));
    }
    if own().next().is_some() {
        bars.push(Bar {
            name: "the forecasts' worst bin".to_owned(),
            wanted: format!("<= {:.0} %", WORST_BIN * 100.0),
            found: worst_bin,
            met: worst_bin.is_none_or(|gap| gap <= WORST_BIN),
        });
    }
    let missed = warnings.right + warnings.none;
    if f64::from(missed) >= MISSED * f64::from(missed + warnings.wrong + warnings.quiet)
        && missed > 0
    {
        for (name, found) in [
            ("precision of AtRisk", warnings.precision()),
            ("recall of AtRisk", warnings.recall()),
        ] {
            bars.push(Bar::at_least(name.to_owned(), found, WARNINGS));
        }
    }
    bars
}

impl Bar {
    /// Whether it is met.
    pub fn in_words(&self) -> &'static str {
        match (self.found, self.met) {
            (None, _) => "-",
            (_, true) => "met",
            (_, false) => "missed",
        }
    }

    fn at_least(name: String, found: Option<f64>, least: f64) -> Self {
        Self {
            name,
            wanted: format!(">= {:.0} %", least * 100.0),
            found,
            met: found.is_none_or(|found| found >= least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Class;
    use super::super::wish::Wish;
    use super::*;
    use crate::result::{RivalShare, Slots};

    fn carried(carrier: Carrier, ratios: &[f64], rivals_bps: &[u64]) -> Carried {
        let kept = ratios.iter().filter(|ratio| **ratio >= 1.0).count();
        let rival = |had_bps: &u64| RivalShare {
            name: "rival".to_owned(),
            controller: "cubic",
            seconds: 10.0,
            had_bps: *had_bps,
            left_bps: 10_000,
            due_bps: 5000,
        };
        Carried {
            carrier,
            slots: Slots {
                count: ratios.len(),
                kept_share: kept as f64 / ratios.len() as f64,
                p5: 0.0,
                mean: 0.0,
                most: 0.0,
            },
            ratios: ratios.to_vec(),
            loss_share: 0.01,
            rivals: rivals_bps.iter().map(rival).collect(),
            queueing_ms: Some([1.0, 4.0]),
            forecasts: Vec::new(),
            warnings: Warnings {
                right: 1,
                wrong: 0,
                none: 3,
                quiet: 6,
            },
            ended: None,
        }
    }

    fn promised(share: Share, carriers: Vec<Carried>) -> Promised {
        let path = Class::Fixed.draw(1).expect("it is valid");
        Promised {
            seed: 1,
            facts: path.facts,
            wish: Wish {
                required_bps: 1e6,
                per_s: 1.0,
                exactly: false,
                fair_bps: 2e6,
                of_fair: 0.5,
                share,
                rivals: 1,
                slots_from_s: 2.0,
                duration_s: 12.0,
            },
            carriers,
            text: String::new(),
        }
    }

    #[test]
    fn slots_and_rivals_are_counted_over_paths_and_held_to_the_bars() {
        let all = [
            promised(
                Share::Half,
                vec![
                    carried(Carrier::Imtcp, &[1.0, 1.2, 0.5, 1.1], &[4500]),
                    carried(Carrier::Cubic, &[2.0], &[1000]),
                ],
            ),
            promised(
                Share::Half,
                vec![carried(Carrier::Imtcp, &[1.0], &[6000, 5000])],
            ),
            promised(Share::Beyond, vec![carried(Carrier::Imtcp, &[1.0; 9], &[])]),
        ];
        let tally = Tally::of(&all);
        let rows = tally.rows.iter();
        let shape = rows.map(|row| (row.share, row.carrier, row.paths));
        assert_eq!(
            shape.collect::<Vec<_>>(),
            [
                (Share::Half, Carrier::Imtcp, 2),
                (Share::Half, Carrier::Cubic, 1),
                (Share::Beyond, Carrier::Imtcp, 1),
            ]
        );
        let own = &tally.rows[0];
        // Four of five slots; three of four and all of one at the mean of the paths.
        assert_eq!((own.slots, own.kept, own.kept_of_paths), (5, 0.8, 0.875));
        assert_eq!(own.p5, 0.5);
        assert_eq!(own.of_left, Some([0.5, 0.45]));
        assert_eq!(own.of_due, Some([1.0, 0.9]));
        // Of 30 slots 12 were missed and 3 of these warned of.
        assert_eq!(tally.warnings.recall(), Some(0.25));
        let met: Vec<(&str, bool)> = tally.bars.iter().map(|b| (&b.name[..], b.met)).collect();
        assert_eq!(
            met,
            [
                ("slots kept, required 5..50 % of the fair share", false),
                ("slots kept, required 100..200 % of the fair share", true),
                ("each rival's share of what is due, 5..50 %", true),
                ("the forecasts' worst bin", true),
                ("precision of AtRisk", true),
                ("recall of AtRisk", false),
            ]
        );
    }
}
