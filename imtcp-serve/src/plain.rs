//! Plain HTTP for this host alone: what the metrics and the dashboard are read by.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Readers at the same time. More have to wait.
const READERS: usize = 32;

/// Whoever has not said what it wants by then is sent away.
const PATIENCE: Duration = Duration::from_secs(5);

/// A reader may ask again and again for so long. Then it has to come anew, so that nobody who
/// reads nothing keeps a place.
const VISIT: Duration = Duration::from_secs(60);

/// A page of text.
pub type Page = Response<Full<Bytes>>;

/// Answers until it is dropped. `what` names it in the log.
pub async fn serve<F>(listener: TcpListener, what: &'static str, answer: F)
where
    F: Fn(&Request<Incoming>) -> Page + Send + Sync + 'static,
{
    let answer = Arc::new(answer);
    let readers = Arc::new(Semaphore::new(READERS));
    loop {
        let Ok(place) = Arc::clone(&readers).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, what, "cannot be read");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let answer = Arc::clone(&answer);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let page = answer(&request);
                async { Ok::<_, Infallible>(page) }
            });
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE);
            let mut visit = pin!(server.serve_connection(TokioIo::new(stream), service));
            let ended = tokio::select! {
                ended = &mut visit => Some(ended),
                () = tokio::time::sleep(VISIT) => {
                    visit.as_mut().graceful_shutdown();
                    tokio::time::timeout(PATIENCE, visit).await.ok()
                }
            };
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, what, "a reader");
            }
            drop(place);
        });
    }
}

/// A page in the place of another. It is seldom needed and large.
pub type Refusal = Box<Page>;

/// A page of this content type.
pub fn page(kind: &'static str, content: impl Into<Bytes>) -> Page {
    let mut page = Response::new(Full::new(content.into()));
    let kind = HeaderValue::from_static(kind);
    page.headers_mut().insert(CONTENT_TYPE, kind);
    page
}

/// A page that says why there is no other.
pub fn refusal(status: StatusCode, why: impl Into<Bytes>) -> Refusal {
    let mut page = page("text/plain; charset=utf-8", why);
    *page.status_mut() = status;
    Box::new(page)
}

/// Whether this method reads. If not, the answer that says so.
pub fn reads(method: &Method) -> Result<(), Refusal> {
    if method == Method::GET {
        return Ok(());
    }
    let mut page = refusal(StatusCode::METHOD_NOT_ALLOWED, "GET is all there is\n");
    let get = HeaderValue::from_static("GET");
    page.headers_mut().insert(ALLOW, get);
    Err(page)
}

/// Whether a request is to this host by a name that is its own. If not, the answer that says so.
///
/// A page of elsewhere can have its own name lead to this host (DNS rebinding), and would then be
/// allowed to read the answers. Its requests name it.
pub fn names_this_host<B>(request: &Request<B>) -> Result<(), Refusal> {
    let host = request.headers().get(HOST);
    if host.is_some_and(is_own) {
        return Ok(());
    }
    Err(refusal(
        StatusCode::MISDIRECTED_REQUEST,
        "this answers to localhost, and to addresses like 127.0.0.1 and [::1]\n",
    ))
}

fn is_own(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    let has_user = authority.as_str().contains('@');
    !has_user && is_local(name)
}

fn is_local(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_host_are_answered() {
        let names = |host| is_own(&HeaderValue::from_static(host));
        for host in [
            "localhost",
            "LOCALHOST:9434",
            "127.0.0.1:1",
            "127.8.8.8",
            "[::1]:9434",
        ] {
            assert!(names(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example:9434",
            "localhost.evil.example",
            "evil.example@127.0.0.1",
            "192.0.2.1",
            "0.0.0.0:9434",
            "127.0.0.1, evil.example",
        ] {
            assert!(!names(host), "{host}");
        }
    }
}
