//! What an operator keeps open: a page that shows every connection live.
//!
//! A task looks at the connections once a second and remembers a minute of each. The page asks for
//! what it shows, a bounded number of connections; nobody who looks costs a connection anything.

mod history;
mod query;
mod state;

pub use history::Watch;

use crate::plain::{self, Page, Refusal};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use query::Query;
use std::sync::Arc;
use tokio::net::TcpListener;

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const PLOT: &str = include_str!("plot.js");

/// Nothing but this server's own files is ever loaded, and no other page shows this one inside.
const FIELDS: [(HeaderName, &str); 5] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Watches and answers until it is dropped.
pub async fn serve(listener: TcpListener, watch: Arc<Watch>) {
    let answering = Arc::clone(&watch);
    let pages = plain::serve(listener, "dashboard", move |request| {
        let mut page = answer(request, &answering).unwrap_or_else(|refusal| *refusal);
        for (name, value) in FIELDS {
            page.headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        page
    });
    tokio::join!(pages, watch.run());
}

fn answer(request: &Request<Incoming>, watch: &Watch) -> Result<Page, Refusal> {
    plain::names_this_host(request)?;
    let uri = request.uri();
    let (kind, content) = match uri.path() {
        "/" => ("text/html; charset=utf-8", HTML),
        "/page.css" => ("text/css; charset=utf-8", CSS),
        "/page.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "/plot.js" => ("text/javascript; charset=utf-8", PLOT),
        "/state.json" => {
            plain::reads(request.method())?;
            let query = Query::read(uri.query().unwrap_or_default());
            let bad = |why: String| plain::refusal(StatusCode::BAD_REQUEST, why + "\n");
            let state = watch.state(&query.map_err(bad)?);
            return Ok(plain::page("application/json", state));
        }
        _ => return Err(plain::refusal(StatusCode::NOT_FOUND, "see /\n")),
    };
    plain::reads(request.method())?;
    Ok(plain::page(kind, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_writes_no_markup() {
        for text in [HTML, CSS, SCRIPT, PLOT] {
            let addresses = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!addresses.contains("http"), "an address");
            assert!(!text.contains("@import"), "a style sheet of elsewhere");
        }
        for sink in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
        ] {
            let is_used = SCRIPT.contains(sink) || PLOT.contains(sink);
            assert!(!is_used, "{sink} makes markup of text");
        }
    }
}
