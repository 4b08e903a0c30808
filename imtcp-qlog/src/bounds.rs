//! What a log can make of names: there are so many at most, and they are so long at most. A log
//! whose names never end takes no more memory than any other.

use serde::de::Error as _;
use std::collections::BTreeMap;

/// The most names of a kind: of estimators, statuses, causes. The controller has a dozen.
const MOST_NAMES: usize = 64;

/// The longest name, in bytes. The controller's longest has twenty.
const LONGEST_NAME: usize = 64;

/// The name, if it is not too long.
pub(crate) fn name(text: String) -> serde_json::Result<String> {
    if text.len() > LONGEST_NAME {
        let problem = format!("a name of {} bytes; {LONGEST_NAME} are read", text.len());
        return Err(serde_json::Error::custom(problem));
    }
    Ok(text)
}

/// What is kept for a name, if there is room for it.
pub(crate) fn entry<V: Default>(
    kept: &mut BTreeMap<String, V>,
    text: String,
) -> serde_json::Result<&mut V> {
    let text = name(text)?;
    if kept.len() >= MOST_NAMES && !kept.contains_key(&text) {
        let problem = format!("another name, `{text}`; {MOST_NAMES} different ones are read");
        return Err(serde_json::Error::custom(problem));
    }
    Ok(kept.entry(text).or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_few_and_short() {
        let mut kept = BTreeMap::new();
        for round in 0..2 {
            for index in 0..MOST_NAMES {
                let count: &mut u64 = entry(&mut kept, format!("name {index}")).expect("room");
                *count += 1;
                assert_eq!(*count, round + 1);
            }
        }
        for (text, expected) in [
            (
                "one more".to_owned(),
                "another name, `one more`; 64 different ones are read",
            ),
            ("x".repeat(65), "a name of 65 bytes; 64 are read"),
        ] {
            let problem = entry(&mut kept, text).expect_err("there is no room");
            assert_eq!(problem.to_string(), expected);
        }
        assert_eq!(kept.len(), MOST_NAMES);
    }
}
