//! The ready questions.

use super::Question;

/// All of them. Rates are in Mbit/s, times in ms, shares in per cent.
pub const READY: &[Question] = &[AVAILABLE, PROMISES, CALIBRATION, CONTROLLERS];

const AVAILABLE: Question = Question {
    name: "available",
    title: "Available bandwidth by network and hour",
    keys: &[("date", "date"), ("hour", "hour"), ("prefix", "prefix")],
    filter: "estimate IS NOT NULL",
    sums: &[
        ("connections", "count(*)"),
        ("all_estimates", "CAST(sum(estimates) AS BIGINT)"),
    ],
    quantiles: &[("estimate", &[("p5", 0.05), ("p50", 0.5)])],
    columns: &[
        ("connections", "connections"),
        ("estimates", "all_estimates"),
        ("p5_mbps", "round(p5 / 1e6, 3)"),
        ("p50_mbps", "round(p50 / 1e6, 3)"),
    ],
};

const PROMISES: Question = Question {
    name: "promises",
    title: "Promises kept, by controller and network",
    keys: &[("controller", "controller"), ("prefix", "prefix")],
    filter: "slots_kept + slots_missed > 0",
    sums: &[
        ("connections", "count(*)"),
        ("kept", "CAST(sum(slots_kept) AS BIGINT)"),
        ("missed", "CAST(sum(slots_missed) AS BIGINT)"),
        ("limited", "CAST(sum(slots_limited) AS BIGINT)"),
        ("called", "CAST(sum(warned_missed) AS BIGINT)"),
        ("called_in_vain", "CAST(sum(warned_kept) AS BIGINT)"),
    ],
    quantiles: &[("achieved", &[("p5", 0.05), ("p50", 0.5)])],
    columns: &[
        ("connections", "connections"),
        ("kept", "kept"),
        ("missed", "missed"),
        ("source_limited", "limited"),
        ("kept_percent", "round(kept * 100.0 / (kept + missed), 2)"),
        ("p5_achieved_percent", "round(p5 / 1e4, 1)"),
        ("p50_achieved_percent", "round(p50 / 1e4, 1)"),
        (
            "missed_that_were_called_percent",
            "round(called * 100.0 / nullif(missed, 0), 2)",
        ),
        (
            "calls_that_were_missed_percent",
            "round(called * 100.0 / nullif(called + called_in_vain, 0), 2)",
        ),
    ],
};

const CALIBRATION: Question = Question {
    name: "calibration",
    title: "How right estimates are, by how sure they claim to be",
    keys: &[
        ("controller", "controller"),
        (
            "claimed",
            "CASE WHEN width_ppm < 3000 THEN '1: below 0.3 %' \
             WHEN width_ppm < 10000 THEN '2: below 1 %' \
             WHEN width_ppm < 30000 THEN '3: below 3 %' \
             WHEN width_ppm < 100000 THEN '4: below 10 %' \
             WHEN width_ppm IS NULL THEN '6: nothing' ELSE '5: 10 % or more' END",
        ),
    ],
    filter: "judged > 0",
    sums: &[
        ("connections", "count(*)"),
        ("intervals", "CAST(sum(judged) AS BIGINT)"),
        ("right_ones", "CAST(sum(held) AS BIGINT)"),
        ("bias_ppm", "CAST(sum(error_sum_ppm) AS BIGINT)"),
    ],
    quantiles: &[
        ("error", &[("e50", 0.5), ("e95", 0.95)]),
        ("width", &[("w50", 0.5)]),
    ],
    columns: &[
        ("connections", "connections"),
        ("intervals", "intervals"),
        ("held_percent", "round(right_ones * 100.0 / intervals, 2)"),
        ("bias_percent", "round(bias_ppm / 1e4 / intervals, 3)"),
        ("p50_error_percent", "round(e50 / 1e4, 3)"),
        ("p95_error_percent", "round(e95 / 1e4, 3)"),
        ("p50_half_width_percent", "round(w50 / 1e4, 3)"),
    ],
};

const CONTROLLERS: Question = Question {
    name: "controllers",
    title: "Controllers compared",
    keys: &[("controller", "controller")],
    filter: "duration_ms > 0",
    sums: &[
        ("connections", "count(*)"),
        ("bytes", "CAST(sum(bytes_sent + bytes_received) AS BIGINT)"),
        ("sent", "CAST(sum(packets_sent) AS BIGINT)"),
        ("lost", "CAST(sum(packets_lost) AS BIGINT)"),
        ("kept", "CAST(sum(slots_kept) AS BIGINT)"),
        ("ended", "CAST(sum(slots_kept + slots_missed) AS BIGINT)"),
    ],
    quantiles: &[
        ("rate", &[("r5", 0.05), ("r50", 0.5), ("r95", 0.95)]),
        ("rtt", &[("t50", 0.5), ("t95", 0.95)]),
    ],
    columns: &[
        ("connections", "connections"),
        ("gigabytes", "round(bytes / 1e9, 3)"),
        ("p5_rate_mbps", "round(r5 / 1e6, 3)"),
        ("p50_rate_mbps", "round(r50 / 1e6, 3)"),
        ("p95_rate_mbps", "round(r95 / 1e6, 3)"),
        ("p50_rtt_ms", "round(t50 / 1e3, 2)"),
        ("p95_rtt_ms", "round(t95 / 1e3, 2)"),
        ("lost_percent", "round(lost * 100.0 / nullif(sent, 0), 3)"),
        (
            "slots_kept_percent",
            "round(kept * 100.0 / nullif(ended, 0), 2)",
        ),
    ],
};
