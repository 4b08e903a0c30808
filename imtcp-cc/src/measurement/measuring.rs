//! Feeds the estimators. What they find is told in `telling.rs`.

mod telling;

use super::bootstrap::Bootstrap;
use super::classic::ClassicEstimator;
use super::delivered::Delivered;
use super::policed::Policed;
use super::range::SearchRange;
use super::record::{Arrival, MeasurementRecord, PacketRecord};
use super::reports::Reports;
use super::start::StartReading;
use super::statistical::StatisticalEstimator;
use super::{Estimator, Step};
use crate::control::Enough;
use crate::estimate::{Estimate, EstimatorKind};
use crate::event::{Emit, Event};
use crate::path::ack::{Echo, EchoQuality};
use crate::path::{CapacityState, Heard, PathView};
use crate::saved::SavedPath;
use crate::transport::Acked;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// If less than this share of the capacity is free when a connection starts, others matter.
const CROWDED: f64 = 0.9;

#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuringSettings {
    /// The driving estimator: the application reads its estimates, and its ranges are searched.
    pub(crate) driver: EstimatorKind,
    /// The number of packets of a stream (N of IM 3.2.3).
    pub(crate) stream_packets: u32,
    /// The number of sub-ranges of a search range (k of IM 3.2.2).
    pub(crate) sub_ranges: u32,
    /// The least width of the search range, in IP-layer bits per second (B_m of IM 3.2.6); zero to
    /// derive it from the estimate.
    pub(crate) minimum_range: Bandwidth,
    /// Whether a window in slow start is told how much is enough.
    pub(crate) measured_start: bool,
}

/// What the measurement found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Findings<'a> {
    /// The driving estimator's latest estimate, even if it is out of date.
    pub(crate) estimate: Option<&'a Estimate>,
    /// Whether the tight link was busy practically all the time lately.
    pub(crate) is_link_covered: bool,
    /// Whether the sender lately sent less than its window allowed.
    pub(crate) is_application_limited: bool,
    /// What was delivered lately.
    pub(crate) delivered: &'a Delivered,
}

/// The two estimators and their inputs.
#[derive(Debug)]
pub(crate) struct Measuring {
    settings: MeasuringSettings,
    bootstrap: Bootstrap,
    pub(super) classic: ClassicEstimator,
    statistical: StatisticalEstimator,
    pub(super) record: MeasurementRecord,
    /// Whether a measurement runs and its echoes are awaited.
    is_running: bool,
    delivered: Delivered,
    policed: Policed,
    reports: Reports,
    start: StartReading,
    /// Whether the window grows in its first slow start.
    grows: bool,
    is_link_covered: bool,
    /// Whether something was told, or withdrawn, that nobody has taken yet.
    has_news: bool,
}

impl Measuring {
    pub(crate) fn new(settings: MeasuringSettings) -> Self {
        Self {
            settings,
            bootstrap: Bootstrap::default(),
            classic: ClassicEstimator::new(settings.minimum_range),
            statistical: StatisticalEstimator::new(settings.minimum_range),
            record: MeasurementRecord::new(settings.sub_ranges, settings.stream_packets),
            is_running: false,
            delivered: Delivered::default(),
            policed: Policed::default(),
            reports: Reports::new(settings.driver),
            start: StartReading::default(),
            grows: false,
            is_link_covered: false,
            has_news: false,
        }
    }

    pub(crate) fn findings(&self) -> Findings<'_> {
        Findings {
            estimate: self.reports.latest(self.settings.driver),
            is_link_covered: self.is_link_covered,
            is_application_limited: self.statistical.is_application_limited(),
            delivered: &self.delivered,
        }
    }

    /// The window that fills what is free on the path; `None` while that is not known.
    pub(crate) fn enough(&self, view: &PathView) -> Option<Enough> {
        let capacity = view
            .shown_capacity()
            .filter(|_| self.settings.measured_start)?;
        let least_rtt = view.rtt?.min;
        let free = self.start.free(capacity);
        let is_crowded = free < capacity.scaled(CROWDED);
        // Others may give way. What they leave now is not what they would leave.
        let most = if is_crowded { capacity } else { free };
        Some(Enough {
            window: view.payload_of(most.bytes_in(least_rtt)),
            is_crowded,
            least_rtt,
        })
    }

    /// What a later connection over the same path should know: the latest estimate, or else the
    /// rate that was just delivered. A lower bound may be less than that.
    pub(crate) fn saved(&self, view: &PathView) -> Option<SavedPath> {
        let rtt = view.rtt?;
        let told = self.told();
        let delivered = || self.delivered.recently(Duration::ZERO);
        let available = match told.filter(|told| !told.flags.lower_bound) {
            Some(estimate) => estimate.available,
            None => delivered().max(told.map(|bound| bound.available))?,
        };
        Some(SavedPath {
            available,
            least_rtt: rtt.min,
        })
    }

    /// The driving estimator's latest estimate, or else the lower bound that delivery gives;
    /// `None` while neither is known.
    pub(crate) fn told(&self) -> Option<Estimate> {
        self.reports.told()
    }

    /// The same, in an option of its own, if it has changed since the last call.
    #[inline]
    pub(crate) fn take_news(&mut self) -> Option<Option<Estimate>> {
        std::mem::take(&mut self.has_news).then(|| self.told())
    }

    /// The latest estimate of either estimator.
    pub(crate) fn latest(&self, estimator: EstimatorKind) -> Option<Estimate> {
        self.reports.latest(estimator).copied()
    }

    /// A packet of the first flight left, before the first echo.
    pub(crate) fn on_first_flight(&mut self, now: Timestamp, number: u64, size: Bytes) {
        self.bootstrap.on_sent(number, size, now);
    }

    /// A packet left. If there was no estimate for long, the last one is withdrawn.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Timestamp, number: u64, emit: Emit<'_>) {
        self.policed.on_sent(now, number);
        if self.reports.on_sent(now) {
            self.withdraw(now, emit);
        }
    }

    /// The scheduler took a step.
    pub(crate) fn on_step(&mut self, step: &Step) {
        match *step {
            Step::MeasurementStarted {
                measurement,
                range,
                stream_packets,
                cadence,
            } => {
                self.record.set_stream_packets(stream_packets);
                self.record.begin(measurement, range, cadence);
                self.is_running = true;
            }
            Step::StreamStarted { stream, .. } | Step::StreamAbandoned { stream, .. } => {
                self.record.begin_stream(stream);
            }
            Step::ProbeSent {
                stream,
                number,
                size,
                at,
            } => self
                .record
                .on_sent(stream, PacketRecord::sent(number, size, at)),
            Step::MeasurementEnded | Step::MeasurementAbandoned { .. } => self.is_running = false,
        }
    }

    /// Takes what an acknowledgement told of the path. True if the remaining streams of the
    /// measurement are not needed (IM 3.2.3).
    #[inline]
    pub(crate) fn on_heard(&mut self, heard: &Heard<'_>, emit: Emit<'_>) -> bool {
        if heard.has_restarted {
            self.statistical = StatisticalEstimator::new(self.settings.minimum_range);
            self.record.on_other_clock();
        }
        let mut may_stop = false;
        for echo in heard.echoes {
            may_stop |= self.on_echo(echo, emit);
        }
        let packet = heard.view.packet();
        if let Some(capacity) = heard.delivery {
            self.on_capacity(capacity, packet, emit);
        }
        for (gap, at) in heard.gaps() {
            self.statistical.set_echoes(at.timing, at.jitter, packet);
            self.on_capacity(at.capacity, packet, emit);
            self.statistical.on_gap(gap);
            if self.settings.measured_start {
                self.start.on_gap(gap);
            }
        }
        if heard.is_longer {
            self.statistical.on_longer_path();
        }
        let round_trip = heard.view.rtt.map_or(Duration::ZERO, |rtt| rtt.min);
        self.delivered.on_ack(heard.now, heard.bytes, round_trip);
        may_stop
    }

    /// Takes the packets that an acknowledgement covers.
    #[inline]
    pub(crate) fn on_acked(&mut self, acked: &Acked<'_>, view: &PathView) {
        self.policed
            .on_acked(acked, |payload| view.on_wire(payload));
    }

    #[inline]
    fn on_echo(&mut self, echo: &Echo, emit: Emit<'_>) -> bool {
        if let Some(cprobe) = self.bootstrap.on_echo(echo) {
            self.classic.on_first_train(cprobe);
        }
        let arrival = Arrival {
            at: echo.arrived,
            quality: echo.quality,
        };
        let Some(stream) = self.take_arrival(echo.packet_number, arrival) else {
            return false;
        };
        let trend = self.classic.judge(&self.record, stream);
        emit(Event::StreamJudged {
            measurement: self.record.measurement(),
            stream,
            trend: trend.as_number(),
        });
        self.classic.may_stop_early(&self.record)
    }

    /// Returns the stream that this packet completes, if it completes one.
    fn take_arrival(&mut self, number: u64, arrival: Arrival) -> Option<u32> {
        if !self.is_running {
            return None;
        }
        let stream = self.record.on_echo(number, arrival)?;
        let record = self.record.stream(stream)?;
        (record.is_complete() && record.is_settled()).then_some(stream)
    }

    #[inline]
    fn on_capacity(&mut self, state: CapacityState, packet: Bytes, emit: Emit<'_>) {
        self.statistical.set_bound(state.is_bound);
        self.statistical.set_doubt(state.doubt);
        if let Some(capacity) = state.changed {
            self.statistical.on_capacity(capacity, packet, state.since);
            emit(Event::CapacityUpdated { capacity });
        }
    }

    /// A packet was declared lost. Its echo is not awaited any more.
    pub(crate) fn on_lost(&mut self, now: Timestamp, number: u64) {
        self.policed.on_lost(number);
        let arrival = Arrival {
            at: now,
            quality: EchoQuality::Lost,
        };
        let _ = self.take_arrival(number, arrival);
    }

    /// Sets whether the sender sends less than its window allows, and whether its packets leave in
    /// bunches because timers cannot space them.
    pub(crate) fn set_application_limited(&mut self, limited: bool, bunched: bool) {
        self.statistical.set_application_limited(limited);
        self.statistical.set_bunched(bunched);
    }

    /// Sets whether the window grows in its first slow start.
    pub(crate) fn set_growing(&mut self, grows: bool) {
        self.grows = grows && self.settings.measured_start;
    }

    /// Whether all echoes of the measurement have come.
    pub(crate) fn is_settled(&self) -> bool {
        self.record.is_settled()
    }

    /// The range that the next measurement searches; `None` while nothing is known of the path, and
    /// while trains are to tell of a link that has just changed.
    pub(crate) fn next_range(&self, now: Timestamp, view: &PathView) -> Option<SearchRange> {
        let bound = view.capacity;
        let drives = self.settings.driver == EstimatorKind::Statistical;
        if drives && self.statistical.is_new_link(now) {
            return None;
        }
        let driver: &dyn Estimator = match self.settings.driver {
            EstimatorKind::Classic => &self.classic,
            EstimatorKind::Statistical => &self.statistical,
        };
        let above = self.range_above_delivered();
        driver
            .next_range(bound)
            .or_else(|| self.classic.next_range(bound))
            .or_else(|| bound.map(SearchRange::first))
            .map(|range| unrefuted(range, above))
            .or(above)
    }

    /// The range (r, 2 r), where r is the rate that was just delivered. It is the first range of
    /// IM 3.2.1 for a rough value of 2 r.
    fn range_above_delivered(&self) -> Option<SearchRange> {
        let rate = self.delivered.recently(Duration::ZERO)?;
        Some(SearchRange::first(rate.saturating_add(rate)))
    }
}

/// The range, or `above` if that lies wholly above it: delivery then refutes the range.
fn unrefuted(range: SearchRange, above: Option<SearchRange>) -> SearchRange {
    above
        .filter(|above| above.low() > range.high())
        .unwrap_or(range)
}
