//! What a server says of the path (CTA-5006), as far as the choice of a bit rate can use it.

use sfv::{BareItem, List, ListEntry, Parser};

/// Rates of the last answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// `etp`: the estimated throughput, in bit/s.
    pub estimated_bps: Option<f64>,
    /// `mb`: the highest bit rate that the server suggests, in bit/s.
    pub suggested_bps: Option<f64>,
}

impl Told {
    /// Reads the field `cmsd-dynamic`. Each entity on the way adds an entry; the first is the one
    /// at the origin. What is malformed says nothing: CMSD is an advice.
    pub fn read(field: &str) -> Self {
        let list = Parser::new(field).parse::<List>().unwrap_or_default();
        let Some(ListEntry::Item(entity)) = list.first() else {
            return Self::default();
        };
        let rate = |name: &str| {
            let value = entity.params.iter().find(|(key, _)| key.as_str() == name);
            match value.map(|(_, value)| value) {
                Some(BareItem::Integer(kbps)) => Some(i64::from(*kbps)),
                _ => None,
            }
        };
        // A rate of 0 would be no choice at all.
        let positive = |kbps: i64| (kbps > 0).then_some(kbps as f64 * 1000.0);
        Self {
            estimated_bps: rate("etp").and_then(positive),
            suggested_bps: rate("mb").and_then(positive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_nonsense_is_not() {
        let told = Told::read("\"imtcp-serve\";etp=18780;mb=17073;rtt=41");
        assert_eq!(told.estimated_bps, Some(18_780_000.0));
        assert_eq!(told.suggested_bps, Some(17_073_000.0));
        for nothing in [
            "",
            "\"s\"",
            "\"s\";etp=-1;mb=0",
            "\"s\";etp=fast",
            ";;",
            "(1 2)",
        ] {
            assert_eq!(Told::read(nothing), Told::default(), "{nothing}");
        }
    }
}
