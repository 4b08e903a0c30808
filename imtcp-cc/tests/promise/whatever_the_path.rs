//! On any path, with any rate and period, the window never closes, nothing stalls, and slots follow
//! each other without a gap.

use super::*;
use proptest::prelude::*;

/// Checks how the window moved. It is never below the minimum of RFC 9002, section 7.2, and
/// never grows faster than in slow start. It grows faster than that of four Reno flows, the
/// bound of N, only up to `times` the largest bandwidth-delay product that was ever in reach:
/// half of the capacity, or twice what was delivered while the capacity is not known. That is
/// never more than twice what the `link` carries. A handle sees with a delay that the capacity
/// is not known any more, so a twentieth of the climbs may seem too high.
fn within_the_ceiling(climbs: &[Climb], times: u64, link: Bandwidth) -> Result<(), TestCaseError> {
    let (mut reach, mut round_trip) = (Bandwidth::ZERO, Duration::ZERO);
    let mut beyond = 0;
    for climb in climbs {
        reach = reach.max(climb.available).max(climb.capacity.scaled(0.5));
        round_trip = round_trip.max(climb.smoothed);
        prop_assert!(climb.after >= Bytes::new(2 * DATAGRAM), "{climb:?}");
        let growth = climb.after.saturating_sub(climb.before);
        prop_assert!(growth <= climb.acked + Bytes::new(1), "{climb:?}");
        let reno = 4 * DATAGRAM * climb.acked.get() / climb.before.get() + 1;
        if growth > Bytes::new(reno) {
            // The reach counts bytes on the wire, and the window counts payload.
            let most =
                |rate: Bandwidth| rate.bytes_in(round_trip).times(times) + Bytes::new(DATAGRAM);
            prop_assert!(
                climb.after <= most(reach.max(link.scaled(2.0))),
                "{climb:?}"
            );
            beyond += usize::from(climb.is_measured && climb.after > most(reach));
        }
    }
    prop_assert!(beyond * 20 <= climbs.len(), "{beyond} beyond {reach}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 5,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn slots_follow_each_other_and_the_window_stays_open(
        (mbps, delay_ms, queue_ms, load) in (1u64..=60, 1u64..=100, 5u64..=80, 0u64..=90),
        (loss, ack_every, exactly, doubling) in
            (0u64..=3, 1u32..=4, any::<bool>(), any::<bool>()),
        (rate_kbps, period_ms) in (8u64..=80_000, 20u64..=4_000),
        seed: u64,
    ) {
        let capacity = Bandwidth::from_mbps(mbps);
        let path = Path {
            capacity,
            delay: Duration::from_millis(delay_ms),
            queue: Duration::from_millis(queue_ms)
                + 4 * capacity.time_for(Bytes::new(DATAGRAM)),
            cross: capacity.scaled(load as f64 / 100.0),
            loss: loss as f64 / 100.0,
            ack_loss: 0.0,
            ack_every,
        };
        let demand = if exactly { Demand::Exactly } else { Demand::AtLeast };
        let requirement = Requirement::new(
            Bandwidth::from_kbps(rate_kbps),
            Duration::from_millis(period_ms),
        ).expect("possible").demand(demand);
        let rule = if doubling {
            SlotLengthRule::Doubling
        } else {
            SlotLengthRule::LossIntervals
        };
        let config = Config::builder()
            .promise(Some(requirement))
            .slot_length(rule)
            .window(Window::Reno);
        let outcomes = with_source(path, config, 12, seed, |run| {
            run.climbs = Some(Vec::new());
            run.write_at(Duration::ZERO, 1 << 40);
        });
        // A source that wants no more than its rate has a window of twice the size it uses.
        // Its packets are paced.
        let times = if exactly { 2 } else { 1 };
        let climbs = outcomes.run.climbs.as_deref().unwrap_or_default();
        within_the_ceiling(climbs, times, capacity)?;
        prop_assert!(outcomes.run.tally.delivered > 0);
        prop_assert!(outcomes.lengths.iter().all(|length| *length >= 2));
        for pair in outcomes.reports.windows(2) {
            prop_assert!(pair[1].index == pair[0].index + 1);
            prop_assert!(pair[1].start >= pair[0].end);
        }
        for report in &outcomes.reports {
            prop_assert!(report.warned.is_none_or(|at| report.start <= at));
            let enough = report.achieved.as_bps() + 8 >= report.required.as_bps();
            prop_assert!(enough || report.outcome != Outcome::Kept, "{report:?}");
        }
    }
}
