//! A stream and the verdict on it, for whoever keeps a log.

use super::Measuring;
use super::pairs::pairs;
use super::record::PacketRecord;
use super::trend::{Doubt, Trend, pct, pdt};
use crate::units::{Bandwidth, TimeDelta};

/// A stream of the present measurement and its trend.
#[derive(Debug)]
pub(crate) struct Judged<'m> {
    pub(crate) measurement: u64,
    pub(crate) packets: &'m [PacketRecord],
    /// Whether all packets left, and the fate of each is known.
    pub(crate) is_whole: bool,
    /// The ends of the sub-range, in IP-layer bits per second.
    pub(crate) low: Bandwidth,
    pub(crate) high: Bandwidth,
    pub(crate) pct: Option<f64>,
    pub(crate) pdt: Option<f64>,
    pub(crate) trend: i8,
    /// The trend in a word, with its reason where the stream cannot tell.
    pub(crate) verdict: &'static str,
}

impl Measuring {
    /// Judges a stream once more, as its event did, and says what the verdict rests on. `None` if
    /// there is no such stream.
    pub(crate) fn judged(&self, stream: u32) -> Option<Judged<'_>> {
        let record = &self.record;
        let found = record.stream(stream)?;
        let cadence = record.cadence();
        let rises: Vec<TimeDelta> = pairs(found.packets(), cadence)
            .map(|pair| pair.delay_rise())
            .collect();
        let trend = self.classic.judge(record, stream);
        let rates = record.range().sub_range(stream, record.sub_ranges());
        Some(Judged {
            measurement: record.measurement(),
            packets: found.packets(),
            is_whole: found.is_complete() && found.is_settled(),
            low: rates.low,
            high: rates.high,
            pct: pct::statistic(&rises),
            pdt: pdt::statistic(&rises),
            trend: trend.as_number(),
            verdict: verdict(trend),
        })
    }
}

fn verdict(trend: Trend) -> &'static str {
    match trend {
        Trend::Increasing => "increasing",
        Trend::NotIncreasing => "not_increasing",
        Trend::CannotTell(doubt) => match doubt {
            Doubt::Incomplete => "incomplete",
            Doubt::PacketLost => "packet_lost",
            Doubt::TooFewEchoes => "too_few_echoes",
            Doubt::Contradiction => "contradiction",
            Doubt::GreyZone => "grey_zone",
        },
    }
}
