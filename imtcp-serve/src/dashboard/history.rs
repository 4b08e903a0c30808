//! A minute of each connection.

use crate::connection::Connection;
use crate::site::Site;
use futures::{StreamExt, stream};
use imtcp_cc::promise::{Promise, Status};
use imtcp_cc::units::{Bandwidth, Bytes};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;
use tokio_quiche::quic::QuicConnectionStats;

/// How often connections are looked at.
pub const STEP: Duration = Duration::from_secs(1);

/// The samples that are kept of each connection.
pub const KEPT: usize = 60;

/// The most connections that are looked at, the oldest first: 12 MB of samples. The rest are
/// counted.
pub const MOST: usize = 4096;

/// A connection that has not answered by then is asked again in the next round. All are asked at
/// the same time, so a round takes no longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is watched: the connections of a server.
#[derive(Debug)]
pub struct Watch {
    pub(super) site: Arc<Site>,
    pub(super) began: Instant,
    tracks: Mutex<Tracks>,
}

#[derive(Debug, Default)]
pub(super) struct Tracks {
    pub(super) of: BTreeMap<Arc<str>, Track>,
    /// The sums over all that are watched.
    pub(super) all: VecDeque<Sum>,
}

/// Rates of all connections together, in kbit/s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) goodput: u64,
    pub(super) required: u64,
}

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) samples: VecDeque<Sample>,
    pub(super) path: Option<Path>,
    /// Content given to the driver when it was asked last.
    given: u64,
    /// When it answered last, and the bytes that were acknowledged until then.
    answered: Option<(Instant, u64)>,
    /// The samples since then, whose rate is not known yet.
    unanswered: usize,
}

/// What quiche tells of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) round_trip: Duration,
    pub(super) sent: u64,
    pub(super) lost: u64,
}

/// Rates in kbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) goodput: u32,
    pub(super) required: Option<u32>,
    /// The available bandwidth and its interval.
    pub(super) estimate: Option<[u32; 3]>,
    pub(super) status: Status,
}

impl Watch {
    /// Of the connections of this site.
    pub fn new(site: Arc<Site>) -> Self {
        Self {
            site,
            began: Instant::now(),
            tracks: Mutex::default(),
        }
    }

    pub(super) fn tracks(&self) -> MutexGuard<'_, Tracks> {
        // Samples that are missing or too many do no harm.
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks once a second, for ever.
    pub(super) async fn run(&self) {
        let mut steps = tokio::time::interval(STEP);
        steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            steps.tick().await;
            self.look().await;
        }
    }

    async fn look(&self) {
        let mut all = self.site.live.all();
        all.truncate(MOST);
        let asked: Vec<_> = {
            let mut tracks = self.tracks();
            let wants = |connection: &&Arc<Connection>| {
                let track = tracks.of.entry(Arc::clone(&connection.id)).or_default();
                track.wants(connection)
            };
            all.iter().filter(wants).cloned().collect()
        };
        let ask = |connection: Arc<Connection>| async move {
            let stats = tokio::time::timeout(PATIENCE, connection.stats()).await;
            (Arc::clone(&connection.id), stats.ok().flatten())
        };
        let answers = stream::iter(asked).map(ask).buffer_unordered(MOST);
        let mut answers: Answers = answers.collect().await;

        self.remember(&all, &mut answers);
    }

    fn remember(&self, all: &[Arc<Connection>], answers: &mut Answers) {
        let now = Instant::now();
        let mut sum = Sum::default();
        let mut tracks = self.tracks();
        let mut before = std::mem::take(&mut tracks.of);
        for connection in all {
            let mut track = before.remove(&connection.id).unwrap_or_default();
            let sample = Sample::of(connection);
            sum.required += u64::from(sample.required.unwrap_or(0));
            push(&mut track.samples, sample);
            match answers.remove(&connection.id) {
                Some(Some(stats)) => sum.goodput += track.hear(now, &stats),
                Some(None) => track.unanswered += 1,
                // It moves nothing, and was not asked.
                None => {}
            }
            tracks.of.insert(Arc::clone(&connection.id), track);
        }
        push(&mut tracks.all, sum);
    }
}

/// What the connections said that were asked.
type Answers = BTreeMap<Arc<str>, Option<QuicConnectionStats>>;

fn push<T>(samples: &mut VecDeque<T>, sample: T) {
    if samples.len() == KEPT {
        samples.pop_front();
    }
    samples.push_back(sample);
}

impl Track {
    /// A connection that moves nothing is left alone: its answer would be the last one.
    fn wants(&mut self, connection: &Connection) -> bool {
        let given = connection.bytes.load(Ordering::Relaxed);
        let moved = std::mem::replace(&mut self.given, given) != given;
        let last = self.samples.back();
        let moves = self.unanswered > 0 || last.is_some_and(|last| last.goodput > 0);
        let is_open = connection.open.load(Ordering::Relaxed) > 0;
        self.answered.is_none() || moved || moves || is_open
    }

    /// Gives the samples since the last answer their rate. Returns what arrived since, as a rate
    /// over one step, in kbit/s.
    fn hear(&mut self, now: Instant, stats: &QuicConnectionStats) -> u64 {
        let acked = stats.stats.acked_bytes;
        let before = self.answered.replace((now, acked));
        if let Some(path) = &stats.path_stats {
            self.path = Some(Path {
                round_trip: path.rtt,
                sent: stats.stats.sent as u64,
                lost: stats.stats.lost as u64,
            });
        }
        let unanswered = std::mem::take(&mut self.unanswered);
        let Some((then, until)) = before else {
            return 0;
        };
        let bytes = Bytes::new(acked.saturating_sub(until));
        let over = |time| Bandwidth::from_bytes_over(bytes, time).map_or(0, kbps);
        let rate = over(now.saturating_duration_since(then));
        let since = self.samples.len().saturating_sub(unanswered + 1);
        for sample in self.samples.range_mut(since..) {
            sample.goodput = rate;
        }
        u64::from(over(STEP))
    }
}

impl Sample {
    /// With the rate still to come.
    fn of(connection: &Connection) -> Self {
        let promise = connection.promise.as_ref();
        let estimate = promise.and_then(Promise::estimate);
        Self {
            goodput: 0,
            required: connection.required().0.map(kbps),
            estimate: estimate.map(|is| [is.available, is.low, is.high].map(kbps)),
            status: promise.map(Promise::status).unwrap_or_default(),
        }
    }
}

/// Rounded. More than a `u32` holds is as good as its end.
pub(super) fn kbps(rate: Bandwidth) -> u32 {
    u32::try_from(rate.as_bps().saturating_add(500) / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_kept_and_no_more() {
        let mut samples = VecDeque::new();
        for goodput in 0..200 {
            push(&mut samples, goodput);
        }
        assert_eq!(samples.len(), KEPT);
        assert_eq!((samples[0], samples[KEPT - 1]), (140, 199));
    }

    #[test]
    fn rates_are_rounded_and_bounded() {
        assert_eq!(kbps(Bandwidth::from_bps(1_499)), 1);
        assert_eq!(kbps(Bandwidth::from_bps(1_500)), 2);
        assert_eq!(kbps(Bandwidth::MAX), u32::MAX);
    }
}
