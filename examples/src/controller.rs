//! Which congestion controller a server uses, and what is asked of it.

use crate::acknowledgements::Acknowledgements;
use crate::estimates::EstimateLog;
use crate::slots::SlotLog;
use crate::timing::{ReleaseTiming, Timed};
use anyhow::Result;
use clap::ValueEnum;
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::quiche::{Controller, Detail, Factory, RECEIVE_TIMESTAMPS_PER_ACK};
use imtcp_cc::units::{Bytes, Timestamp};
use quiche::cc::{CongestionController, PathContext};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A congestion controller by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControllerKind {
    /// ImTCP: measures while it sends.
    Imtcp,
    /// The same without probe streams, as a baseline.
    ImtcpOff,
    /// quiche's Reno.
    Reno,
    /// quiche's CUBIC.
    Cubic,
    /// quiche's BBRv2.
    Bbr2,
}

impl ControllerKind {
    /// quiche's name of it, if it is quiche's.
    fn built_in(self) -> Option<&'static str> {
        match self {
            Self::Imtcp | Self::ImtcpOff => None,
            Self::Reno => Some("reno"),
            Self::Cubic => Some("cubic"),
            Self::Bbr2 => Some("bbr2_gcongestion"),
        }
    }

    /// Whether a rate can be required of it.
    pub(crate) fn makes_promises(self) -> bool {
        self.built_in().is_none()
    }

    /// Whether it leaves the times of its packets to the caller of quiche.
    pub(crate) fn is_paced_by_caller(self) -> bool {
        self == Self::Bbr2
    }
}

/// What the controllers of a server share.
#[derive(Clone, Debug)]
pub(crate) struct Instruments {
    /// Where estimates go, if anywhere.
    pub(crate) estimates: Option<Arc<EstimateLog>>,
    /// Where slots go, if a rate is required.
    pub(crate) slots: Option<Arc<SlotLog>>,
    /// Where the times of packets are kept.
    pub(crate) timing: Arc<Mutex<ReleaseTiming>>,
    /// Where acknowledgements are counted.
    pub(crate) acknowledgements: Arc<Mutex<Acknowledgements>>,
    /// How much goes to the qlog, if the connection has one.
    pub(crate) detail: Detail,
}

/// Makes `kind` the controller of the connections that `config` is for. Estimates count
/// `header_overhead` for each packet besides its UDP payload.
pub(crate) fn install(
    kind: ControllerKind,
    header_overhead: Bytes,
    instruments: Instruments,
    config: &mut quiche::Config,
) -> Result<()> {
    match kind.built_in() {
        Some(name) => config.set_cc_algorithm_name(name)?,
        None => {
            let imtcp = imtcp_cc::Config::builder()
                .measurement(kind == ControllerKind::Imtcp)
                .header_overhead(header_overhead)
                .build()?;
            config.set_congestion_controller(Arc::new(TimedFactory::new(imtcp, instruments)));
            config.set_max_receive_timestamps_per_ack(RECEIVE_TIMESTAMPS_PER_ACK);
        }
    }
    Ok(())
}

/// Builds the project's controllers with the instruments attached.
struct TimedFactory {
    /// Every path gets a clone of it, because clones share the bounds of promises.
    factory: Factory,
    instruments: Instruments,
    /// Controllers built so far.
    paths: AtomicU64,
}

impl TimedFactory {
    fn new(config: imtcp_cc::Config, instruments: Instruments) -> Self {
        Self {
            factory: Factory::new(config).with_qlog_detail(instruments.detail),
            instruments,
            paths: AtomicU64::new(0),
        }
    }
}

impl fmt::Debug for TimedFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimedFactory")
            .field("factory", &self.factory)
            .finish_non_exhaustive()
    }
}

impl quiche::cc::Factory for TimedFactory {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        let number = self.paths.fetch_add(1, Ordering::Relaxed) + 1;
        let origin = Controller::origin_of(path);
        let mut listeners = Listeners(Vec::new());
        if let Some(log) = &self.instruments.estimates {
            listeners.0.push(Arc::new(log.of_path(number, origin)));
        }
        let slots = self.instruments.slots.as_ref();
        let slots = slots.map(|log| Arc::new(log.of_path(number, origin)));
        if let Some(slots) = &slots {
            listeners.0.push(Arc::clone(slots) as _);
        }
        let factory = self.factory.clone().with_subscriber(Arc::new(listeners));
        let controller = factory.build(path);
        let inner: &dyn Any = &*controller;
        if let (Some(slots), Some(inner)) = (slots, inner.downcast_ref::<Controller>()) {
            slots.attach(inner.promise());
        }
        Box::new(Timed::new(
            number,
            controller,
            Arc::clone(&self.instruments.timing),
            Arc::clone(&self.instruments.acknowledgements),
        ))
    }
}

/// Several subscribers in the place of one.
#[derive(Debug)]
struct Listeners(Vec<Arc<dyn Subscriber>>);

impl Subscriber for Listeners {
    fn on_event(&self, now: Timestamp, event: &Event) {
        for listener in &self.0 {
            listener.on_event(now, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::promise::{Cause, Promise, Requirement, Status};
    use quiche::cc::{
        AckReceived, AckedPacket, Factory as _, PacketSent, PacketSpace, PathIdentity, Release,
        Rtt, SendContext,
    };
    use std::collections::VecDeque;
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const SIZE: usize = 1200;
    /// A packet with its headers at 20 Mbit/s.
    const ON_THE_LINK: Duration = Duration::from_nanos(491_200);
    const ROUND_TRIP: Duration = Duration::from_millis(20);

    fn factory() -> TimedFactory {
        let instruments = Instruments {
            estimates: None,
            slots: None,
            timing: Arc::default(),
            acknowledgements: Arc::default(),
            detail: Detail::default(),
        };
        TimedFactory::new(imtcp_cc::Config::default(), instruments)
    }

    fn path(now: Instant, port: u16) -> PathContext {
        PathContext {
            identity: PathIdentity {
                peer: (Ipv4Addr::new(192, 0, 2, 1), port).into(),
                ..PathIdentity::default()
            },
            now,
            max_datagram_size: SIZE,
            initial_window_packets: 10,
            initial_rtt: Duration::from_millis(333),
        }
    }

    /// A connection over a path that loses nothing, whose client takes so many packets ahead.
    struct Flow {
        controller: Box<dyn CongestionController>,
        most: usize,
        now: Instant,
        /// When the link has sent what it was given.
        free: Instant,
        /// With the times of their acknowledgements.
        flying: VecDeque<(AckedPacket, Instant)>,
        next: u64,
        rtt: Option<Rtt>,
    }

    impl Flow {
        fn new(factory: &TimedFactory, path: &PathContext, most: usize) -> Self {
            Self {
                controller: factory.build(path),
                most,
                now: path.now,
                free: path.now,
                flying: VecDeque::new(),
                next: 0,
                rtt: None,
            }
        }

        fn promise(&self) -> Promise {
            let controller: &dyn Any = &*self.controller;
            let timed = controller.downcast_ref::<Timed>().expect("a timed one");
            timed.controller().expect("this project's").promise()
        }

        fn until(&mut self, end: Instant) {
            loop {
                let release = self.send();
                let back = self.flying.front().map(|(_, back)| *back);
                let Some(next) = release.into_iter().chain(back).min() else {
                    panic!("nothing would ever happen again");
                };
                if next > end {
                    return;
                }
                self.now = self.now.max(next);
                if back.is_some_and(|back| back <= self.now) {
                    self.acknowledge();
                }
            }
        }

        /// Sends what may leave now, and says when the next packet may.
        fn send(&mut self) -> Option<Instant> {
            loop {
                let bytes_in_flight = self.flying.len() * SIZE;
                let queued_bytes = (self.most - self.flying.len()) * SIZE;
                if queued_bytes == 0 {
                    self.controller.on_app_limited(self.now);
                }
                let cwnd_available = self.controller.cwnd().saturating_sub(bytes_in_flight);
                if queued_bytes.min(cwnd_available) < SIZE {
                    return None;
                }
                let release = self.controller.next_release(&SendContext {
                    now: self.now,
                    queued_bytes,
                    retransmission: false,
                    bytes_in_flight,
                    cwnd_available,
                    max_datagram_size: SIZE,
                });
                match release {
                    Release::Now => self.put(),
                    Release::At(due) => return Some(due),
                    Release::Hold => return None,
                }
            }
        }

        fn put(&mut self) {
            self.free = self.free.max(self.now) + ON_THE_LINK;
            let packet = AckedPacket {
                packet_number: self.next,
                size: SIZE,
                time_sent: self.now,
                app_limited: false,
            };
            self.next += 1;
            self.flying.push_back((packet, self.free + ROUND_TRIP));
            self.controller.on_packet_sent(&PacketSent {
                now: self.now,
                space: PacketSpace::Application,
                packet_number: packet.packet_number,
                size: SIZE,
                in_flight: true,
                ack_eliciting: true,
                app_data: true,
                released: true,
                bytes_in_flight: self.flying.len() * SIZE,
            });
        }

        fn acknowledge(&mut self) {
            let (packet, _) = self.flying.pop_front().expect("it is in flight");
            let latest = self.now - packet.time_sent;
            let last = self.rtt.unwrap_or(Rtt {
                latest,
                min: latest,
                smoothed: latest,
                variation: latest / 2,
            });
            let rtt = Rtt {
                latest,
                min: last.min.min(latest),
                smoothed: (7 * last.smoothed + latest) / 8,
                variation: (3 * last.variation + last.smoothed.abs_diff(latest)) / 4,
            };
            self.rtt = Some(rtt);
            self.controller.on_ack(&AckReceived {
                now: self.now,
                space: PacketSpace::Application,
                largest_acked: packet.packet_number,
                ack_delay: Duration::ZERO,
                acked: &[packet],
                rtt,
                bytes_in_flight: self.flying.len() * SIZE,
                ecn_ce: None,
                receive_times: &[],
            });
        }
    }

    #[test]
    fn connections_to_one_host_share_the_bounds_of_a_promise() {
        let require = |mbps: f64| Requirement::from_f64(mbps * 1e6, 2.0).expect("possible");
        let began = Instant::now();
        let factory = factory();
        // The first has 16 Mbit/s reserved, and its client takes one.
        let mut first = Flow::new(&factory, &path(began, 1), 2);
        let required = first.promise().require(require(16.0));
        required.expect("nothing known of the path speaks against it");
        first.until(began + Duration::from_secs(4));
        let mut second = Flow::new(&factory, &path(began, 2), 60);
        second.until(began + Duration::from_secs(3));
        let promise = second.promise();
        let available = promise.outlook().map(|outlook| outlook.available);
        assert!(
            available.is_some_and(|available| available.as_bps() > 15_000_000),
            "{available:?}"
        );
        // 20 are there, of which the first leaves less than 8.
        promise.require(require(8.0)).expect("the path has it");
        second.until(began + Duration::from_millis(3200));
        let status = promise.status();
        let is_refused = matches!(status, Status::Broken { cause, .. } if cause == Cause::Ceiling);
        assert!(is_refused, "{status:?}");
    }
}
