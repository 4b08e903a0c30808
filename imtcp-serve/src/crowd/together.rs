//! Clients that all do the same at the same time.

use super::visitor::{Visitor, server};
use super::{Together, say};
use anyhow::Result;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Handshakes at the same time. They cost a server far more than connections do.
const AT_THE_DOOR: usize = 16;

/// The farewells of all take less.
const FAREWELL: Duration = Duration::from_millis(500);

/// How far a crowd is.
#[derive(Debug, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum Stage {
    /// All are there that will be, and nothing is asked for.
    Connected { connected: usize, failed: usize },
    /// All have asked.
    Fetching,
    /// All have what they asked for.
    Fetched(Outcome),
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    served: usize,
    failed: usize,
    bytes: u64,
    /// From the request to the last byte of the last client.
    seconds: f64,
    /// Some of the reasons.
    errors: Vec<String>,
}

pub(super) async fn run(options: Together) -> Result<()> {
    server(&options.url)?;
    let options = Arc::new(options);
    let door = Arc::new(Semaphore::new(AT_THE_DOOR));
    let mut coming = JoinSet::new();
    for _ in 0..options.connections {
        let (options, door) = (Arc::clone(&options), Arc::clone(&door));
        coming.spawn(async move {
            let _place = door.acquire_owned().await?;
            Visitor::come(&options.url).await
        });
    }
    let (mut visitors, mut outcome) = (Vec::new(), Outcome::default());
    while let Some(came) = coming.join_next().await {
        match came? {
            Ok(visitor) => visitors.push(visitor),
            Err(error) => outcome.count(&error),
        }
    }
    say(&Stage::Connected {
        connected: visitors.len(),
        failed: outcome.failed,
    })?;
    tokio::time::sleep(options.idle).await;
    say(&Stage::Fetching)?;
    fetch(&options, visitors, outcome).await
}

async fn fetch(options: &Together, visitors: Vec<Visitor>, mut outcome: Outcome) -> Result<()> {
    let began = Instant::now();
    let (all_done, done) = watch::channel(false);
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let expected = visitors.len();
    let mut staying = JoinSet::new();
    for mut visitor in visitors {
        let (told, mut done) = (told.clone(), done.clone());
        let path = options.url.path().to_owned();
        staying.spawn(async move {
            // Nobody listens any more at the end, and then nothing is to be told.
            let _ = told.send(visitor.get(&path, |_| {}).await);
            let _ = done.wait_for(|is_done| *is_done).await;
            drop(visitor);
        });
    }
    for _ in 0..expected {
        match heard.recv().await {
            Some(Ok(bytes)) => {
                outcome.served += 1;
                outcome.bytes += bytes;
            }
            Some(Err(error)) => outcome.count(&error),
            None => break,
        }
    }
    outcome.seconds = began.elapsed().as_secs_f64();
    say(&Stage::Fetched(outcome))?;
    tokio::time::sleep(options.stay).await;
    all_done.send_replace(true);
    while staying.join_next().await.is_some() {}
    // The connections' own tasks say farewell.
    tokio::time::sleep(FAREWELL).await;
    Ok(())
}

impl Outcome {
    fn count(&mut self, error: &anyhow::Error) {
        /// The rest would say the same.
        const ENOUGH: usize = 5;
        self.failed += 1;
        if self.errors.len() < ENOUGH {
            self.errors.push(format!("{error:#}"));
        }
    }
}
