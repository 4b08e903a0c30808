//! The page that Prometheus reads, over plain HTTP.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const PATH: &str = "/metrics";

/// OpenMetrics, which Prometheus reads as well as its own.
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Readers at the same time. More have to wait.
const READERS: usize = 32;

/// Whoever has not said what it wants by then is sent away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers until it is dropped.
pub async fn serve(listener: TcpListener, registry: Registry) {
    let registry = Arc::new(registry);
    let readers = Arc::new(Semaphore::new(READERS));
    loop {
        let Ok(place) = Arc::clone(&readers).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no metrics");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let registry = Arc::clone(&registry);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let response = answer(&request, &registry);
                async { Ok::<_, Infallible>(response) }
            });
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE);
            let connection = server.serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a reader of metrics");
            }
            drop(place);
        });
    }
}

fn answer(request: &Request<Incoming>, registry: &Registry) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    match (request.method(), request.uri().path()) {
        (&Method::GET, PATH) => {
            let mut page = String::new();
            if text::encode(&mut page, registry).is_err() {
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            }
            *response.body_mut() = Full::from(page);
            let kind = http::HeaderValue::from_static(KIND);
            response.headers_mut().insert(CONTENT_TYPE, kind);
        }
        (_, PATH) => {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            let get = http::HeaderValue::from_static("GET");
            response.headers_mut().insert(ALLOW, get);
        }
        _ => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    response
}
