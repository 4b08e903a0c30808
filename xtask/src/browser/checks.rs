//! What has to hold of a play.

use super::seen::{Seen, ServerLog};

/// A picture that stands still for less is seen by nobody, and comes from the decoder.
const STALL_S: f64 = 0.1;

/// How far `etp` may be from the truth.
const NEAR: f64 = 0.1;

/// The share of answers in which it has to be as near.
const MOST: f64 = 0.75;

/// Fewer answers to an idle player tell nothing.
const FEWEST: usize = 5;

/// A claim, and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Whether it holds.
    pub holds: bool,
    /// What was claimed, with the figures.
    pub claim: String,
}

fn check(holds: bool, claim: String) -> Check {
    Check { holds, claim }
}

/// What has to hold of every play: its length in seconds, and the lowest bit rate in kbit/s.
pub fn of_play(seen: &Seen, log: &ServerLog, seconds: f64, floor_kbps: f64) -> Vec<Check> {
    let stalls = seen.stalls.iter().filter(|stall| stall.seconds >= STALL_S);
    let stalled: Vec<_> = stalls
        .map(|stall| format!("{:.1} s at {:.1}", stall.seconds, stall.at))
        .collect();
    let short = seen.stalls.len() - stalled.len();
    let lowest = seen.bitrates.iter().map(|shown| shown.kbps);
    let lowest = lowest.fold(f64::INFINITY, f64::min);
    let segments = seen.segments().count();
    let by_h3 = seen
        .segments()
        .filter(|request| request.protocol == "h3")
        .count();
    let (with_cmsd, answers) = seen.cmsd();
    let complaints = [&seen.errors[..], &seen.complaints[..]].concat();
    vec![
        check(
            seen.played >= seconds,
            format!("{:.1} s were played, of {seconds:.0}", seen.played),
        ),
        check(
            stalled.is_empty(),
            format!(
                "no stall: {} ({short} shorter than {STALL_S} s)",
                if stalled.is_empty() {
                    "none".to_owned()
                } else {
                    stalled.join(", ")
                }
            ),
        ),
        check(
            lowest >= floor_kbps && lowest.is_finite(),
            format!("no bit rate below {floor_kbps:.0} kbit/s: the lowest was {lowest:.0}"),
        ),
        check(
            segments > 0 && by_h3 == segments,
            format!("{by_h3} of {segments} segments came by h3"),
        ),
        check(
            log.with_rate > 0 && log.with_rate == log.segments && log.with_buffer > 0,
            format!(
                "CMCD: the server saw a rate in {} of {} requests for segments, a buffer in {}",
                log.with_rate, log.segments, log.with_buffer
            ),
        ),
        check(
            answers > 0 && with_cmsd == answers,
            format!("CMSD: {with_cmsd} of {answers} answers had it"),
        ),
        check(
            complaints.is_empty(),
            match complaints.is_empty() {
                true => "player and browser complained of nothing".to_owned(),
                false => format!("no complaints: {}", complaints.join("; ")),
            },
        ),
    ]
}

/// Whether `etp` was right while the player was idle, where nobody else was on the path.
pub fn of_etp(seen: &Seen, truth_mbps: f64) -> Check {
    let idle = seen.idle();
    let is_near = |etp: f64| (etp - truth_mbps).abs() <= NEAR * truth_mbps;
    let near = idle
        .iter()
        .filter(|answer| answer.etp_mbps.is_some_and(is_near));
    let near = near.count();
    let all: Vec<_> = idle
        .iter()
        .map(|answer| {
            answer
                .etp_mbps
                .map_or("none".to_owned(), |etp| format!("{etp:.1}"))
        })
        .collect();
    #[allow(clippy::cast_precision_loss, reason = "some dozen answers")]
    let holds = idle.len() >= FEWEST && near as f64 >= MOST * idle.len() as f64;
    check(
        holds,
        format!(
            "etp within 10 % of {truth_mbps:.1} Mbit/s in {near} of {} answers to an idle player \
             (three of four have to be): {}",
            idle.len(),
            all.join(" ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::seen::{Answer, Request, Shown, Stall};
    use super::*;

    fn seen(etps: &[Option<u32>]) -> Seen {
        let path = |number: usize| format!("/chunk-{number}");
        let requests = (0..=etps.len()).map(|number| Request {
            path: path(number),
            protocol: "h3".to_owned(),
            begun: 2.0 * number as f64,
            done: 2.0 * number as f64 + 1.0,
            bytes: 1,
        });
        let cmsd = |etp: &Option<u32>| match etp {
            Some(etp) => format!("\"s\";etp={etp};rtt=9"),
            None => "\"s\";rtt=9".to_owned(),
        };
        let answers = etps.iter().enumerate().map(|(before, etp)| Answer {
            path: path(before + 1),
            cmsd: Some(cmsd(etp)),
        });
        Seen {
            played: 31.0,
            bitrates: vec![Shown { kbps: 8000.0 }],
            requests: requests.collect(),
            answers: answers.collect(),
            ..Seen::default()
        }
    }

    fn failing(seen: &Seen, log: &ServerLog) -> Vec<String> {
        let checks = of_play(seen, log, 30.0, 8000.0).into_iter();
        checks
            .filter(|check| !check.holds)
            .map(|check| check.claim)
            .collect()
    }

    #[test]
    fn each_claim_can_fail() {
        let log = ServerLog {
            segments: 3,
            with_rate: 3,
            with_buffer: 2,
            ended: Vec::new(),
        };
        let good = seen(&[Some(18_000); 5]);
        assert_eq!(failing(&good, &log), [""; 0]);
        let mut bad = good.clone();
        bad.played = 29.0;
        bad.stalls = vec![
            Stall {
                at: 3.0,
                seconds: 0.2,
            },
            Stall {
                at: 5.0,
                seconds: 0.05,
            },
        ];
        bad.bitrates.push(Shown { kbps: 4000.0 });
        bad.requests[2].protocol = "h2".to_owned();
        bad.answers[1].cmsd = None;
        bad.errors.push("no decoder".to_owned());
        let deaf = ServerLog {
            with_rate: 2,
            ..log
        };
        let found = failing(&bad, &deaf);
        let expected = [
            "29.0 s",
            "0.2 s at 3.0",
            "4000",
            "5 of 6",
            "2 of 3",
            "4 of 5",
            "decoder",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (claim, part) in found.iter().zip(expected) {
            assert!(claim.contains(part), "{claim}: {part}");
        }
    }

    #[test]
    fn etp_has_to_be_there_and_near_in_three_of_four_answers() {
        let with = |etps: &[Option<u32>]| of_etp(&seen(etps), 19.0).holds;
        let (near, far) = (Some(17_200), Some(17_000));
        assert!(with(&[near; 5]));
        assert!(!with(&[near; 4]), "too few");
        assert!(with(&[near, near, near, None, near, near, far, near]));
        assert!(!with(&[near, near, far, None, near, near, far, near]));
    }
}
