//! The receiver of requests: when it acknowledges, beside what the drafts demand.
//!
//! Input: how it is set up (a byte: 1 if requests are understood, 2 if acknowledgements are delayed
//! without one; min_ack_delay, threshold and max_ack_delay), then steps, a byte each and what
//! belongs to it; see `Harness::step`.

use crate::input::{Input, Output, origin};
use crate::{Met, Seed};
use quiche::Error;
use quiche::ack_frequency::{Received, Receiver, Request};
use std::time::{Duration, Instant};

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "a request followed",
    "a request refused",
    "a request that is obsolete",
    "an acknowledgement at once because of",
    "held back",
    "due by number",
    "due by the timer",
    "out of order",
    "many gaps",
];

/// 2^14 ms (RFC 9000, section 18.2).
const DELAY_LIMIT: Duration = Duration::from_millis(1 << 14);

/// More than 64 gaps between packet numbers take, and all else.
const MOST_DEBUG_TEXT: usize = 6_000;

/// What is in force.
#[derive(Clone, Copy, Debug)]
struct Policy {
    threshold: u64,
    delay: Duration,
    after_idle: bool,
}

struct Harness {
    receiver: Receiver,
    met: Met,
    now: Instant,
    min_ack_delay: Option<Duration>,
    policy: Option<Policy>,
    sequence: Option<u64>,
    next_number: u64,
    /// No number was left out, and none came late, so far.
    in_order: bool,
    gaps: u32,
    immediate: bool,
    due: bool,
    unacked: u64,
    oldest: Option<Instant>,
}

/// See [`crate::Target::run`].
pub fn run(bytes: &[u8]) -> Met {
    let mut input = Input::new(bytes);
    let Some(mut harness) = Harness::set_up(&mut input) else {
        return Met::new();
    };
    while harness.step(&mut input).is_some() {
        harness.check();
    }
    let text = format!("{:?}", harness.receiver);
    assert!(text.len() < MOST_DEBUG_TEXT, "state grows: {text}");
    if harness.gaps > 100 {
        harness.met.insert("many gaps");
    }
    harness.met
}

impl Harness {
    fn set_up(input: &mut Input) -> Option<Self> {
        let flags = input.byte()?;
        let min_ack_delay = input.micros()?;
        let threshold = input.number()?;
        let max_ack_delay = Duration::from_millis(input.below(1 << 14)?);
        let min_ack_delay = (flags & 1 > 0).then_some(min_ack_delay.min(max_ack_delay));
        let threshold = (flags & 2 > 0).then_some(threshold);
        Some(Self {
            receiver: Receiver::new(min_ack_delay, threshold, max_ack_delay),
            met: Met::new(),
            now: origin(),
            min_ack_delay,
            policy: threshold.map(|threshold| Policy {
                threshold,
                delay: max_ack_delay,
                after_idle: false,
            }),
            sequence: None,
            next_number: 0,
            in_order: true,
            gaps: 0,
            immediate: false,
            due: false,
            unacked: 0,
            oldest: None,
        })
    }

    fn step(&mut self, input: &mut Input) -> Option<()> {
        match input.byte()? % 8 {
            0 => self.request(input)?,
            1 => self.ask_for_one(),
            // The next number, one further on, an old one.
            2 => self.packet(self.next_number, input)?,
            3 => {
                let number = self.next_number.saturating_add(input.number()?);
                self.packet(number, input)?;
            }
            4 => {
                let number = input.below(self.next_number.max(1))?;
                self.packet(number, input)?;
            }
            5 => self.acknowledge(input)?,
            6 => self.now += input.micros()?,
            _ => self.time_out(),
        }
        Some(())
    }

    fn request(&mut self, input: &mut Input) -> Option<()> {
        let (sequence, threshold) = (input.number()?, input.number()?);
        let (delay, reordering_threshold) = (input.number()?, input.number()?);
        let answer = self.receiver.on_request(Request::Frequency {
            sequence,
            ack_eliciting_threshold: threshold,
            max_ack_delay: delay,
            reordering_threshold,
        });
        let delay = Duration::from_micros(delay);
        let expected = match self.min_ack_delay {
            None => Err(Error::InvalidFrame),
            Some(least) if delay < least || delay >= DELAY_LIMIT => Err(Error::InvalidPacket),
            Some(_) => Ok(()),
        };
        assert_eq!(answer, expected);
        if expected.is_err() {
            self.met.insert("a request refused");
        } else if self.sequence.is_some_and(|newest| newest >= sequence) {
            self.met.insert("a request that is obsolete");
        } else {
            self.met.insert("a request followed");
            self.sequence = Some(sequence);
            self.policy = Some(Policy {
                threshold,
                delay,
                after_idle: true,
            });
        }
        Some(())
    }

    fn ask_for_one(&mut self) {
        let answer = self.receiver.on_request(Request::Immediate);
        assert_eq!(answer.is_ok(), self.min_ack_delay.is_some());
        self.immediate = answer.is_ok();
    }

    fn packet(&mut self, packet_number: u64, input: &mut Input) -> Option<()> {
        let flags = input.byte()?;
        let packet = Received {
            now: self.now,
            packet_number,
            ack_eliciting: flags & 1 == 0,
            confirmed: flags & 2 == 0,
            smoothed_rtt: input.micros()?,
        };
        if packet_number != self.next_number {
            self.in_order = false;
            self.gaps += u32::from(packet_number > self.next_number);
            self.met.insert("out of order");
        }
        self.next_number = self.next_number.max(packet_number.saturating_add(1));
        let immediate = std::mem::take(&mut self.immediate);
        let is_due = self.receiver.on_packet(&packet);
        if self.min_ack_delay.is_none() && self.policy.is_none() {
            assert_eq!(is_due, packet.ack_eliciting, "as upstream");
            return Some(());
        }
        assert!(is_due || !self.due, "what was due stays due");
        if !packet.ack_eliciting {
            assert_eq!(is_due, self.due, "such a packet elicits nothing");
            return Some(());
        }
        self.unacked += 1;
        self.oldest.get_or_insert(self.now);
        self.judge(is_due, immediate, &packet);
        self.due = is_due;
        Some(())
    }

    /// Is an acknowledgement due that has to be, and none that need not be?
    fn judge(&mut self, is_due: bool, immediate: bool, packet: &Received) {
        let Some(policy) = self.policy else {
            assert!(is_due, "nothing was requested");
            return;
        };
        let by_number = self.unacked > policy.threshold;
        let deadline = self.oldest.map(|oldest| oldest + policy.delay);
        let by_timer = deadline.is_some_and(|deadline| deadline <= self.now);
        let has_to_be = immediate || !packet.confirmed || by_number || by_timer;
        assert!(is_due || !has_to_be, "{policy:?} {packet:?}");
        if immediate {
            self.met.insert("an acknowledgement at once because of");
        }
        if by_number {
            self.met.insert("due by number");
        }
        if !is_due {
            self.met.insert("held back");
        }
        // Reordering and idle periods are reasons too, and the receiver's own business.
        if !has_to_be && !self.due && self.in_order && !policy.after_idle {
            assert!(!is_due, "for no reason: {policy:?} {packet:?}");
        }
    }

    fn acknowledge(&mut self, input: &mut Input) -> Option<()> {
        let largest = input.below(self.next_number.max(1))?;
        self.receiver.on_ack_sent(largest, self.now);
        self.due = false;
        self.unacked = 0;
        self.oldest = None;
        Some(())
    }

    fn time_out(&mut self) {
        let expected = self.receiver.timer().is_some_and(|due| due <= self.now);
        assert_eq!(self.receiver.on_timeout(self.now), expected);
        if expected {
            self.met.insert("due by the timer");
            self.due = true;
            assert!(!self.receiver.on_timeout(self.now), "it clears itself");
        }
    }

    /// What holds after every step.
    fn check(&self) {
        let waits = self.unacked > 0 && !self.due;
        assert_eq!(self.receiver.is_delayed(), waits);
        let expected = self
            .oldest
            .zip(self.policy)
            .map(|(oldest, policy)| oldest + policy.delay);
        assert_eq!(self.receiver.timer(), expected.filter(|_| waits));
    }
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    // Requests understood from 1 ms on; max_ack_delay 25 ms.
    let understood = || Output::new().bytes(&[1]).numbers(&[1000, 0, 25]);
    let request = |output: Output, fields: [u64; 4]| output.bytes(&[0]).numbers(&fields);
    let packet = |output: Output, flags| output.bytes(&[2, flags]).numbers(&[20_000]);
    let pause = |output: Output, micros| output.bytes(&[6]).numbers(&[micros]);
    let acknowledge = |output: Output| output.bytes(&[5]).numbers(&[1 << 20]);
    let every = |output, threshold| {
        let output = acknowledge(packet(output, 0));
        request(output, [1, threshold, 25_000, 3])
    };
    vec![
        (
            "every-fourth",
            every(understood(), 3)
                .repeat(9, |output, i| {
                    let output = packet(pause(output, 100), 0);
                    if i % 4 == 3 {
                        acknowledge(output)
                    } else {
                        output
                    }
                })
                .done(),
        ),
        (
            "timer",
            pause(packet(every(understood(), 99), 0), 25_000)
                .bytes(&[7, 7])
                .done(),
        ),
        (
            "at-once",
            packet(packet(every(understood(), 99), 0).bytes(&[1]), 0).done(),
        ),
        (
            "refused-and-obsolete",
            [
                [5, 1, 999, 1],
                [5, 1, 1000, 1],
                [4, 9, 2000, 1],
                [6, 9, 16_384_000, 1],
            ]
            .into_iter()
            .fold(understood(), request)
            .done(),
        ),
        (
            "reordered",
            every(understood(), 99)
                .bytes(&[3])
                .numbers(&[2])
                .bytes(&[0])
                .numbers(&[20_000])
                .bytes(&[4])
                .numbers(&[2])
                .bytes(&[0])
                .numbers(&[20_000])
                .repeat(4, |output, _| packet(output, 0))
                .done(),
        ),
        (
            "gaps",
            request(understood(), [1, 1 << 61, 16_000_000, 0])
                .repeat(130, |output, _| {
                    output.bytes(&[3]).numbers(&[1]).bytes(&[0]).numbers(&[9])
                })
                .done(),
        ),
        (
            "by-itself",
            Output::new()
                .bytes(&[2])
                .numbers(&[0, 1, 25])
                .repeat(5, |output, _| packet(output, 0))
                .bytes(&[1])
                .done(),
        ),
        (
            "as-upstream",
            packet(packet(Output::new().bytes(&[0]).numbers(&[0, 0, 25]), 0), 1).done(),
        ),
    ]
}
