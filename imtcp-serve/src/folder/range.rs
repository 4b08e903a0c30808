//! `Range: bytes=...` (RFC 9110, section 14).

use std::ops::Range;

/// What of a file is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it: no range, one that is not understood, or several at once.
    Whole,
    /// These bytes, and there are some.
    Bytes(Range<u64>),
    /// Nothing that the file has.
    Unsatisfiable,
}

/// Reads the field's value for a file of `length` bytes.
///
/// Several ranges are answered with the whole file, which RFC 9110 allows: players ask for one.
pub fn part(value: &str, length: u64) -> Part {
    let Some(set) = value.trim().strip_prefix("bytes=") else {
        return Part::Whole;
    };
    let Some((first, last)) = set.trim().split_once('-') else {
        return Part::Whole;
    };
    match (first.trim(), last.trim()) {
        ("", suffix) => match number(suffix) {
            Some(0) => Part::Unsatisfiable,
            Some(count) => within(length.saturating_sub(count)..length),
            None => Part::Whole,
        },
        (first, "") => match number(first) {
            Some(first) => within(first..length),
            None => Part::Whole,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => {
                within(first..last.saturating_add(1).min(length))
            }
            _ => Part::Whole,
        },
    }
}

fn within(bytes: Range<u64>) -> Part {
    if bytes.is_empty() {
        Part::Unsatisfiable
    } else {
        Part::Bytes(bytes)
    }
}

/// Digits alone. A number beyond 64 bits is beyond any file, too.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_range_is_cut_to_the_file() {
        for (value, bytes) in [
            ("bytes=0-0", 0..1),
            ("bytes=0-99", 0..100),
            ("bytes=10-", 10..100),
            ("bytes=10-500", 10..100),
            ("bytes=-1", 99..100),
            ("bytes=-500", 0..100),
            (" bytes= 5 - 6 ", 5..7),
            ("bytes=5-99999999999999999999999", 5..100),
        ] {
            assert_eq!(part(value, 100), Part::Bytes(bytes), "{value}");
        }
    }

    #[test]
    fn what_the_file_does_not_have_is_unsatisfiable() {
        for (value, length) in [
            ("bytes=100-", 100),
            ("bytes=100-200", 100),
            ("bytes=-0", 100),
            ("bytes=0-", 0),
            ("bytes=-5", 0),
            ("bytes=99999999999999999999999-", 100),
        ] {
            assert_eq!(part(value, length), Part::Unsatisfiable, "{value}");
        }
    }

    #[test]
    fn what_is_not_one_range_of_bytes_is_ignored() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=5-3",
            "bytes=+1-2",
            "bytes=0-1,5-6",
            "lines=0-1",
        ] {
            assert_eq!(part(value, 100), Part::Whole, "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_range_lies_in_the_file(
            value in "bytes=[0-9]{0,22}-[0-9]{0,22}|\\PC{0,40}",
            length in any::<u64>(),
        ) {
            if let Part::Bytes(bytes) = part(&value, length) {
                prop_assert!(bytes.start < bytes.end && bytes.end <= length, "{value}: {bytes:?}");
            }
        }
    }
}
