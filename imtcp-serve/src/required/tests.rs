use super::*;
use http::{HeaderName, HeaderValue};
use imtcp_examples::requirement;
use proptest::prelude::*;

fn policy() -> Policy {
    Policy {
        period: Duration::from_secs(4),
        most: Bandwidth::from_mbps(100),
        steady: true,
        rules: Rules::default(),
    }
}

fn hear(list: &[(&'static str, &str)]) -> Heard {
    let field = |(name, value): &(&'static str, &str)| {
        let value = HeaderValue::from_str(value).expect("text");
        (HeaderName::from_static(name), value)
    };
    let fields = list.iter().map(field).collect();
    policy().hear(&Said {
        stream: 4,
        path: "/a.m4s",
        query: None,
        fields: &fields,
        priority_update: None,
        ladder: &Ladder::default(),
    })
}

fn rate(text: &str, key: Key) -> Option<RequiredRate> {
    let requirement = requirement::parse(text).expect("a requirement");
    Some(RequiredRate::new(requirement, key))
}

#[test]
fn players_get_what_their_state_needs() {
    let video = Key::Player(ObjectKind::Video);
    for (value, expected) in [
        // Nothing is known of the buffer: the bit rate, a tenth more, and that over 0.85.
        ("br=5000,ot=v", rate("6470588 bit/s per 4 s", video)),
        // A start, and an empty buffer.
        ("br=5000,ot=v,su", rate("11 Mbit/s per 4 s", video)),
        ("br=5000,ot=v,bs,bl=90000", rate("11 Mbit/s per 4 s", video)),
        ("br=5000,ot=v,bl=0", rate("11 Mbit/s per 4 s", video)),
        // 4 s have to come within the 3.2 s that are left, and within 1 s, which is too short.
        (
            "br=4000,ot=v,bl=3200,d=4000",
            rate("5.5 Mbit/s per 4 s", video),
        ),
        (
            "br=5000,ot=v,bl=1000,d=4000",
            rate("11 Mbit/s per 4 s", video),
        ),
        // A comfortable buffer.
        (
            "br=5000,ot=v,bl=8000,d=4000",
            rate("exactly 5.5 Mbit/s per 4 s", video),
        ),
        (
            "br=5000,ot=v,bl=7900,d=4000",
            rate("6470588 bit/s per 4 s", video),
        ),
        // The player's own bound.
        ("br=5000,ot=v,su,rtp=6000", rate("6 Mbit/s per 4 s", video)),
        ("ot=v,rtp=6000", rate("exactly 6 Mbit/s per 4 s", video)),
        // Kinds apart; nothing for small ones, nor without a rate, nor at 4 kbit/s.
        (
            "br=128,ot=a",
            rate("165647 bit/s per 4 s", Key::Player(ObjectKind::Audio)),
        ),
        (
            "br=2000",
            rate("2588235 bit/s per 4 s", Key::Player(ObjectKind::Both)),
        ),
        ("br=5000,ot=m", None),
        ("bl=4000,ot=v", None),
        ("br=4,ot=v", None),
        // No more than a client may require.
        ("br=900000,ot=v", rate("100 Mbit/s per 4 s", video)),
    ] {
        let heard = hear(&[("cmcd-object", value)]);
        assert_eq!(
            (heard.rate, heard.complaints.len()),
            (expected, 0),
            "{value}"
        );
    }
}

/// What is ahead of a player with these fields, which knows 2, 4 and 8 Mbit/s.
fn ahead(policy: &Policy, list: &str) -> Option<Bandwidth> {
    let mut ladder = Ladder::default();
    for kbps in [2000, 4000, 8000] {
        let asked = Cmcd {
            bitrate_kbps: Some(kbps),
            kind: ObjectKind::Video,
            ..Cmcd::default()
        };
        ladder.hear(&asked);
    }
    let value = HeaderValue::from_str(list).expect("text");
    let fields = HeaderMap::from_iter([(HeaderName::from_static("cmcd-object"), value)]);
    let heard = policy.hear(&Said {
        stream: 4,
        path: "/a.m4s",
        query: None,
        fields: &fields,
        priority_update: None,
        ladder: &ladder,
    });
    Some(heard.rate?.ahead?.rate)
}

#[test]
fn what_the_next_bit_rate_takes_is_ahead_of_a_calm_player() {
    let policy = Policy {
        steady: false,
        ..policy()
    };
    let kbps = |kbps: u64| Some(Bandwidth::from_kbps(kbps).scaled(SEEN));
    let four = Bandwidth::from_mbps(4);
    for (list, expected) in [
        ("br=2000,ot=v,bl=4000,d=4000", kbps(4000)),
        ("br=4000,ot=v,bl=4000,d=4000", kbps(8000)),
        ("br=8000,ot=v,bl=4000,d=4000", None),
        // By what its mean is below what it has to see, and no more than it calls sufficient.
        (
            "br=2000,ot=v,bl=4000,d=4000,mtp=4000",
            kbps(4000).map(|seen| seen.saturating_add(seen.saturating_sub(four))),
        ),
        ("br=2000,ot=v,bl=4000,d=4000,mtp=9000", kbps(4000)),
        (
            "br=2000,ot=v,bl=4000,d=4000,mtp=4000,rtp=6000",
            Some(Bandwidth::from_mbps(6)),
        ),
        // It waits, or has less than a segment.
        ("br=2000,ot=v,bl=9000,d=4000,su", None),
        ("br=2000,ot=v,bl=3900,d=4000", None),
        // More than it calls sufficient, or plays at all.
        ("br=2000,ot=v,bl=9000,d=4000,rtp=5000", None),
        ("br=4000,ot=v,bl=9000,d=4000,tb=4000", None),
        ("br=2000,ot=a,bl=9000,d=4000", None),
    ] {
        assert_eq!(ahead(&policy, list), expected, "{list}");
    }
    let steady = Policy {
        steady: true,
        ..policy
    };
    let list = "br=2000,ot=v,bl=9000,d=4000";
    assert_eq!(ahead(&steady, list), None, "it gets exactly what it needs");
}

#[test]
fn the_dialect_closest_to_the_request_counts() {
    let (cmcd, priority) = (("cmcd-object", "br=5000"), ("priority", "u=1, r=3000"));
    let field = ("imtcp-required-rate", "2 Mbit/s per 1 s");
    let stream = Key::Stream(4);
    assert_eq!(
        hear(&[cmcd, priority, field]).rate,
        rate("2 Mbit/s per 1 s", stream)
    );
    assert_eq!(
        hear(&[cmcd, priority]).rate,
        rate("exactly 3 Mbit/s per 4 s", stream)
    );
    let huge = hear(&[("imtcp-required-rate", "9 Gbit/s per 1 s")]);
    assert_eq!(huge.rate, rate("100 Mbit/s per 1 s", stream));
    assert_eq!(hear(&[]).rate, None);
}

#[test]
fn no_request_gets_more_than_the_most_whoever_says_so() {
    let rule = "[[path]]\nprefix = \"/\"\nrequire = \"exactly 150 Mbit/s per 2 s\"\n";
    let policy = Policy {
        rules: Rules::parse(rule).expect("well-formed"),
        ..policy()
    };
    let heard = policy.hear(&Said {
        stream: 4,
        path: "/a.m4s",
        query: None,
        fields: &HeaderMap::new(),
        priority_update: None,
        ladder: &Ladder::default(),
    });
    assert_eq!(heard.rate, rate("exactly 100 Mbit/s per 2 s", Key::Rule(0)));
}

#[test]
fn what_is_malformed_is_complained_of_and_the_rest_counts() {
    let heard = hear(&[
        ("cmcd-object", "br=,"),
        ("imtcp-required-rate", "fast"),
        ("priority", "r=8"),
    ]);
    assert_eq!(heard.complaints.len(), 2, "{:?}", heard.complaints);
    assert_eq!(heard.rate, rate("exactly 8 kbit/s per 4 s", Key::Stream(4)));
}

#[test]
fn an_update_of_the_priority_overrules_the_field() {
    let fields = HeaderMap::from_iter([(
        HeaderName::from_static("priority"),
        HeaderValue::from_static("r=3000"),
    )]);
    let heard = policy().hear(&Said {
        stream: 4,
        path: "/",
        query: None,
        fields: &fields,
        priority_update: Some(b"r=2000"),
        ladder: &Ladder::default(),
    });
    assert_eq!(heard.rate, rate("exactly 2 Mbit/s per 4 s", Key::Stream(4)));
    assert_eq!(heard.order, Some(Priority::new(3, false)));
}

#[test]
fn the_order_of_an_answer_is_heard_beside_any_rate() {
    let heard = hear(&[("priority", "u=1, i"), ("cmcd-object", "br=5000,ot=v")]);
    assert_eq!(heard.order, Some(Priority::new(1, true)));
    assert!(heard.rate.is_some());
    assert_eq!(hear(&[]).order, None);
}

proptest! {
    #[test]
    fn a_player_never_requires_more_than_it_calls_sufficient_or_the_operator_allows(
        bitrate in prop::option::of(0_u64..10_000_000),
        sufficient in prop::option::of(0_u64..10_000_000),
        buffer in prop::option::of(0_u64..200_000),
        duration in prop::option::of(0_u64..20_000),
        higher in 0_u64..10_000_000,
        startup in any::<bool>(),
        starved in any::<bool>(),
    ) {
        let cmcd = Cmcd {
            bitrate_kbps: bitrate,
            sufficient_kbps: sufficient,
            buffer: buffer.map(Duration::from_millis),
            duration: duration.map(Duration::from_millis),
            startup,
            starved,
            ..Cmcd::default()
        };
        let mut ladder = Ladder::default();
        ladder.hear(&Cmcd { bitrate_kbps: Some(higher), ..cmcd });
        if let Some(required) = policy().of_player(&cmcd, &ladder) {
            let rate = required.requirement.rate();
            prop_assert!(rate <= policy().most);
            let most = sufficient.map_or(Bandwidth::MAX, Bandwidth::from_kbps);
            prop_assert!(rate <= most, "{rate} is above {most}");
            if let Some(ahead) = required.ahead {
                prop_assert!(rate < ahead.least && ahead.least <= ahead.rate);
                prop_assert!(ahead.rate <= most.min(policy().most));
            }
        }
    }
}
