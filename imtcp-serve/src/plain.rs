//! Plain HTTP for this host alone: what the metrics and the dashboard are read by.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
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
