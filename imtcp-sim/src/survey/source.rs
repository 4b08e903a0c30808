//! What the flow that is looked at sends.

use super::draw::Draw;

pub(super) struct Source {
    pub(super) words: String,
    /// As scenarios write it.
    pub(super) text: String,
    /// The rate; none for bulk.
    pub(super) mbps: Option<f64>,
}

/// What the flow sends: bulk, or 3 to 60 % of its share of the least that is ever left.
pub(super) fn source(draw: &mut Draw, least_mbps: f64) -> Source {
    let mbps = draw.between(0.03, 0.6) * least_mbps;
    let kind = draw.one_of(&["bulk", "bulk", "frames", "chunks", "player", "datagrams"]);
    of_kind(draw, kind, mbps)
}

/// A source of this kind. Unless it is bulk, it sends at this rate.
pub(super) fn of_kind(draw: &mut Draw, kind: &str, mbps: f64) -> Source {
    let rate = format!("rate = \"{} bit/s\"", whole(mbps * 1e6));
    let per_second = draw.between(10.0, 100.0);
    let period_s = draw.between(0.5, 4.0);
    let text = match kind {
        "frames" => format!("{{ kind = \"frames\", {rate}, per_second = {per_second:.1} }}"),
        "chunks" => format!("{{ kind = \"chunks\", {rate}, period = \"{period_s:.3} s\" }}"),
        "player" => {
            let buffer_s = period_s * draw.evenly(1.5, 8.0);
            format!(
                "{{ kind = \"player\", {rate}, period = \"{period_s:.3} s\", \
                 buffer = \"{buffer_s:.3} s\" }}"
            )
        }
        "datagrams" if draw.chance(0.5) => {
            format!("{{ kind = \"datagrams\", {rate}, per_second = {per_second:.1} }}")
        }
        "datagrams" => format!("{{ kind = \"datagrams\", {rate} }}"),
        _ => "{ kind = \"bulk\" }".to_owned(),
    };
    let words = match kind {
        "bulk" => kind.to_owned(),
        kind => format!("{mbps:.2} Mbit/s of {kind}"),
    };
    Source {
        words,
        text,
        mbps: (kind != "bulk").then_some(mbps),
    }
}

/// As scenarios write a rate in bit/s or a size in bytes.
pub(super) fn whole(value: f64) -> String {
    format!("{:.0}", value.max(1.0))
}

/// Datagrams of `bytes` bytes, evenly.
pub(super) fn datagrams(mbps: f64, bytes: f64) -> Source {
    let bytes = whole(bytes);
    Source {
        words: format!("{mbps:.2} Mbit/s of datagrams of {bytes} B"),
        text: format!(
            "{{ kind = \"datagrams\", rate = \"{} bit/s\", size = \"{bytes} B\" }}",
            whole(mbps * 1e6)
        ),
        mbps: Some(mbps),
    }
}
