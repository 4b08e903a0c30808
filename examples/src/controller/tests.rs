//! One factory, and controllers of several connections.

use super::*;
use imtcp_cc::promise::{Cause, Promise, Requirement, Status};
use quiche::cc::{
    AckReceived, AckedPacket, Factory as _, PacketSent, PacketSpace, PathIdentity, Release, Rtt,
    SendContext,
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
    TimedFactory::new(true, 0, instruments).expect("within its range")
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
    let available = promise.outlook().map(|outlook| outlook.available.as_bps());
    assert!(available > Some(15_000_000), "{available:?}");
    // 20 are there, of which the first leaves less than 8.
    promise.require(require(8.0)).expect("the path has it");
    second.until(began + Duration::from_millis(3200));
    let status = promise.status();
    let is_refused = matches!(status, Status::Broken { cause, .. } if cause == Cause::Ceiling);
    assert!(is_refused, "{status:?}");
}
