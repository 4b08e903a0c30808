//! Properties that hold for any path, any loss, any acknowledgements and any application.

mod support;

use imtcp_cc::config::{StoreTarget, StoreTimer};
use imtcp_cc::event::{Event, Recorder};
use imtcp_cc::promise::{Demand, Requirement};
use imtcp_cc::transport::{
    AckInfo, Acked, AckedPacket, LossInfo, RoundTrip, SendRequest, SentPacket,
};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, EstimatorKind, ImTcp, Mode, Window};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use support::{DATAGRAM, Path, Run};

fn any_config() -> impl Strategy<Value = Config> {
    (
        any::<bool>(),
        any::<bool>(),
        3u32..=9,
        2u32..=6,
        any::<bool>(),
        0u64..=40,
        prop_oneof![Just(Window::Cubic), Just(Window::Reno)],
        proptest::option::of((8_000u64..100_000_000, 1u64..5_000, any::<bool>())),
    )
        .prop_map(
            |(measurement, classic, packets, ranges, fixed, timer_ms, window, promise)| {
                let estimator = if classic {
                    EstimatorKind::Classic
                } else {
                    EstimatorKind::Statistical
                };
                let target = if fixed {
                    StoreTarget::Fixed(2)
                } else {
                    StoreTarget::Dynamic
                };
                let timer = match timer_ms {
                    0 => StoreTimer::Adaptive,
                    ms => StoreTimer::Fixed(Duration::from_millis(ms)),
                };
                let promise = promise.map(|(rate, period_ms, exactly)| {
                    let per = Duration::from_millis(period_ms);
                    let demand = if exactly {
                        Demand::Exactly
                    } else {
                        Demand::AtLeast
                    };
                    let required = Requirement::new(Bandwidth::from_bps(rate), per);
                    required.expect("possible").demand(demand)
                });
                Config::builder()
                    .promise(promise)
                    .measurement(measurement)
                    .window(window)
                    .estimator(estimator)
                    .stream_packets(packets)
                    .sub_ranges(ranges)
                    .store_target(target)
                    .store_timer(timer)
                    .build()
                    .expect("every choice above is allowed")
            },
        )
}

fn any_path() -> impl Strategy<Value = Path> {
    (
        (1u64..=200, 0u64..=150, 2u64..=100, 0u64..=90),
        (0u64..=5, 0u64..=20, 1u32..=4),
    )
        .prop_map(
            |((mbps, delay_ms, queue_ms, load), (loss, ack_loss, ack_every))| Path {
                capacity: Bandwidth::from_mbps(mbps),
                delay: Duration::from_millis(delay_ms),
                // The queue has room for at least four packets. With less, not even a window of two
                // packets gets through.
                queue: Duration::from_millis(queue_ms)
                    + 4 * Bandwidth::from_mbps(mbps).time_for(Bytes::new(DATAGRAM)),
                cross: Bandwidth::from_mbps(mbps).scaled(load as f64 / 100.0),
                loss: loss as f64 / 100.0,
                ack_loss: ack_loss as f64 / 100.0,
                ack_every,
            },
        )
}

/// The longest pause of a source that wants no more than a promised rate. It is paced at half of
/// that rate at least, and a packet counts for a second at most. Packets that leave together, a
/// probe stream or what is gathered (a pair or a hundredth of the period), pause after them.
fn longest_paced(config: &Config) -> Duration {
    let promise = config
        .promise()
        .filter(|promise| promise.wanted() == Demand::Exactly);
    promise.map_or(Duration::ZERO, |promise| {
        let packet = promise.rate().scaled(0.5).time_for(Bytes::new(DATAGRAM));
        let together = config.stream_packets() + 1;
        together * packet.min(Duration::from_secs(1)) + promise.per() / 100
    })
}

/// The writes of the application. Each is a pause in milliseconds and then a number of bytes.
fn any_writes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((0u64..=80, 1u64..=60_000), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn all_data_arrives_and_nothing_waits_longer_than_the_store_timer_and_a_round_trip(
        config in any_config(),
        path in any_path(),
        writes in any_writes(),
        seed: u64,
    ) {
        let recorder = Arc::new(Recorder::default());
        let (stored, paced) = (config.longest_hold(), longest_paced(&config));
        let core = ImTcp::new(config, Bytes::new(DATAGRAM), Some(recorder.clone()));
        let mut run = Run::new(core, path, seed);
        let mut at = Duration::ZERO;
        let mut written = 0;
        for (pause_ms, bytes) in writes {
            at += Duration::from_millis(pause_ms);
            written += bytes;
            run.write_at(at, bytes);
        }
        run.until(Duration::from_secs(600));
        let tally = &run.tally;
        prop_assert!(run.is_idle(), "stalled with {} B out, seed {seed}", run.bytes_in_flight());
        prop_assert_eq!(tally.delivered, written);
        prop_assert_eq!(tally.sent, tally.delivered + tally.lost);
        prop_assert!(tally.releases.is_sorted(), "a packet left before its predecessor");
        let allowed = stored + tally.longest_rtt + paced;
        prop_assert!(tally.longest_hold <= allowed,
            "held for {:?}, at most {allowed:?} allowed, seed {seed}", tally.longest_hold);
        for (_, event) in recorder.take() {
            match event {
                Event::MeasurementStarted { low, high, .. } => prop_assert!(low < high),
                Event::StreamStarted { waited, limit, .. } => prop_assert!(waited <= limit),
                Event::EstimateUpdated { estimate, .. } => {
                    prop_assert!(estimate.low <= estimate.available);
                    prop_assert!(
                        estimate.available <= estimate.high || estimate.flags.out_of_range
                    );
                    prop_assert!(estimate.at <= run.now);
                }
                _ => {}
            }
        }
    }
}

/// One call of the core with arbitrary values.
#[derive(Clone, Debug)]
enum Call {
    Ask {
        queued: u64,
        window_left: u64,
        datagram: u64,
        retransmission: bool,
    },
    Sent {
        number: u64,
        size: u64,
        in_flight: u64,
        released: bool,
    },
    Ack {
        largest: u64,
        first: u64,
        count: u64,
        sent: u64,
        delay: u64,
        rtt: u64,
        in_flight: u64,
    },
    Lost {
        first: u64,
        count: u64,
        sent: u64,
        persistent: bool,
    },
    Spurious(u64),
    Datagram(u64),
    Marked(u64),
    Require(Option<(u64, u64)>),
    SetMode(Mode),
    Limited,
    PathLeft,
}

/// Mostly small numbers, so that calls speak of the same packets, and now and then huge ones.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0u64..200, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn any_call() -> impl Strategy<Value = Call> {
    let n = any_number;
    prop_oneof![
        (n(), n(), n(), any::<bool>()).prop_map(
            |(queued, window_left, datagram, retransmission)| {
                Call::Ask {
                    queued: queued.saturating_mul(100),
                    window_left,
                    datagram,
                    retransmission,
                }
            }
        ),
        (n(), n(), n(), any::<bool>()).prop_map(|(number, size, in_flight, released)| {
            Call::Sent {
                number,
                size,
                in_flight,
                released,
            }
        }),
        (n(), n(), 0u64..20, n(), n(), n(), n()).prop_map(
            |(largest, first, count, sent, delay, rtt, in_flight)| Call::Ack {
                largest,
                first,
                count,
                sent,
                delay,
                rtt,
                in_flight
            }
        ),
        (n(), 1u64..20, n(), any::<bool>()).prop_map(|(first, count, sent, persistent)| {
            Call::Lost {
                first,
                count,
                sent,
                persistent,
            }
        }),
        n().prop_map(Call::Spurious),
        n().prop_map(Call::Datagram),
        n().prop_map(Call::Marked),
        proptest::option::of((8_000u64..1_000_000_000_000, 100u64..100_000_000))
            .prop_map(Call::Require),
        prop_oneof![
            Just(Mode::Standard),
            Just(Mode::BACKGROUND),
            Just(Mode::FULL_SPEED)
        ]
        .prop_map(Call::SetMode),
        Just(Call::Limited),
        Just(Call::PathLeft),
    ]
}

fn make(core: &mut ImTcp, now: Timestamp, call: &Call) {
    let micros = |n: u64| Duration::from_micros(n);
    match *call {
        Call::Ask {
            queued,
            window_left,
            datagram,
            retransmission,
        } => {
            let _ = core.next_release(
                now,
                &SendRequest {
                    queued: Bytes::new(queued),
                    retransmission,
                    window_left: Bytes::new(window_left),
                    max_datagram: Bytes::new(datagram),
                },
            );
        }
        Call::Sent {
            number,
            size,
            in_flight,
            released,
        } => core.on_packet_sent(
            now,
            &SentPacket {
                number,
                size: Bytes::new(size),
                released,
                bytes_in_flight: Bytes::new(in_flight),
            },
        ),
        Call::Ack {
            largest,
            first,
            count,
            sent,
            delay,
            rtt,
            in_flight,
        } => {
            let info = AckInfo {
                largest,
                ack_delay: micros(delay),
                rtt: RoundTrip {
                    latest: micros(rtt),
                    min: micros(rtt),
                    smoothed: micros(rtt),
                    variation: micros(rtt),
                },
                bytes_in_flight: Bytes::new(in_flight),
            };
            let packets = (first..first.saturating_add(count)).map(|number| AckedPacket {
                received: None,
                number,
                size: Bytes::new(number),
                sent: Timestamp::from_nanos(sent),
            });
            let packets: Vec<AckedPacket> = packets.collect();
            core.on_ack(&Acked {
                now,
                info,
                packets: &packets,
            });
        }
        Call::Lost {
            first,
            count,
            sent,
            persistent,
        } => {
            let info = LossInfo {
                oldest_sent: Timestamp::from_nanos(sent / 2),
                newest_sent: Timestamp::from_nanos(sent),
                persistent_congestion: persistent,
            };
            core.on_loss(now, &info, first..first.saturating_add(count));
        }
        Call::Spurious(number) => core.on_spurious_loss(number),
        Call::Datagram(size) => core.on_max_datagram(Bytes::new(size)),
        Call::Marked(sent) => core.on_congestion_experienced(now, Timestamp::from_nanos(sent)),
        Call::Require(Some((rate, period))) => {
            let required = Requirement::new(Bandwidth::from_bps(rate), micros(period));
            // What the path does not allow is rejected.
            let _ = core.promise().require(required.expect("possible"));
        }
        Call::Require(None) => core.promise().withdraw(),
        Call::SetMode(mode) => core.promise().set_mode(mode).expect("within its range"),
        Call::Limited => core.on_application_limited(),
        Call::PathLeft => core.on_path_left(now),
    }
}

proptest! {
    #[test]
    fn no_sequence_of_calls_makes_the_core_panic(
        config in any_config(),
        calls in proptest::collection::vec((0u64..100_000_000, any_call()), 1..300),
    ) {
        let mut core = ImTcp::new(config, Bytes::new(DATAGRAM), None);
        let mut now = Timestamp::ZERO;
        for (pause_ns, call) in &calls {
            now = now + Duration::from_nanos(*pause_ns);
            make(&mut core, now, call);
            prop_assert!(core.cwnd() >= Bytes::new(2), "window closed after {call:?}");
        }
    }
}
