//! Packets are spaced over the round trip, unless the configuration says otherwise.

mod support;

use imtcp_cc::transport::{
    AckInfo, Acked, AckedPacket, Release, RoundTrip, SendRequest, SentPacket,
};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, ImTcp};
use std::ops::Range;
use std::time::Duration;
use support::{DATAGRAM, Path, Run};

const PATH: Path = Path {
    capacity: Bandwidth::from_mbps(20),
    delay: Duration::from_millis(20),
    queue: Duration::from_millis(40),
    cross: Bandwidth::ZERO,
    loss: 0.0,
    ack_loss: 0.0,
    ack_every: 2,
};

/// The time over which twelve packets leave that the window has room for, and whether a rate at
/// which they do is told.
fn burst(config: Config) -> (Duration, bool) {
    const BURST: Duration = Duration::from_secs(1);
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), PATH, 1);
    run.write_at(Duration::ZERO, 30 * DATAGRAM);
    run.write_at(BURST, 12 * DATAGRAM);
    run.until(BURST * 2);
    let releases = run.tally.releases.iter();
    let of_burst: Vec<_> = releases.filter(|at| at.as_secs_f64() >= 1.0).collect();
    assert_eq!(of_burst.len(), 12);
    let span = of_burst[11].saturating_since(*of_burst[0]);
    (span, run.core.pacing_rate().is_some())
}

#[test]
fn unpaced_packets_leave_as_soon_as_the_window_has_room() {
    let config = |pacing| {
        let builder = Config::builder().measurement(false).pacing(pacing);
        builder.build().expect("both are plain choices")
    };
    let (paced, tells_a_rate) = burst(config(true));
    assert!(paced > Duration::from_millis(4), "{paced:?}");
    assert!(tells_a_rate);
    assert_eq!(burst(config(false)), (Duration::ZERO, false));
}

/// When the last packet of each burst leaves, from the first second on. A few bytes come ahead of
/// each, as HTTP/3 writes headers before a body.
fn ends_of_bursts(measurement: bool) -> Vec<Duration> {
    const PERIOD: Duration = Duration::from_millis(300);
    const AHEAD: Duration = Duration::from_micros(50);
    // No capacity is seen through so few acknowledgements.
    let path = Path {
        capacity: Bandwidth::from_mbps(400),
        ack_every: 20,
        ..PATH
    };
    let config = Config::builder().measurement(measurement);
    let config = config.build().expect("it is a plain choice");
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), path, 1);
    let bursts = 20;
    for burst in 0..bursts {
        run.write_at(PERIOD * burst, 40);
        run.write_at(PERIOD * burst + AHEAD, 80 * DATAGRAM);
    }
    run.until(PERIOD * bursts);
    let end_of = |burst: u32| {
        let next = (PERIOD * (burst + 1)).as_secs_f64();
        let before = |at: &&Timestamp| at.as_secs_f64() < next;
        let last = run.tally.releases.iter().rev().find(before);
        last.expect("it began").saturating_since(Timestamp::ZERO) - PERIOD * burst
    };
    (4..bursts).map(end_of).collect()
}

#[test]
fn a_burst_whose_first_bytes_come_ahead_does_not_wait_for_a_stream() {
    for (with, without) in ends_of_bursts(true).iter().zip(&ends_of_bursts(false)) {
        assert!(
            *with < *without + Duration::from_millis(1),
            "{with:?} and {without:?}"
        );
    }
}

/// How long frames of 60 packets take until they are acknowledged, in the mean. Others take most
/// of the link.
fn frames_beside_others(measurement: bool) -> Duration {
    const PERIOD: Duration = Duration::from_millis(100);
    const STEP: Duration = Duration::from_micros(250);
    let path = Path {
        capacity: Bandwidth::from_mbps(50),
        cross: Bandwidth::from_mbps(40),
        queue: Duration::from_millis(100),
        ..PATH
    };
    let config = Config::builder().measurement(measurement);
    let config = config.build().expect("it is a plain choice");
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), path, 1);
    let (warm_up, frames) = (10, 110);
    let mut spent = Duration::ZERO;
    for frame in 0..frames {
        let begun = PERIOD * frame;
        run.write_at(begun, 60 * DATAGRAM);
        let mut now = begun + STEP;
        run.until(now);
        while !run.is_idle() {
            now += STEP;
            run.until(now);
        }
        if frame >= warm_up {
            spent += now.saturating_sub(begun);
        }
    }
    spent / (frames - warm_up)
}

#[test]
fn frames_beside_others_are_complete_as_early_as_without_measuring() {
    let (with, without) = (frames_beside_others(true), frames_beside_others(false));
    assert!(with < without + without / 50, "{with:?} and {without:?}");
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_origin(Duration::from_millis(millis))
}

/// A controller without measurement that has sent ten packets, of which the acknowledgement came
/// after 40 ms.
fn acknowledged() -> ImTcp {
    const RTT: Duration = Duration::from_millis(40);
    let size = Bytes::new(DATAGRAM);
    let mut core = ImTcp::new(Config::without_measurement(), size, None);
    for number in 0..10 {
        send(&mut core, number, at(0));
    }
    let packets = (0..10).map(|number| AckedPacket {
        number,
        size,
        sent: at(0),
        received: None,
    });
    let rtt = RoundTrip {
        latest: RTT,
        min: RTT,
        smoothed: RTT,
        variation: RTT / 8,
    };
    core.on_ack(&Acked {
        now: at(40),
        info: AckInfo {
            largest: 9,
            ack_delay: Duration::ZERO,
            rtt,
            bytes_in_flight: Bytes::ZERO,
        },
        packets: &packets.collect::<Vec<_>>(),
    });
    core
}

fn send(core: &mut ImTcp, number: u64, now: Timestamp) {
    let size = Bytes::new(DATAGRAM);
    let packet = SentPacket {
        number,
        size,
        released: true,
        bytes_in_flight: size.times(10),
    };
    core.on_packet_sent(now, &packet);
}

/// When these packets had left, which all became ready at `begin`, and `more` behind them.
fn leave(core: &mut ImTcp, numbers: Range<u64>, more: u64, begin: Timestamp) -> Timestamp {
    let mut now = begin;
    for number in numbers.clone() {
        let ready = numbers.end - number + more;
        while let Release::At(due) = core.next_release(now, &asked(ready)) {
            now = due;
        }
        send(core, number, now);
    }
    now
}

fn asked(packets: u64) -> SendRequest {
    let size = Bytes::new(DATAGRAM);
    SendRequest {
        queued: size.times(packets),
        retransmission: false,
        window_left: size.times(100),
        max_datagram: size,
    }
}

/// A player that seeks resets a stream, and asks for other data some seconds later.
#[test]
fn what_waited_and_is_not_wanted_any_more_is_not_made_up_for() {
    let span_of_later_data = |waiting: u64, withdraw: fn(&mut ImTcp)| {
        let mut core = acknowledged();
        let now = leave(&mut core, 10..15, waiting, at(50));
        if waiting > 0 {
            let answer = core.next_release(now, &asked(waiting));
            assert!(matches!(answer, Release::At(_)), "{answer:?}");
        }
        withdraw(&mut core);
        let later = at(5000);
        leave(&mut core, 15..35, 0, later).saturating_since(later)
    };
    let plain = span_of_later_data(0, |_| {});
    assert!(plain > Duration::from_millis(10), "{plain:?}");
    let reset = span_of_later_data(80, ImTcp::on_application_limited);
    assert_eq!(reset, plain, "the stream was reset");
    let left = span_of_later_data(80, |core| core.on_path_left(at(60)));
    assert_eq!(left, plain, "the path was left, and is used again");
}
