//! The answer to a request: status, fields, and what to send.

use crate::folder::{self, Folder, OpenFile, Part, Verdict};
use crate::request::Request;
use crate::required::REQUIRED_RATE_FIELD;
use bytes::Bytes;
use headers::{AcceptRanges, ContentLength, ContentRange, Date, HeaderMapExt};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CONTENT_TYPE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use std::fs::File;
use std::ops::Range;
use std::time::SystemTime;

/// Where players post their CMCD.
pub const CMCD_PATH: &str = "/cmcd";

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS, POST");

/// Lets a page from anywhere measure what it loads from here.
const TIMING_ALLOW_ORIGIN: HeaderName = HeaderName::from_static("timing-allow-origin");

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The fields.
    pub fields: HeaderMap,
    /// What follows.
    pub content: Content,
}

/// What follows the fields.
#[derive(Debug)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// A sentence that says what is wrong.
    Text(Bytes),
    /// These bytes of a file.
    File(File, Range<u64>),
}

impl Answer {
    /// Fields alone. Pages of other sites may read them: a player's page is rarely where the
    /// segments are. By the date players of live titles set their clocks (ISO/IEC 23009-1,
    /// `urn:mpeg:dash:utc:http-head:2014`).
    pub fn empty(status: StatusCode) -> Self {
        let mut fields = HeaderMap::new();
        fields.typed_insert(Date::from(SystemTime::now()));
        let anyone = HeaderValue::from_static("*");
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, anyone.clone());
        fields.insert(TIMING_ALLOW_ORIGIN, anyone);
        let exposed = HeaderValue::from_static("cmsd-dynamic, content-range, date, etag");
        fields.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        Self {
            status,
            fields,
            content: Content::Nothing,
        }
    }

    /// A status with a sentence for whoever looks at it.
    pub fn saying(status: StatusCode, text: impl Into<String>) -> Self {
        let mut answer = Self::empty(status);
        let text = Bytes::from(format!("{}\n", text.into()));
        answer.fields.typed_insert(ContentLength(text.len() as u64));
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.fields.insert(CONTENT_TYPE, kind);
        answer.content = Content::Text(text);
        answer
    }

    /// The same for HEAD: the fields, and nothing after them.
    #[must_use]
    pub fn without_content(mut self) -> Self {
        self.content = Content::Nothing;
        self
    }
}

/// Answers all requests but those for [`CMCD_PATH`].
pub async fn answer(folder: &Folder, request: &Request) -> Answer {
    match request.method {
        Method::GET => file(folder, request).await,
        Method::HEAD => file(folder, request).await.without_content(),
        Method::OPTIONS => preflight(),
        _ => {
            let text = format!("{} is not for files; GET and HEAD are", request.method);
            let mut answer = Answer::saying(StatusCode::METHOD_NOT_ALLOWED, text);
            answer.fields.insert(ALLOW, METHODS);
            answer
        }
    }
}

/// What a browser asks before it sends fields of its own.
fn preflight() -> Answer {
    let mut answer = Answer::empty(StatusCode::NO_CONTENT);
    let fields = format!(
        "cmcd-object, cmcd-request, cmcd-session, cmcd-status, content-type, if-match, \
         if-modified-since, if-none-match, if-range, if-unmodified-since, priority, range, \
         {REQUIRED_RATE_FIELD}"
    );
    if let Ok(fields) = HeaderValue::from_str(&fields) {
        answer.fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, fields);
    }
    answer.fields.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answer.fields.insert(ALLOW, METHODS);
    answer
}

async fn file(folder: &Folder, request: &Request) -> Answer {
    let name = match folder::relative(&request.path) {
        Ok(name) => name,
        Err(folder::PathError::Hidden) => return not_found(),
        Err(error) => return Answer::saying(StatusCode::BAD_REQUEST, error.to_string()),
    };
    match folder.file(&name).await {
        Ok(Some(found)) => {
            let mut answer = conditional(found, request);
            let is_content = matches!(answer.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
            if is_content && let Ok(kind) = HeaderValue::from_str(&folder::content_type(&name)) {
                answer.fields.insert(CONTENT_TYPE, kind);
            }
            answer
        }
        Ok(None) => not_found(),
        Err(error) => {
            tracing::error!(name = %name.display(), %error, "cannot read a file");
            let text = "the file is there and cannot be read";
            Answer::saying(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

fn not_found() -> Answer {
    Answer::saying(StatusCode::NOT_FOUND, "there is no such file")
}

fn conditional(found: OpenFile, request: &Request) -> Answer {
    let fields = &request.fields;
    let mut answer = match found.validators.judge(fields) {
        Verdict::NotModified => Answer::empty(StatusCode::NOT_MODIFIED),
        Verdict::Failed => {
            let text = "the file is not the one that the condition names";
            Answer::saying(StatusCode::PRECONDITION_FAILED, text)
        }
        Verdict::Proceed => {
            let validators = found.validators.clone();
            let mut answer = of_part(asked_part(&found, request), found);
            validators.write(&mut answer.fields);
            return answer;
        }
    };
    found.validators.write(&mut answer.fields);
    answer
}

/// GET alone has ranges (RFC 9110, section 14.2). HEAD tells the length of the whole.
fn asked_part(found: &OpenFile, request: &Request) -> Part {
    let fields = &request.fields;
    let range = fields.get(http::header::RANGE);
    let range = range.filter(|_| request.method == Method::GET);
    match range.and_then(|range| range.to_str().ok()) {
        Some(range) if found.validators.allow_a_part(fields) => folder::part(range, found.length),
        _ => Part::Whole,
    }
}

fn of_part(part: Part, found: OpenFile) -> Answer {
    let (status, bytes) = match part {
        Part::Whole => (StatusCode::OK, 0..found.length),
        Part::Bytes(bytes) => (StatusCode::PARTIAL_CONTENT, bytes),
        Part::Unsatisfiable => {
            let text = format!("the file has {} bytes", found.length);
            let mut answer = Answer::saying(StatusCode::RANGE_NOT_SATISFIABLE, text);
            let range = ContentRange::unsatisfied_bytes(found.length);
            answer.fields.typed_insert(range);
            return answer;
        }
    };
    let mut answer = Answer::empty(status);
    answer.fields.typed_insert(AcceptRanges::bytes());
    answer
        .fields
        .typed_insert(ContentLength(bytes.end - bytes.start));
    if status == StatusCode::PARTIAL_CONTENT
        && let Ok(range) = ContentRange::bytes(bytes.clone(), found.length)
    {
        answer.fields.typed_insert(range);
    }
    answer.content = Content::File(found.file, bytes);
    answer
}
