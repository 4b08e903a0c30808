//! A request, out of the fields that HTTP/3 brings.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use std::fmt;
use tokio_quiche::quiche::h3::{Header, NameValue};

/// A request without its body.
#[derive(Clone, Debug)]
pub struct Request {
    /// `:method`.
    pub method: Method,
    /// `:path` before the question mark, as it came.
    pub path: String,
    /// What follows the question mark.
    pub query: Option<String>,
    /// The other fields.
    pub fields: HeaderMap,
}

/// What a request lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRequest(&'static str);

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Request {
    /// Reads the fields.
    ///
    /// # Errors
    /// They make no request for a file.
    pub fn read(list: &[Header]) -> Result<Self, BadRequest> {
        let (mut method, mut target, mut fields) = (None, None, HeaderMap::new());
        for field in list {
            match field.name() {
                b":method" => method = Method::from_bytes(field.value()).ok(),
                b":path" => target = std::str::from_utf8(field.value()).ok(),
                name if name.starts_with(b":") => {}
                name => {
                    let name = HeaderName::from_bytes(name);
                    let value = HeaderValue::from_bytes(field.value());
                    let (Ok(name), Ok(value)) = (name, value) else {
                        return Err(BadRequest("a field that HTTP does not allow"));
                    };
                    fields.append(name, value);
                }
            }
        }
        let target = target.ok_or(BadRequest("no `:path`"))?;
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        Ok(Self {
            method: method.ok_or(BadRequest("no `:method`"))?,
            path: path.to_owned(),
            query,
            fields,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[(&str, &str)]) -> Result<Request, BadRequest> {
        let fields: Vec<_> = list
            .iter()
            .map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()))
            .collect();
        Request::read(&fields)
    }

    #[test]
    fn path_query_and_fields_are_told_apart() {
        let request = read(&[
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/a/b.mpd?CMCD=br%3D1?2"),
            ("range", "bytes=0-1"),
        ]);
        let request = request.expect("complete");
        assert_eq!(
            (request.method, request.path.as_str()),
            (Method::GET, "/a/b.mpd")
        );
        assert_eq!(request.query.as_deref(), Some("CMCD=br%3D1?2"));
        assert_eq!(request.fields.len(), 1);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (list, expected) in [
            (vec![(":method", "GET")], "no `:path`"),
            (vec![(":path", "/")], "no `:method`"),
            (vec![(":path", "/"), (":method", "G T")], "no `:method`"),
            (
                vec![(":path", "/"), (":method", "GET"), ("a b", "")],
                "HTTP does not allow",
            ),
            (
                vec![(":path", "/"), (":method", "GET"), ("a", "b\n")],
                "HTTP does not allow",
            ),
        ] {
            let error = read(&list).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
