//! What the page shows, as JSON.

use super::history::{KEPT, MOST, Path, STEP, Sample, Track, Watch, kbps};
use super::query::{Order, Query};
use crate::connection::{Connection, Farewell, ms};
use imtcp_cc::promise::{Cause, Promise, Status};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Everything of an answer.
#[derive(Debug, Serialize)]
struct State<'s> {
    up_s: f64,
    controller: &'static str,
    step_s: f64,
    kept: usize,
    totals: Totals,
    page: Page,
    connections: Vec<Row<'s>>,
    ended: Vec<Gone>,
}

#[derive(Debug, Serialize)]
struct Totals {
    open: usize,
    /// Connections that are not looked at, because there are too many.
    unwatched: usize,
    broken: usize,
    at_risk: usize,
    refused: usize,
    connections: u64,
    handshakes_failed: u64,
    content_bytes: u64,
    slots_kept: u64,
    slots_source_limited: u64,
    slots_missed: u64,
    goodput: Vec<u64>,
    required: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct Page {
    number: usize,
    of: usize,
    /// Connections that fit what is looked for.
    found: usize,
}

/// Rates in kbit/s.
#[derive(Debug, Serialize)]
struct Row<'s> {
    id: &'s str,
    peer: String,
    controller: &'static str,
    age_s: f64,
    requests_open: u64,
    goodput: u32,
    estimate: Option<Estimate>,
    capacity: Option<u32>,
    reach: Option<u32>,
    required: Option<u32>,
    refused: Option<u32>,
    slots_kept: u64,
    slots_source_limited: u64,
    slots_missed: u64,
    status: &'static str,
    cause: Option<&'static str>,
    shortfall_bytes: Option<u64>,
    rtt_ms: Option<f64>,
    sent: Option<u64>,
    lost: Option<u64>,
    content_bytes: u64,
    moves: Option<u64>,
    history: History,
}

#[derive(Debug, Serialize)]
struct Estimate {
    available: u32,
    low: u32,
    /// None of a lower bound alone.
    high: Option<u32>,
    window_s: f64,
    flags: Vec<&'static str>,
}

/// The last value is of now. `status` has a letter for each: `i`dle, `k`ept, `a`t risk, `b`roken.
#[derive(Debug, Default, Serialize)]
struct History {
    goodput: Vec<u32>,
    available: Vec<Option<u32>>,
    low: Vec<Option<u32>>,
    high: Vec<Option<u32>>,
    required: Vec<Option<u32>>,
    status: String,
}

/// A connection that has ended.
#[derive(Debug, Serialize)]
struct Gone {
    ago_s: f64,
    #[serde(flatten)]
    farewell: Arc<Farewell>,
}

/// What it takes to put a connection in its place.
struct Brief {
    connection: Arc<Connection>,
    status: Status,
    refused: bool,
    goodput: u32,
}

impl Watch {
    /// The answer to a query. Takes memory and time for the connections on the page, and a glance
    /// at each of the others.
    pub(super) fn state(&self, query: &Query) -> String {
        let now = Instant::now();
        let mut all = self.site.live.all();
        let open = all.len();
        all.truncate(MOST);
        let tracks = self.tracks();
        let mut briefs: Vec<_> = all
            .into_iter()
            .map(|connection| Brief::of(connection, |id| tracks.of.get(id)))
            .collect();
        let totals = self.totals(open, &briefs, tracks.all.iter().copied().collect());
        briefs.retain(|brief| brief.fits(&query.find));
        match query.order {
            // These sorts are stable, and the oldest come first to begin with.
            Order::Trouble => briefs.sort_by_key(Brief::peace),
            Order::Fastest => briefs.sort_by_key(|brief| Reverse(brief.goodput)),
            Order::Newest => briefs.reverse(),
        }
        let pages = briefs.len().div_ceil(query.rows).max(1);
        // Connections may have ended since the page was counted.
        let page = query.page.min(pages - 1);
        let shown = briefs.iter().skip(page * query.rows).take(query.rows);
        let nothing = Track::default();
        let rows = shown.map(|brief| {
            let track = tracks.of.get(&brief.connection.id).unwrap_or(&nothing);
            self.row(brief, track, now)
        });
        let gone = self.site.live.farewells().into_iter();
        let gone = gone.map(|farewell| Gone {
            ago_s: now.saturating_duration_since(farewell.at).as_secs_f64(),
            farewell,
        });
        let state = State {
            up_s: now.saturating_duration_since(self.began).as_secs_f64(),
            controller: self.site.controller,
            step_s: STEP.as_secs_f64(),
            kept: KEPT,
            totals,
            page: Page {
                number: page,
                of: pages,
                found: briefs.len(),
            },
            connections: rows.collect(),
            ended: gone.collect(),
        };
        // Maps with keys that are no text cannot be written; there are none.
        serde_json::to_string(&state).unwrap_or_default()
    }

    fn totals(&self, open: usize, briefs: &[Brief], sums: Vec<super::history::Sum>) -> Totals {
        let count = |holds: &dyn Fn(&Brief) -> bool| briefs.iter().filter(|is| holds(is)).count();
        let counts = &self.site.counts;
        Totals {
            open,
            unwatched: open - briefs.len(),
            broken: count(&|brief| matches!(brief.status, Status::Broken { .. })),
            at_risk: count(&|brief| matches!(brief.status, Status::AtRisk { .. })),
            refused: count(&|brief| brief.refused),
            connections: counts.connections.get(),
            handshakes_failed: counts.handshakes_failed.get(),
            content_bytes: counts.bytes.get(),
            slots_kept: counts.slots("kept"),
            slots_source_limited: counts.slots("source_limited"),
            slots_missed: counts.slots("missed"),
            goodput: sums.iter().map(|sum| sum.goodput).collect(),
            required: sums.iter().map(|sum| sum.required).collect(),
        }
    }

    fn row<'b>(&self, brief: &'b Brief, track: &Track, now: Instant) -> Row<'b> {
        let connection = &brief.connection;
        let promise = connection.promise.as_ref();
        let estimate = promise.and_then(Promise::estimate).map(|is| Estimate {
            available: kbps(is.available),
            low: kbps(is.low),
            high: bounded(kbps(is.high)),
            window_s: is.window.as_secs_f64(),
            flags: is.flags.names().collect(),
        });
        let (required, refused) = connection.required();
        let (cause, shortfall) = trouble(brief.status).unzip();
        let path = track.path.as_ref();
        let slots = connection.slots.counts();
        Row {
            id: &connection.id,
            peer: connection.peer.to_string(),
            controller: self.site.controller,
            age_s: now
                .saturating_duration_since(connection.began)
                .as_secs_f64(),
            requests_open: connection.open.load(Ordering::Relaxed),
            goodput: brief.goodput,
            estimate,
            capacity: promise.and_then(Promise::capacity).map(kbps),
            reach: promise
                .and_then(Promise::outlook)
                .map(|outlook| kbps(outlook.reach())),
            required: required.map(kbps),
            refused: refused.map(kbps),
            slots_kept: slots.kept,
            slots_source_limited: slots.source_limited,
            slots_missed: slots.missed,
            status: brief.status.name(),
            cause: cause.map(Cause::name),
            shortfall_bytes: shortfall,
            rtt_ms: path.map(|path| ms(path.round_trip)),
            sent: path.map(|path: &Path| path.sent),
            lost: path.map(|path| path.lost),
            content_bytes: connection.bytes.load(Ordering::Relaxed),
            moves: promise.map(Promise::moves),
            history: history(&track.samples),
        }
    }
}

impl Brief {
    fn of<'t>(connection: Arc<Connection>, track: impl Fn(&str) -> Option<&'t Track>) -> Self {
        let promise = connection.promise.as_ref();
        let last = track(&connection.id).and_then(|track| track.samples.back());
        Self {
            status: promise.map(Promise::status).unwrap_or_default(),
            refused: connection.required().1.is_some(),
            goodput: last.map_or(0, |sample| sample.goodput),
            connection,
        }
    }

    /// The less, the more an operator should look at it.
    fn peace(&self) -> u8 {
        match self.status {
            Status::Broken { .. } => 0,
            Status::AtRisk { .. } => 1,
            _ if self.refused => 2,
            _ => 3,
        }
    }

    fn fits(&self, find: &str) -> bool {
        let has = |text: &str| text.contains(find);
        let cause = trouble(self.status).map(|(cause, _)| cause.name());
        find.is_empty()
            || has(&self.connection.id)
            || has(self.status.name())
            || cause.is_some_and(has)
            || (self.refused && has("refused"))
            || has(&self.connection.peer.to_string())
    }
}

/// The cause and the bytes that are missing.
fn trouble(status: Status) -> Option<(Cause, u64)> {
    match status {
        Status::AtRisk { cause, shortfall } | Status::Broken { cause, shortfall } => {
            Some((cause, shortfall.get()))
        }
        _ => None,
    }
}

/// The upper end of an interval, unless there is none.
fn bounded(kbps: u32) -> Option<u32> {
    (kbps < u32::MAX).then_some(kbps)
}

fn history(samples: &VecDeque<Sample>) -> History {
    let of_estimate = |place: usize| {
        let rates = samples.iter();
        rates
            .map(|sample| bounded(sample.estimate?[place]))
            .collect()
    };
    let letter = |sample: &Sample| sample.status.name().chars().next();
    History {
        goodput: samples.iter().map(|sample| sample.goodput).collect(),
        available: of_estimate(0),
        low: of_estimate(1),
        high: of_estimate(2),
        required: samples.iter().map(|sample| sample.required).collect(),
        status: samples.iter().filter_map(letter).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::units::Bandwidth;

    #[test]
    fn a_lower_bound_has_no_upper_end() {
        let sample = |high| Sample {
            estimate: Some([9_000, 9_000, kbps(high)]),
            ..Sample::default()
        };
        let samples = [sample(Bandwidth::from_mbps(12)), sample(Bandwidth::MAX)];
        let history = history(&samples.into());
        assert_eq!(history.high, [Some(12_000), None]);
        assert_eq!(history.low, [Some(9_000), Some(9_000)]);
    }
}
