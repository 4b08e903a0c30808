//! A number in the simulator's JSON, named by its place: `flows.main.score.mare`.

use serde::Deserialize;
use serde_json::Value;

use super::case::filled;
use crate::testbed::median;

/// Where a number stands. Parts are separated by points. In an array a part is the `name` or the
/// `link` of an element, its index, or `*` for all elements. Behind all elements, or behind an
/// array of numbers, `max`, `min`, `mean`, `median` or `count` makes one number of them. A null
/// in an array of numbers is something that never happened: it is infinite. If one of all elements
/// has no number there is none of all: the others may be the lucky ones. `or-never` says the
/// same of a null that stands alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Reading(String);

impl Reading {
    /// The number; none where there is no such thing. `{axis}` is replaced by the point's word.
    pub fn of(&self, run: &Value, words: &[(String, String)]) -> Option<f64> {
        let path = filled(&self.0, words);
        let mut found = vec![run];
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none()
                && let Some(number) = reduced(&found, part)
            {
                return Some(number);
            }
            let mut deeper = Vec::new();
            for value in &found {
                let named = below(value, part);
                // One of all that has no such thing: the others would speak for it.
                if named.is_empty() {
                    return None;
                }
                deeper.extend(named);
            }
            found = deeper;
        }
        match found[..] {
            [one] => number(one),
            _ => None,
        }
    }
}

/// A number. The simulator writes `inf` where JSON has none.
fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        _ => value.as_f64(),
    }
}

/// What a part names in a value.
fn below<'v>(value: &'v Value, part: &str) -> Vec<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(part).into_iter().collect(),
        Value::Array(all) if part == "*" => all.iter().collect(),
        Value::Array(all) => {
            let is_named =
                |element: &&Value| ["name", "link"].iter().any(|key| element[*key] == *part);
            let indexed = || part.parse().ok().and_then(|index: usize| all.get(index));
            all.iter()
                .find(is_named)
                .or_else(indexed)
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// One number of many; none if the part is no such word, or one of the many is no number.
fn reduced(found: &[&Value], word: &str) -> Option<f64> {
    if word == "or-never" {
        return match found {
            [Value::Null] => Some(f64::INFINITY),
            [one] => number(one),
            _ => None,
        };
    }
    let of = match word {
        "max" => |numbers: &[f64]| numbers.iter().copied().reduce(f64::max),
        "min" => |numbers: &[f64]| numbers.iter().copied().reduce(f64::min),
        "mean" => |numbers: &[f64]| {
            let sum: f64 = numbers.iter().sum();
            (!numbers.is_empty()).then(|| sum / numbers.len() as f64)
        },
        "median" => |numbers: &[f64]| median(numbers.iter().copied()),
        "count" => |numbers: &[f64]| Some(numbers.len() as f64),
        _ => return None,
    };
    // An object may have a field of that name.
    if let [Value::Object(_)] = found {
        return None;
    }
    let of_array = |value: &Value| match value {
        Value::Null => Some(f64::INFINITY),
        _ => number(value),
    };
    let numbers: Option<Vec<f64>> = match found {
        [Value::Array(all)] => all.iter().map(of_array).collect(),
        _ => found.iter().map(|value| number(value)).collect(),
    };
    of(&numbers?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(path: &str) -> Option<f64> {
        let run = json!({
            "flows": [
                { "name": "main", "pauses": 9.0, "completed_s": 3.0,
                  "grid": { "bias": 0.1, "lag_s": "inf" },
                  "score": { "mare": 0.04, "settle_s": [0.5, null, 0.7] },
                  "observed": [{ "name": "hoe", "score": { "mare": 0.3 } }] },
                { "name": "other", "pauses": 4.0, "completed_s": null,
                  "score": { "mare": 0.08, "settle_s": [] } },
            ],
            "usage": [{ "link": "bottleneck", "used": 0.9, "full_after_s": null }],
            "groups": [{ "name": "page", "burst_s": { "mean": 2.5, "count": 3 } }],
        });
        let points = [("reader".to_owned(), "hoe".to_owned())];
        Reading(path.to_owned()).of(&run, &points)
    }

    #[test]
    fn elements_of_arrays_are_named_by_their_names_links_or_numbers() {
        assert_eq!(read("flows.main.score.mare"), Some(0.04));
        assert_eq!(read("flows.1.score.mare"), Some(0.08));
        assert_eq!(read("usage.bottleneck.used"), Some(0.9));
        assert_eq!(read("flows.main.observed.{reader}.score.mare"), Some(0.3));
    }

    #[test]
    fn many_numbers_become_one_and_what_never_happened_is_infinite() {
        assert_eq!(read("flows.*.score.mare.mean"), Some(0.06));
        assert_eq!(read("flows.main.score.settle_s.max"), Some(f64::INFINITY));
        assert_eq!(read("flows.main.score.settle_s.min"), Some(0.5));
        assert_eq!(read("usage.bottleneck.full_after_s"), None);
        assert_eq!(read("flows.main.grid.lag_s"), Some(f64::INFINITY));
        assert_eq!(read("flows.main.name"), None, "a word");
        let never = "usage.bottleneck.full_after_s.or-never";
        assert_eq!(read(never), Some(f64::INFINITY));
        assert_eq!(
            read("groups.page.burst_s.mean"),
            Some(2.5),
            "a field of that name"
        );
    }

    #[test]
    fn of_all_there_is_no_number_if_one_of_them_has_none() {
        assert_eq!(read("flows.*.pauses.max"), Some(9.0));
        assert_eq!(read("flows.*.completed_s.max"), None, "a null");
        assert_eq!(read("flows.*.grid.max"), None, "no such field");
        assert_eq!(read("flows.*.grid.bias.max"), None, "nothing to look into");
    }

    #[test]
    fn what_is_not_there_is_none() {
        for path in [
            "flows.nobody.score.mare",
            "flows.main.score",
            "flows.other.score.settle_s.max",
        ] {
            assert_eq!(read(path), None, "{path}");
        }
    }
}
