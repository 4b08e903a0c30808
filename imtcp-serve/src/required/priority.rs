//! HTTP priorities (RFC 9218): which answers go first, the urgency of background tasks, and the
//! parameter `r`, the rate above which a client has no use for more
//! (draft-chatzis-httpbis-required-rate-00).
//!
//! The draft is young. Its unit is taken to be that of CMCD, kbit/s, and [`BITS`] is the place to
//! change if it becomes another.

use imtcp_cc::units::Bandwidth;
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use tokio_quiche::quiche::h3::Priority;

/// The urgency of what names none (RFC 9218, section 4.1).
const USUAL: u8 = 3;

/// The urgency that is reserved for background tasks (RFC 9218, section 4.1).
const BACKGROUND: i64 = 7;

/// The bits per second of 1.
const BITS: u64 = 1000;

/// Reads the value of a `Priority` field, or of a PRIORITY_UPDATE frame. Whatever is malformed is
/// ignored, as RFC 9218 demands of all parameters.
pub fn required_rate(value: &[u8]) -> Option<Bandwidth> {
    let rate = u64::try_from(parameter(value, "r")?).ok()?;
    Some(Bandwidth::from_bps(rate.saturating_mul(BITS)))
}

/// Whether the value names the urgency of background tasks.
pub fn is_background(value: &[u8]) -> bool {
    parameter(value, "u") == Some(BACKGROUND)
}

/// In which order the answer goes, beside others of its connection. `None` if the value is no
/// dictionary. What it does not name, or names wrongly, is as usual.
pub fn order(value: &[u8]) -> Option<Priority> {
    let parameters = dictionary(value)?;
    let urgency = match item(&parameters, "u") {
        Some(BareItem::Integer(number)) => u8::try_from(i64::from(*number)).ok(),
        _ => None,
    };
    let urgency = urgency.filter(|urgency| i64::from(*urgency) <= BACKGROUND);
    let in_turns = matches!(item(&parameters, "i"), Some(BareItem::Boolean(true)));
    Some(Priority::new(urgency.unwrap_or(USUAL), in_turns))
}

/// The parameter of this name, if it is a whole number.
fn parameter(value: &[u8], name: &str) -> Option<i64> {
    match item(&dictionary(value)?, name)? {
        BareItem::Integer(number) => Some(i64::from(*number)),
        _ => None,
    }
}

fn dictionary(value: &[u8]) -> Option<Dictionary> {
    let value = std::str::from_utf8(value).ok()?;
    Parser::new(value).parse().ok()
}

fn item<'d>(parameters: &'d Dictionary, name: &str) -> Option<&'d BareItem> {
    match parameters.get(name)? {
        ListEntry::Item(item) => Some(&item.bare_item),
        ListEntry::InnerList(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn r_is_read_beside_other_parameters() {
        let rate = Some(Bandwidth::from_kbps(4500));
        for value in ["r=4500", "u=3, i, r=4500", "r=4500;a=b, new=(1 2)"] {
            assert_eq!(required_rate(value.as_bytes()), rate, "{value}");
        }
    }

    #[test]
    fn anything_else_is_ignored() {
        for value in [
            "", "u=1, i", "r", "r=4.5", "r=-1", "r=(1)", "r=fast", "u=1,,r=4", "R=4",
        ] {
            assert_eq!(required_rate(value.as_bytes()), None, "{value}");
        }
        assert_eq!(required_rate(b"r=1\xff"), None);
    }

    #[test]
    fn urgency_seven_is_the_background_and_no_other_is() {
        for (value, expected) in [
            ("u=7", true),
            ("i, u=7, r=4500", true),
            ("u=6", false),
            ("u=07", true),
            ("u=7.0", false),
            ("u", false),
            ("", false),
        ] {
            assert_eq!(is_background(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn the_order_is_what_the_client_names_and_the_usual_one_where_it_names_none() {
        for (value, urgency, in_turns) in [
            ("u=0", 0, false),
            ("u=7, i", 7, true),
            ("i", 3, true),
            ("i=?0, u=1;a", 1, false),
            ("", 3, false),
            ("r=4500", 3, false),
            ("u=8", 3, false),
            ("u=-1, i=1", 3, false),
            ("u=256", 3, false),
            ("u=fast, i", 3, true),
        ] {
            let expected = Priority::new(urgency, in_turns);
            assert_eq!(order(value.as_bytes()), Some(expected), "{value}");
        }
        assert_eq!(order(b"u=1,,"), None);
        assert_eq!(order(b"u=1\xff"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (required_rate(&bytes), is_background(&bytes), order(&bytes));
        }
    }
}
