//! Manifests of DASH (ISO/IEC 23009-1), as far as segments are files of their own: templates, with
//! a timeline or with one duration, and lists.

use super::presentation::{MOST_SEGMENTS, Presentation, Quality, Segment};
use anyhow::{Context, Result, anyhow, bail, ensure};
use dash_mpd_core::{AdaptationSet, BaseURL, Period, Representation, SegmentList, SegmentTemplate};
use dash_mpd_core::{MPD, SegmentTimeline};
use std::time::Duration;
use url::Url;

/// No address in a manifest is longer.
const LONGEST_NAME: usize = 2048;

/// Reads a manifest that came from `base`. Of several tracks the first video counts, or the first
/// track where none is called video.
///
/// # Errors
/// It is none, or of a kind that is not played here.
pub fn read(text: &str, base: &Url) -> Result<Presentation> {
    let parsed = dash_mpd_core::parse(text);
    let manifest: MPD = parsed.with_context(|| format!("{base} is no DASH manifest"))?;
    ensure!(
        manifest.mpdtype.as_deref() != Some("dynamic"),
        "{base} is live (its type is dynamic); only whole titles are played"
    );
    let [period] = manifest.periods.as_slice() else {
        bail!(
            "{base} has {} periods; one is played",
            manifest.periods.len()
        );
    };
    let length = period.duration.or(manifest.mediaPresentationDuration);
    let is_video = |set: &&AdaptationSet| {
        let named = [&set.contentType, &set.mimeType];
        let own = set.representations.iter().map(|one| &one.mimeType);
        let mut all = named.into_iter().chain(own).flatten();
        all.any(|kind| kind.starts_with("video"))
    };
    let sets = &period.adaptations;
    let set = sets.iter().find(is_video).or(sets.first());
    let set = set.with_context(|| format!("{base} has no track"))?;
    let place = Place::of(base, &manifest.base_url)?.below(&period.BaseURL)?;
    let place = place.below(&set.BaseURL)?;
    let qualities = set.representations.iter();
    let qualities = qualities.map(|one| quality(one, set, period, &place, length));
    Presentation::new(qualities.collect::<Result<_>>()?)
}

fn quality(
    own: &Representation,
    set: &AdaptationSet,
    period: &Period,
    place: &Place,
    length: Option<Duration>,
) -> Result<Quality> {
    let place = place.below(&own.BaseURL)?;
    let bitrate_bps = own.bandwidth.context("a representation has no bandwidth")?;
    let names = Names {
        id: own.id.as_deref().unwrap_or(""),
        bandwidth: bitrate_bps,
    };
    let lists = [&own.SegmentList, &set.SegmentList, &period.SegmentList];
    let templates = [
        &own.SegmentTemplate,
        &set.SegmentTemplate,
        &period.SegmentTemplate,
    ];
    let (start, segments) = if let Some(list) = lists.into_iter().flatten().next() {
        of_list(list, &place)?
    } else if templates.iter().any(|one| one.is_some()) {
        of_template(&inherited(templates), &names, &place, length)?
    } else {
        bail!("a representation has ranges of one file; write segments as files of their own");
    };
    Ok(Quality {
        bitrate_bps,
        start,
        segments,
    })
}

/// What a representation does not say itself, its set says, or the period.
fn inherited(templates: [&Option<SegmentTemplate>; 3]) -> SegmentTemplate {
    let mut all = templates.into_iter().flatten().cloned();
    let mut own = all.next().unwrap_or_default();
    for outer in all {
        own.media = own.media.or(outer.media);
        own.initialization = own.initialization.or(outer.initialization);
        own.startNumber = own.startNumber.or(outer.startNumber);
        own.duration = own.duration.or(outer.duration);
        own.timescale = own.timescale.or(outer.timescale);
        own.SegmentTimeline = own.SegmentTimeline.or(outer.SegmentTimeline);
    }
    own
}

fn of_list(list: &SegmentList, place: &Place) -> Result<(Option<Url>, Vec<Segment>)> {
    let ticks = list
        .duration
        .context("a list of segments has no duration")?;
    let duration = in_ticks(ticks, list.timescale)?;
    let files = list.segment_urls.iter().map(|one| {
        ensure!(
            one.mediaRange.is_none(),
            "segments are ranges; write files of their own"
        );
        let media = one.media.as_deref().context("a segment has no address")?;
        Ok(Segment {
            url: place.join(media)?,
            duration,
        })
    });
    let start = list.Initialization.as_ref();
    let start = start.and_then(|start| start.sourceURL.as_deref());
    let start = start.map(|start| place.join(start)).transpose()?;
    Ok((start, files.collect::<Result<_>>()?))
}

fn of_template(
    template: &SegmentTemplate,
    names: &Names<'_>,
    place: &Place,
    length: Option<Duration>,
) -> Result<(Option<Url>, Vec<Segment>)> {
    let media = template
        .media
        .as_deref()
        .context("a template has no `media`")?;
    let scale = template.timescale;
    let times = match (&template.SegmentTimeline, template.duration) {
        (Some(timeline), _) => timeline_of(timeline, scale, length)?,
        (None, Some(ticks)) => even(ticks, scale, length)?,
        (None, None) => bail!("a template has neither a timeline nor a duration"),
    };
    let first = template.startNumber.unwrap_or(1);
    ensure!(
        first < u64::MAX - MOST_SEGMENTS as u64,
        "a template has an impossible `startNumber`"
    );
    let segments = (first..).zip(&times).map(|(number, (time, duration))| {
        let url = place.join(&names.fill(media, number, *time)?)?;
        Ok(Segment {
            url,
            duration: *duration,
        })
    });
    let segments = segments.collect::<Result<_>>()?;
    let start = template.initialization.as_deref();
    let start = start.map(|start| place.join(&names.fill(start, first, 0)?));
    Ok((start.transpose()?, segments))
}

/// Start in ticks, and duration, of each segment.
type Times = Vec<(u64, Duration)>;

fn timeline_of(line: &SegmentTimeline, scale: Option<u64>, all: Option<Duration>) -> Result<Times> {
    let mut times = Times::new();
    let mut at = 0_u64;
    for (place, entry) in line.segments.iter().enumerate() {
        at = entry.t.unwrap_or(at);
        let duration = in_ticks(entry.d, scale)?;
        ensure!(
            !duration.is_zero(),
            "a timeline has a segment without a duration"
        );
        let repeats = match entry.r.unwrap_or(0) {
            // Until the next entry, or to the end.
            count if count < 0 => {
                let next = line.segments.get(place + 1).and_then(|next| next.t);
                let end = match next {
                    Some(next) => in_ticks(next, scale)?,
                    None => all.context("a timeline goes on to an end that is not told")?,
                };
                let rest = end.saturating_sub(in_ticks(at, scale)?);
                rest.as_nanos().div_ceil(duration.as_nanos())
            }
            count => u128::from(count.unsigned_abs()) + 1,
        };
        for _ in 0..repeats {
            ensure!(
                times.len() < MOST_SEGMENTS,
                "a timeline has too many segments"
            );
            times.push((at, duration));
            at = at.checked_add(entry.d).context("a timeline is too long")?;
        }
    }
    Ok(times)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
fn even(ticks: f64, scale: Option<u64>, length: Option<Duration>) -> Result<Times> {
    ensure!(
        (1.0..1e15).contains(&ticks),
        "a template has an impossible duration"
    );
    let ticks = ticks as u64;
    let length = length.context("the manifest does not say how long the title is")?;
    let duration = in_ticks(ticks, scale)?;
    ensure!(!duration.is_zero(), "a template has an impossible duration");
    let mut times = Times::new();
    let (mut at, mut left) = (0, length);
    while !left.is_zero() {
        ensure!(
            times.len() < MOST_SEGMENTS,
            "a template has too many segments"
        );
        times.push((at, duration.min(left)));
        left = left.saturating_sub(duration);
        at = ticks.checked_add(at).context("a template is too long")?;
    }
    Ok(times)
}

fn in_ticks(ticks: u64, scale: Option<u64>) -> Result<Duration> {
    let scale = scale.unwrap_or(1);
    ensure!(scale > 0, "a timescale is 0");
    let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(scale);
    let nanos = u64::try_from(nanos).map_err(|_| anyhow!("a segment has an impossible time"))?;
    Ok(Duration::from_nanos(nanos))
}

/// What addresses are relative to.
struct Place(Url);

impl Place {
    fn of(manifest: &Url, bases: &[BaseURL]) -> Result<Self> {
        Self(manifest.clone()).below(bases)
    }

    /// The first of several is as good as the others.
    fn below(&self, bases: &[BaseURL]) -> Result<Self> {
        let first = bases.first().map_or("", |base| base.base.trim());
        self.join(first).map(Self)
    }

    fn join(&self, reference: &str) -> Result<Url> {
        let joined = self.0.join(reference);
        joined.with_context(|| format!("the manifest names `{reference}`, which is no address"))
    }
}

/// What stands for `$RepresentationID$` and `$Bandwidth$`.
struct Names<'n> {
    id: &'n str,
    bandwidth: u64,
}

impl Names<'_> {
    /// Fills a template: `$Number%05d$` has five digits at least.
    fn fill(&self, template: &str, number: u64, time: u64) -> Result<String> {
        let mut filled = String::new();
        for (place, part) in template.split('$').enumerate() {
            if place % 2 == 0 {
                filled.push_str(part);
                continue;
            }
            let (name, format) = part.split_once('%').unwrap_or((part, "1d"));
            let digits = format
                .strip_suffix('d')
                .and_then(|width| width.parse::<usize>().ok());
            let digits = digits.filter(|digits| *digits <= 20);
            let digits = digits.with_context(|| format!("`${part}$` is no place holder"))?;
            match name {
                "" => filled.push('$'),
                "RepresentationID" => filled.push_str(self.id),
                "Number" => filled.push_str(&format!("{number:0digits$}")),
                "Time" => filled.push_str(&format!("{time:0digits$}")),
                "Bandwidth" => filled.push_str(&format!("{:0digits$}", self.bandwidth)),
                _ => bail!("`${part}$` is no place holder"),
            }
        }
        ensure!(
            filled.len() <= LONGEST_NAME,
            "a segment's address is too long"
        );
        Ok(filled)
    }
}

#[cfg(test)]
#[path = "dash_tests.rs"]
mod tests;
