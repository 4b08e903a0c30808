//! Two real connections in virtual time: a server with the measuring controller, and a client that
//! acknowledges as it is asked, tells when packets came, and lies about both.
//!
//! Input: how the two are set up (a byte of choices; min_ack_delay, the most timestamps, the
//! exponent), then steps, a byte each and what belongs to it; see `Harness::step`. In the end the
//! link is a good one: a connection that still stands has to carry all its data, and one that does
//! not has to have a reason.

mod world;

use crate::input::{Input, LARGEST, Output};
use crate::{Met, Seed};
use imtcp_cc::quiche::{Controller, Factory};
use imtcp_cc::{Config as Measuring, EstimatorKind};
use quiche::Type;
use quiche::ack_frequency::Request;
use std::sync::Arc;
use std::time::Duration;
use world::{Fate, Side, World};

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "requests understood",
    "timestamps asked for",
    "times are read",
    "a peer that is no longer believed, or never was",
    "a request in bad faith",
    "closed for a request",
    "closed for timestamps",
    "an estimate",
    "datagrams lost",
    "all data arrived",
];

/// One step lasts no longer.
const LONGEST_PAUSE: u64 = 2_000_000;
/// A client's clock is off by so much at most: its own timers suffer from it.
const LONGEST_JUMP: u64 = 60_000_000;
/// Steps of an input.
const MOST_STEPS: usize = 200;

const FRAME_ENCODING_ERROR: u64 = 0x07;
const PROTOCOL_VIOLATION: u64 = 0x0a;

struct Harness {
    world: World,
    met: Met,
    /// The client sent what may end a connection, and the server did.
    false_timestamps: bool,
    false_requests: bool,
}

/// What the two are set up for.
struct SetUp {
    understands: bool,
    min_ack_delay: Duration,
    answers: bool,
    max: u64,
    exponent: u64,
}

/// See [`crate::Target::run`].
pub fn run(bytes: &[u8]) -> Met {
    let mut input = Input::new(bytes);
    let Some(mut harness) = Harness::set_up(&mut input) else {
        return Met::new();
    };
    for _ in 0..MOST_STEPS {
        if harness.step(&mut input).is_none() {
            break;
        }
    }
    harness.finish();
    harness.met
}

impl Harness {
    fn set_up(input: &mut Input) -> Option<Self> {
        let choices = input.byte()?;
        let set_up = SetUp {
            understands: choices & 1 > 0,
            answers: choices & 2 > 0,
            min_ack_delay: input.micros()?,
            max: input.number()?,
            exponent: input.below(21)?,
        };
        let mut measuring = Measuring::builder();
        if choices & 4 > 0 {
            measuring = measuring.estimator(EstimatorKind::Classic);
        }
        let measuring = measuring.build().expect("a valid configuration");
        let is_delayed = choices & 8 > 0;
        let world = world::with_configs(set_up.understands, is_delayed, |server, client| {
            server.set_congestion_controller(Arc::new(Factory::new(measuring)));
            server.set_max_receive_timestamps_per_ack(set_up.max);
            server
                .set_receive_timestamps_exponent(set_up.exponent)
                .expect("a valid exponent");
            client.enable_receive_timestamps(set_up.answers);
            if set_up.understands {
                client.enable_ack_frequency(set_up.min_ack_delay);
            }
            if is_delayed {
                client.set_delayed_acks(1);
            }
            World::new(server, client)
        });
        let mut harness = Self {
            world,
            met: Met::new(),
            false_timestamps: false,
            false_requests: false,
        };
        harness.check_agreement(&set_up);
        Some(harness)
    }

    /// What the one side configured is what the other side knows, by real transport parameters.
    fn check_agreement(&mut self, set_up: &SetUp) {
        let known = self.world.client.receive_timestamps_sent();
        let known = known.map(|asked| (asked.max_per_ack(), u64::from(asked.exponent())));
        let wanted = set_up.answers && set_up.max > 0;
        assert_eq!(known, wanted.then_some((set_up.max, set_up.exponent)));
        if wanted {
            self.met.insert("timestamps asked for");
        }
        if set_up.understands {
            self.met.insert("requests understood");
        }
    }

    fn step(&mut self, input: &mut Input) -> Option<()> {
        match input.byte()? % 9 {
            // Data, then time.
            0 | 1 => {
                let bytes = input.number()?;
                self.world.write(Side::Server, bytes);
                let micros = input.below(LONGEST_PAUSE)?;
                self.world.run_for(Duration::from_micros(micros));
            }
            2 => {
                let bytes = input.number()?;
                self.world.write(Side::Client, bytes);
            }
            3 => {
                let micros = input.below(LONGEST_PAUSE)?;
                self.world.run_for(Duration::from_micros(micros));
            }
            // The fate of the next datagrams: how many, from whom, what, by how much late.
            4 => {
                let count = usize::try_from(input.below(64)?).ok()?;
                let choice = input.byte()?;
                let late = Duration::from_micros(input.below(LONGEST_PAUSE)?);
                let fate = match choice >> 1 & 3 {
                    0 | 1 => Fate::Lost,
                    2 => Fate::Late(late),
                    _ => Fate::Twice(late),
                };
                let from = if choice & 1 > 0 {
                    Side::Client
                } else {
                    Side::Server
                };
                self.met.insert("datagrams lost");
                self.world.set_fate(from, count, fate);
            }
            // A request out of nowhere.
            5 | 6 => {
                let (from, request) = request(input)?;
                self.false_requests = true;
                self.met.insert("a request in bad faith");
                let ty = Type::Short;
                self.world.side(from).inject_ack_request(ty, request);
            }
            // The client tells more than was asked for, or in another unit.
            7 => {
                let (max, exponent) = (input.number()?, input.below(21)?);
                self.false_timestamps = true;
                let client = &mut self.world.client;
                client.presume_receive_timestamps_asked(max, exponent);
            }
            // The clock by which the client says when packets came.
            _ => {
                let ahead = input.byte()? & 1 > 0;
                let offset = Duration::from_micros(input.below(LONGEST_JUMP)?);
                self.world.set_client_clock(ahead, offset);
            }
        }
        Some(())
    }

    fn finish(&mut self) {
        self.world.make_honest();
        let all_arrived = self.world.run_until_idle();
        self.look_at_the_controller();
        let Some(code) = self.world.error() else {
            assert!(all_arrived, "a connection that stands has to carry data");
            self.met.insert("all data arrived");
            return;
        };
        let allowed = [FRAME_ENCODING_ERROR, PROTOCOL_VIOLATION];
        assert!(allowed.contains(&code), "closed with {code:#x}");
        assert!(
            self.false_requests || self.false_timestamps,
            "for no reason"
        );
        if !self.false_timestamps {
            self.met.insert("closed for a request");
        }
        if !self.false_requests {
            self.met.insert("closed for timestamps");
        }
    }

    fn look_at_the_controller(&mut self) {
        let controller = self.world.server.congestion_controller::<Controller>();
        let core = controller.expect("the server's controller").core();
        for kind in [EstimatorKind::Classic, EstimatorKind::Statistical] {
            if let Some(estimate) = core.estimate_of(kind) {
                self.met.insert("an estimate");
                assert!(estimate.low <= estimate.available);
            }
        }
        let reads = format!("{core:?}").contains("by_peer: true");
        self.met.insert(if reads {
            "times are read"
        } else {
            "a peer that is no longer believed, or never was"
        });
    }
}

fn request(input: &mut Input) -> Option<(Side, Request)> {
    let choice = input.byte()?;
    let from = if choice & 1 > 0 {
        Side::Client
    } else {
        Side::Server
    };
    if choice & 2 > 0 {
        return Some((from, Request::Immediate));
    }
    let request = Request::Frequency {
        // The sender's own numbers go on from there, and need some room.
        sequence: input.below(1 << 61)?,
        ack_eliciting_threshold: input.number()?,
        // Up to twice what is allowed. The side that asks counts with it, and waits.
        max_ack_delay: input.below(1 << 25)?,
        reordering_threshold: input.number()?,
    };
    Some((from, request))
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    // Both extensions; min_ack_delay 1 ms, 64 timestamps, microseconds.
    let both = || Output::new().bytes(&[3]).numbers(&[1000, 64, 0]);
    let transfer = |output: Output, steps| {
        output.repeat(steps, |output, _| {
            output.bytes(&[0]).numbers(&[1 << 16, 100_000])
        })
    };
    let from_server = |fields: [u64; 4]| Output::new().bytes(&[5, 0]).numbers(&fields).done();
    vec![
        (
            "neither",
            transfer(Output::new().bytes(&[0]).numbers(&[0, 0, 0]), 4).done(),
        ),
        ("both", transfer(both(), 6).done()),
        (
            "both-ways",
            transfer(both(), 2)
                .bytes(&[2])
                .numbers(&[50_000])
                .bytes(&transfer(Output::new(), 3).done())
                .done(),
        ),
        (
            "losses",
            transfer(both(), 2)
                .bytes(&[4])
                .numbers(&[9])
                .bytes(&[0])
                .numbers(&[0])
                .bytes(&[4])
                .numbers(&[5])
                .bytes(&[5])
                .numbers(&[70_000])
                .bytes(&transfer(Output::new(), 3).done())
                .done(),
        ),
        (
            "never-acknowledge",
            transfer(
                transfer(both(), 1).bytes(&from_server([99, LARGEST, 16_000_000, 0])),
                3,
            )
            .done(),
        ),
        (
            "delay-too-short",
            transfer(transfer(both(), 1).bytes(&from_server([99, 1, 5, 0])), 1).done(),
        ),
        (
            "request-not-understood",
            transfer(both(), 1)
                .bytes(&[5, 3, 2])
                .numbers(&[10])
                .bytes(&[3])
                .numbers(&[500_000])
                .done(),
        ),
        (
            "more-than-asked",
            transfer(
                Output::new()
                    .bytes(&[2])
                    .numbers(&[0, 1, 0])
                    .bytes(&[8, 1])
                    .numbers(&[0])
                    .bytes(&[7])
                    .numbers(&[64, 0]),
                3,
            )
            .done(),
        ),
        (
            "another-unit",
            transfer(transfer(both(), 1).bytes(&[7]).numbers(&[64, 20]), 3).done(),
        ),
        (
            "clock-that-jumps",
            transfer(both(), 1)
                .repeat(12, |output, i| {
                    let output = output.bytes(&[8, 1]).numbers(&[(i % 3) * 40_000_000]);
                    output.bytes(&[0]).numbers(&[30_000, 50_000])
                })
                .done(),
        ),
    ]
}
