//! Requests that depend on what the client has already (RFC 9110, section 13).

use headers::{
    ETag, HeaderMapExt, IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince, LastModified,
};
use http::HeaderMap;
use http::header::IF_RANGE;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// By what a client can tell whether its copy is still good.
#[derive(Clone, Debug)]
pub struct Validators {
    /// Of length and time of change, as strong as a file system allows.
    pub etag: ETag,
    /// The time of change, in whole seconds.
    pub modified: SystemTime,
}

/// What the conditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Proceed,
    /// The client's copy is good: 304.
    NotModified,
    /// It is not what the client means: 412.
    Failed,
}

impl Validators {
    /// Those of a file of `length` bytes, last changed at `modified`.
    pub fn new(length: u64, modified: SystemTime) -> Self {
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let tag = format!("\"{length:x}-{:x}\"", since.as_nanos());
        Self {
            etag: tag.parse().expect("digits and a hyphen between quotes"),
            modified: UNIX_EPOCH + Duration::from_secs(since.as_secs()),
        }
    }

    /// The order of RFC 9110, section 13.2.2: entity tags are asked before dates.
    pub fn judge(&self, fields: &HeaderMap) -> Verdict {
        let is_ours = match fields.typed_get::<IfMatch>() {
            Some(condition) => condition.precondition_passes(&self.etag),
            None => fields
                .typed_get::<IfUnmodifiedSince>()
                .is_none_or(|condition| condition.precondition_passes(self.modified)),
        };
        if !is_ours {
            return Verdict::Failed;
        }
        let is_new = match fields.typed_get::<IfNoneMatch>() {
            Some(condition) => condition.precondition_passes(&self.etag),
            None => fields
                .typed_get::<IfModifiedSince>()
                .is_none_or(|condition| condition.is_modified(self.modified)),
        };
        match is_new {
            true => Verdict::Proceed,
            false => Verdict::NotModified,
        }
    }

    /// Whether a part may be sent, or the client's other parts are of another file (`If-Range`).
    /// The condition has to be what this server wrote, letter by letter: a date fits no later one
    /// (RFC 9110, section 13.1.5), since files are also replaced by older ones.
    pub fn allow_a_part(&self, fields: &HeaderMap) -> bool {
        let mut written = HeaderMap::new();
        self.write(&mut written);
        let condition = fields.get(IF_RANGE);
        condition.is_none_or(|condition| written.values().any(|own| own == condition))
    }

    /// Says them in a response.
    pub fn write(&self, fields: &mut HeaderMap) {
        fields.typed_insert(self.etag.clone());
        fields.typed_insert(LastModified::from(self.modified));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    const DATE: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
    const EARLIER: &str = "Sun, 09 Sep 2001 01:46:39 GMT";
    const LATER: &str = "Sun, 09 Sep 2001 01:46:41 GMT";

    fn file() -> Validators {
        Validators::new(0x100, UNIX_EPOCH + Duration::from_millis(1_000_000_000_250))
    }

    fn fields(list: &[(&'static str, &str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &str)| {
            let value = HeaderValue::from_str(value).expect("text");
            (HeaderName::from_static(name), value)
        };
        list.iter().map(field).collect()
    }

    fn tag() -> String {
        let mut map = HeaderMap::new();
        file().write(&mut map);
        let tag = map.get("etag").expect("written");
        tag.to_str().expect("text").to_owned()
    }

    #[test]
    fn what_is_written_makes_the_next_request_a_304() {
        let mut map = HeaderMap::new();
        file().write(&mut map);
        assert_eq!(map["last-modified"], DATE);
        for condition in [
            [("if-none-match", tag().as_str())],
            [("if-none-match", "*")],
            [("if-modified-since", DATE)],
        ] {
            let verdict = file().judge(&fields(&condition));
            assert_eq!(verdict, Verdict::NotModified, "{condition:?}");
        }
    }

    #[test]
    fn other_files_are_sent_or_refused() {
        for (condition, expected) in [
            (vec![], Verdict::Proceed),
            (vec![("if-none-match", "\"other\"")], Verdict::Proceed),
            (vec![("if-modified-since", EARLIER)], Verdict::Proceed),
            (vec![("if-modified-since", "yesterday")], Verdict::Proceed),
            (
                vec![("if-none-match", "\"other\""), ("if-modified-since", DATE)],
                Verdict::Proceed,
            ),
            (vec![("if-match", "\"other\"")], Verdict::Failed),
            (vec![("if-match", &tag())], Verdict::Proceed),
            (vec![("if-unmodified-since", EARLIER)], Verdict::Failed),
            (vec![("if-unmodified-since", DATE)], Verdict::Proceed),
        ] {
            assert_eq!(file().judge(&fields(&condition)), expected, "{condition:?}");
        }
    }

    #[test]
    fn a_part_is_sent_of_the_same_file_alone() {
        for (condition, expected) in [
            (vec![], true),
            (vec![("if-range", tag())], true),
            (vec![("if-range", DATE.to_owned())], true),
            (vec![("if-range", "\"other\"".to_owned())], false),
            (vec![("if-range", EARLIER.to_owned())], false),
            (vec![("if-range", LATER.to_owned())], false),
            (vec![("if-range", format!("W/{}", tag()))], false),
            (vec![("if-range", "nonsense".to_owned())], false),
        ] {
            let list: Vec<_> = condition.iter().map(|(n, v)| (*n, v.as_str())).collect();
            assert_eq!(
                file().allow_a_part(&fields(&list)),
                expected,
                "{condition:?}"
            );
        }
    }

    #[test]
    fn a_change_within_the_second_changes_the_tag() {
        let later = UNIX_EPOCH + Duration::from_millis(1_000_000_000_251);
        let other = Validators::new(0x100, later);
        assert_ne!(other.etag, file().etag);
        assert_eq!(other.modified, file().modified);
    }
}
