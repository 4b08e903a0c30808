use super::*;

#[test]
fn words_and_back() {
    let empty = Bulletin::default();
    assert_eq!(Bulletin::from_words(&empty.to_words()), empty);
    let mut history = History::default();
    history.add(0.5, 0.4, true);
    let mut changes = Changes::default();
    changes.add(Bandwidth::from_mbps(2));
    let full = Bulletin {
        smoothed_rtt: Some(Duration::from_millis(30)),
        least_rtt: Some(Duration::from_millis(20)),
        capacity: Some(Bandwidth::from_mbps(100)),
        requirement: Requirement::new(Bandwidth::from_mbps(8), Duration::from_secs(2))
            .ok()
            .map(|requirement| requirement.demand(Demand::Exactly)),
        estimate: Some(Estimate {
            at: Timestamp::from_nanos(5),
            available: Bandwidth::from_mbps(20),
            low: Bandwidth::from_mbps(18),
            high: Bandwidth::from_mbps(22),
            window: Duration::from_secs(4),
            flags: Flags {
                changed: true,
                application_limited: true,
                ..Flags::default()
            },
        }),
        outlook: Some(Outlook {
            available: Bandwidth::from_mbps(19),
            error: Bandwidth::from_mbps(1),
            changes,
            window: Duration::from_secs(4),
            capacity: None,
            ceiling: 0.5,
            history,
        }),
        share: Some(BulkShare {
            rate: Bandwidth::from_mbps(30),
            low: Bandwidth::from_mbps(20),
            high: Bandwidth::from_mbps(60),
            basis: Basis::Losses,
        }),
        status: Status::AtRisk {
            cause: Cause::Ceiling,
            shortfall: Bytes::new(1234),
        },
    };
    assert_eq!(Bulletin::from_words(&full.to_words()), full);
}

#[test]
fn each_flag_has_its_own_bit() {
    let sets: [fn(&mut Flags); 9] = [
        |flags| flags.application_limited = true,
        |flags| flags.aggregated_acks = true,
        |flags| flags.out_of_range = true,
        |flags| flags.changed = true,
        |flags| flags.lower_bound = true,
        |flags| flags.elastic = true,
        |flags| flags.share = true,
        |flags| flags.policed = true,
        |flags| flags.variable = true,
    ];
    for set in sets {
        let mut flags = Flags::default();
        set(&mut flags);
        let estimate = Estimate {
            at: Timestamp::ZERO,
            available: Bandwidth::ZERO,
            low: Bandwidth::ZERO,
            high: Bandwidth::ZERO,
            window: Duration::ZERO,
            flags,
        };
        let back = estimate_from_words(estimate_to_words(Some(estimate)));
        assert_eq!(back, Some(estimate));
    }
}

#[test]
fn statuses_and_back() {
    for cause in [
        Cause::Crowded,
        Cause::Ceiling,
        Cause::Window,
        Cause::RoundTrip,
        Cause::Silence,
    ] {
        let shortfall = Bytes::new(7);
        for status in [
            Status::AtRisk { cause, shortfall },
            Status::Broken { cause, shortfall },
        ] {
            assert_eq!(status_from_words(status_to_words(status)), status);
        }
    }
    assert_eq!(
        status_from_words(status_to_words(Status::Kept)),
        Status::Kept
    );
}
