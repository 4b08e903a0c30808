//! The page that Prometheus reads.

use crate::plain::{self, Page, Refusal};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

const PATH: &str = "/metrics";

/// OpenMetrics, which Prometheus reads as well as its own.
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers until it is dropped.
pub async fn serve(listener: TcpListener, registry: Registry) {
    plain::serve(listener, "metrics", move |request| {
        answer(request, &registry).unwrap_or_else(|refusal| *refusal)
    })
    .await;
}

fn answer(request: &Request<Incoming>, registry: &Registry) -> Result<Page, Refusal> {
    plain::names_this_host(request)?;
    if request.uri().path() != PATH {
        return Err(plain::refusal(StatusCode::NOT_FOUND, "see /metrics\n"));
    }
    plain::reads(request.method())?;
    let mut page = String::new();
    match text::encode(&mut page, registry) {
        Ok(()) => Ok(plain::page(KIND, page)),
        Err(_) => Err(plain::refusal(StatusCode::INTERNAL_SERVER_ERROR, "")),
    }
}
