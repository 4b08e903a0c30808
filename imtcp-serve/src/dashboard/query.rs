//! What the page asks for.

use percent_encoding::percent_decode_str;

/// The most connections in an answer.
const MOST_ROWS: usize = 100;

/// The longest text that is looked for.
const LONGEST: usize = 100;

/// Which connections come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Broken promises, then those at risk, then rates that were refused, then the rest; the
    /// oldest first in each.
    #[default]
    Trouble,
    /// The highest goodput.
    Fastest,
    /// The latest.
    Newest,
}

/// A part of all connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// From 0.
    pub page: usize,
    /// Connections on a page.
    pub rows: usize,
    /// Which come first.
    pub order: Order,
    /// Part of a name, an address, or a status, in small letters.
    pub find: String,
}

impl Query {
    /// Reads what stands behind the question mark.
    ///
    /// # Errors
    /// Says which part is wrong, and what would be right.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut query = Self {
            page: 0,
            rows: 25,
            order: Order::default(),
            find: String::new(),
        };
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "page" => {
                    query.page = value
                        .parse()
                        .map_err(|_| "`page` is a number from 0".to_owned())?;
                }
                "rows" => {
                    let rows = value.parse().ok();
                    let rows = rows.filter(|rows| (1..=MOST_ROWS).contains(rows));
                    query.rows =
                        rows.ok_or_else(|| format!("`rows` is a number from 1 to {MOST_ROWS}"))?;
                }
                "order" => query.order = order(value)?,
                "find" => query.find = find(value)?,
                _ => return Err("takes `page`, `rows`, `order` and `find`".to_owned()),
            }
        }
        Ok(query)
    }
}

fn order(text: &str) -> Result<Order, String> {
    match text {
        "trouble" => Ok(Order::Trouble),
        "fastest" => Ok(Order::Fastest),
        "newest" => Ok(Order::Newest),
        _ => Err("`order` is `trouble`, `fastest` or `newest`".to_owned()),
    }
}

fn find(text: &str) -> Result<String, String> {
    let plain = text.replace('+', " ");
    let text = percent_decode_str(&plain).decode_utf8();
    let text = text.map_err(|_| "`find` is UTF-8".to_owned())?;
    if text.len() > LONGEST {
        return Err(format!("`find` has up to {LONGEST} bytes"));
    }
    Ok(text.trim().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_in_any_order() {
        let query = Query::read("find=%3CB%3E+a&rows=100&order=newest&page=7");
        let expected = Query {
            page: 7,
            rows: 100,
            order: Order::Newest,
            find: "<b> a".to_owned(),
        };
        assert_eq!(query, Ok(expected));
        assert_eq!(Query::read("").map(|query| query.rows), Ok(25));
    }

    #[test]
    fn a_query_that_would_cost_too_much_is_refused() {
        let long = format!("find={}", "a".repeat(LONGEST + 1));
        for (text, expected) in [
            ("rows=101", "1 to 100"),
            ("rows=0", "1 to 100"),
            ("rows=-1", "1 to 100"),
            ("page=a", "from 0"),
            ("order=<script>", "`newest`"),
            ("find=%ff", "UTF-8"),
            ("size=1", "`rows`"),
            (&*long, "up to 100 bytes"),
        ] {
            let error = Query::read(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("<script>"), "an echo");
        }
    }
}
