//! A small model for the tests of tools: one link that serves packets in order, beside constant
//! cross traffic, and no way back but the time that it takes.

use super::{Answer, Step, Tool};
use imtcp_cc::units::{Bandwidth, Timestamp};

/// The way from the link to the receiver, and the way back.
const ONE_WAY_NS: u64 = 10_000_000;

pub(super) struct Link {
    bits_per_ns: f64,
    /// Nanoseconds between cross packets, and nanoseconds that each takes.
    cross: Option<(f64, f64)>,
    next_cross: f64,
    /// When the link will be idle.
    free_at: f64,
    pub(super) now: Timestamp,
    /// The bytes of the probes.
    pub(super) bytes: u64,
    pub(super) loses_all: bool,
}

pub(super) fn mbps(rate: Bandwidth) -> f64 {
    rate.as_bps_f64() / 1e6
}

impl Link {
    pub(super) fn new(mbps: f64) -> Self {
        Self {
            bits_per_ns: mbps / 1e3,
            cross: None,
            next_cross: 0.0,
            free_at: 0.0,
            now: Timestamp::ZERO,
            bytes: 0,
            loses_all: false,
        }
    }

    /// Packets of `size` bytes at a constant rate.
    pub(super) fn with_cross_traffic(mut self, mbps: f64, size: u32) -> Self {
        let bits = f64::from(size) * 8.0;
        self.cross = Some((bits * 1e3 / mbps, bits / self.bits_per_ns));
        self
    }

    /// When a packet that comes now has crossed.
    fn cross_at(&mut self, bits: f64) -> f64 {
        let now = self.now.as_nanos() as f64;
        if let Some((gap, takes)) = self.cross {
            while self.next_cross <= now {
                self.free_at = self.free_at.max(self.next_cross) + takes;
                self.next_cross += gap;
            }
        }
        self.free_at = self.free_at.max(now) + bits / self.bits_per_ns;
        self.free_at
    }

    pub(super) fn measured_by(&mut self, tool: &mut dyn Tool) -> Option<Answer> {
        let mut arrivals = Vec::new();
        for _ in 0..10_000_000 {
            match tool.step(self.now) {
                Step::Send { number, size } => {
                    self.bytes += size.get();
                    let at = self.cross_at(size.as_bits_f64());
                    arrivals.push((number, nanos(at) + ONE_WAY_NS));
                }
                Step::Ask => {
                    // The question is behind the probes, and the answer needs the way back.
                    let back = nanos(self.free_at).max(self.now.as_nanos()) + 2 * ONE_WAY_NS;
                    self.now = Timestamp::from_nanos(back);
                    for (number, at) in arrivals.drain(..) {
                        if !self.loses_all {
                            tool.on_arrival(number, Timestamp::from_nanos(at));
                        }
                    }
                    tool.on_report(self.now);
                }
                Step::WaitUntil(at) => self.now = self.now.max(at),
                Step::WaitForReport => panic!("the report came with the question"),
                Step::Done => return tool.answer(),
            }
        }
        panic!("it does not end");
    }
}

#[expect(clippy::cast_possible_truncation, reason = "times of tests are far below 2^53 ns")]
#[expect(clippy::cast_sign_loss, reason = "times are not negative")]
fn nanos(at: f64) -> u64 {
    at as u64
}
