//! The congestion window as a user sees it: the law that it follows, and the events that undo a
//! reduction.

use imtcp_cc::transport::{AckInfo, Acked, AckedPacket, LossInfo, RoundTrip, SentPacket};
use imtcp_cc::units::{Bytes, Timestamp};
use imtcp_cc::{Config, ImTcp, Phase, Window};
use std::time::Duration;

const DATAGRAM: Bytes = Bytes::new(1200);
const INITIAL: u64 = 10 * 1200;
const RTT: Duration = Duration::from_millis(40);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_origin(Duration::from_millis(millis))
}

/// A controller with ten packets in flight, all sent at 0 ms.
fn started(config: Config) -> ImTcp {
    let mut core = ImTcp::new(config, DATAGRAM, None);
    for number in 0..10 {
        send(&mut core, number, 0);
    }
    core
}

fn send(core: &mut ImTcp, number: u64, millis: u64) {
    let packet = SentPacket {
        number,
        size: DATAGRAM,
        released: true,
        bytes_in_flight: DATAGRAM.times(10),
    };
    core.on_packet_sent(at(millis), &packet);
}

fn lose(core: &mut ImTcp, numbers: std::ops::Range<u64>, millis: u64, sent_millis: u64) {
    let info = LossInfo {
        oldest_sent: at(sent_millis),
        newest_sent: at(sent_millis),
        persistent_congestion: false,
    };
    core.on_loss(at(millis), &info, numbers);
}

fn acknowledge(core: &mut ImTcp, numbers: std::ops::Range<u64>, millis: u64, sent_millis: u64) {
    let info = AckInfo {
        largest: numbers.end - 1,
        ack_delay: Duration::ZERO,
        rtt: RoundTrip {
            latest: RTT,
            min: RTT,
            smoothed: RTT,
            variation: RTT / 8,
        },
        bytes_in_flight: DATAGRAM.times(5),
    };
    let packets = numbers.map(|number| AckedPacket {
        number,
        size: DATAGRAM,
        sent: at(sent_millis),
        received: None,
    });
    let packets: Vec<AckedPacket> = packets.collect();
    core.on_ack(&Acked {
        now: at(millis),
        info,
        packets: &packets,
    });
}

fn of(window: Window) -> Config {
    let builder = Config::builder().window(window);
    builder.build().expect("within its ranges")
}

#[test]
fn a_loss_leaves_seven_tenths_by_default_and_half_with_reno() {
    for (config, left) in [
        (Config::default(), INITIAL * 7 / 10),
        (Config::without_measurement(), INITIAL * 7 / 10),
        (of(Window::Cubic), INITIAL * 7 / 10),
        (of(Window::Reno), INITIAL / 2),
    ] {
        let mut core = started(config);
        lose(&mut core, 0..1, 40, 0);
        assert_eq!(core.cwnd(), Bytes::new(left));
    }
}

#[test]
fn losses_that_were_none_are_undone_when_the_last_of_them_is_acknowledged() {
    let mut core = started(Config::default());
    lose(&mut core, 0..3, 40, 0);
    acknowledge(&mut core, 3..10, 40, 0);
    for number in [2, 0] {
        core.on_spurious_loss(number);
        assert_eq!(core.cwnd(), Bytes::new(INITIAL * 7 / 10));
    }
    core.on_spurious_loss(1);
    assert_eq!(core.cwnd(), Bytes::new(INITIAL));
    assert_eq!((core.ssthresh(), core.phase()), (None, Phase::SlowStart));
}

#[test]
fn losses_of_another_congestion_and_marks_are_not_undone() {
    let mut core = started(Config::default());
    lose(&mut core, 0..1, 40, 0);
    send(&mut core, 10, 41);
    // A packet that was sent after the reduction is new congestion.
    lose(&mut core, 10..11, 90, 41);
    let twice_reduced = core.cwnd();
    core.on_spurious_loss(0);
    assert_eq!(core.cwnd(), twice_reduced);
    core.on_spurious_loss(10);
    assert_eq!(core.cwnd(), Bytes::new(INITIAL * 7 / 10));

    let mut core = started(Config::default());
    lose(&mut core, 0..1, 40, 0);
    core.on_congestion_experienced(at(40), at(0));
    core.on_spurious_loss(0);
    assert_eq!(core.cwnd(), Bytes::new(INITIAL * 7 / 10));
}

#[test]
fn reno_undoes_nothing() {
    let mut core = started(of(Window::Reno));
    lose(&mut core, 0..1, 40, 0);
    core.on_spurious_loss(0);
    assert_eq!(core.cwnd(), Bytes::new(INITIAL / 2));
}
