//! Estimators take anything: times that run backwards, huge sizes, numbers in any order, receive
//! times of a peer that lies.

use baselines::estimators::Kind;
use imtcp_cc::transport::{AckInfo, Acked, AckedPacket, RoundTrip, SentPacket};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Happening {
    Sent(u64, SentPacket),
    Acked(u64, AckInfo, Vec<AckedPacket>),
}

/// Small and huge values alike.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..20, 0u64..10_000_000_000, any::<u64>()]
}

fn span() -> impl Strategy<Value = Duration> {
    number().prop_map(Duration::from_nanos)
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(1250), 0u64..100_000, any::<u64>()].prop_map(Bytes::new)
}

fn round_trip() -> impl Strategy<Value = RoundTrip> {
    (span(), span(), span(), span()).prop_map(|(latest, min, smoothed, variation)| RoundTrip {
        latest,
        min,
        smoothed,
        variation,
    })
}

fn packet() -> impl Strategy<Value = AckedPacket> {
    let received = proptest::option::of(prop_oneof![span(), Just(Duration::MAX)]);
    (number(), size(), number(), received).prop_map(|(number, size, sent, received)| AckedPacket {
        number,
        size,
        sent: Timestamp::from_nanos(sent),
        received,
    })
}

fn happening() -> impl Strategy<Value = Happening> {
    let sent =
        (number(), number(), size(), any::<bool>()).prop_map(|(at, number, size, released)| {
            let packet = SentPacket {
                number,
                size,
                released,
                bytes_in_flight: size,
            };
            Happening::Sent(at, packet)
        });
    let packets = proptest::collection::vec(packet(), 0..12);
    let acked = (number(), number(), span(), round_trip(), packets).prop_map(
        |(at, largest, ack_delay, rtt, packets)| {
            let info = AckInfo {
                largest,
                ack_delay,
                rtt,
                bytes_in_flight: Bytes::ZERO,
            };
            Happening::Acked(at, info, packets)
        },
    );
    prop_oneof![sent, acked]
}

proptest! {
    #[test]
    fn nothing_makes_an_estimator_panic(
        happenings in proptest::collection::vec(happening(), 0..200),
    ) {
        for kind in Kind::ALL {
            let mut estimator = kind.build();
            for happening in &happenings {
                match happening {
                    Happening::Sent(at, packet) => {
                        estimator.on_sent(Timestamp::from_nanos(*at), packet);
                    }
                    Happening::Acked(at, info, packets) => estimator.on_acked(&Acked {
                        now: Timestamp::from_nanos(*at),
                        info: *info,
                        packets,
                    }),
                }
                let _ = estimator.estimate();
            }
        }
    }

    /// A link that our own packets keep busy all the time: whoever has a value has the link's rate.
    #[test]
    fn on_an_even_link_all_agree(
        gap_us in 100u64..20_000,
        round_trip_ms in 5u64..300,
        bytes in 600u64..1500,
    ) {
        let rtt = Duration::from_millis(round_trip_ms);
        let rate = Bandwidth::from_bytes_over(Bytes::new(bytes), Duration::from_micros(gap_us))
            .expect("a gap");
        for kind in Kind::ALL {
            let mut estimator = kind.build();
            for number in 0..3000u64 {
                let left = Duration::from_micros(number * gap_us);
                let now = Timestamp::from_origin(left + rtt);
                let sent = SentPacket {
                    number,
                    size: Bytes::new(bytes),
                    released: true,
                    bytes_in_flight: Bytes::new(bytes),
                };
                estimator.on_sent(Timestamp::from_origin(left), &sent);
                let packet = AckedPacket {
                    number,
                    size: Bytes::new(bytes),
                    sent: Timestamp::from_origin(left),
                    received: Some(left),
                };
                estimator.on_acked(&Acked {
                    now,
                    info: AckInfo {
                        largest: number,
                        ack_delay: Duration::ZERO,
                        rtt: RoundTrip {
                            latest: rtt,
                            min: rtt,
                            smoothed: rtt,
                            variation: rtt / 8,
                        },
                        bytes_in_flight: Bytes::ZERO,
                    },
                    packets: &[packet],
                });
            }
            let Some(estimate) = estimator.estimate() else {
                // Packets that were spaced before the link say nothing to pairs and trains. Slots
                // of RCE need four packets, and spans of TCP-Rab a round trip.
                let is_short = gap_us * 3000 < round_trip_ms * 1000;
                let needs_bursts = matches!(kind, Kind::PacketPair | Kind::Cprobe | Kind::Rce);
                prop_assert!(needs_bursts || kind == Kind::TcpRab && is_short, "{}", kind.name());
                continue;
            };
            let ratio = estimate.as_bps_f64() / rate.as_bps_f64();
            prop_assert!((ratio - 1.0).abs() < 1e-4, "{}: {ratio}", kind.name());
        }
    }
}
