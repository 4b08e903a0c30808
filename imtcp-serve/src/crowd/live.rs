//! Clients that live: each place of the crowd is taken by one after another.

use super::visitor::{Visitor, server};
use super::{Live, say};
use anyhow::{Error, Result};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Errors that are told in words. All are counted.
const TOLD: u64 = 20;

/// The pause of a client that pauses.
const PAUSE: Duration = Duration::from_secs(3);

/// A file is long enough for something to happen in its midst: after so many bytes.
const MIDST: u64 = 150_000;

/// What a visit is like. Each kind follows the one before.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Fetches, and says farewell.
    Plain,
    /// Its port changes while a file comes.
    Moving,
    /// Pauses between files, and its port changes in the pause.
    Pausing,
    /// Vanishes without a word while a file comes.
    Vanishing,
    /// Vanishes while nothing happens.
    Forgetful,
}

const KINDS: [Kind; 5] = [
    Kind::Plain,
    Kind::Moving,
    Kind::Pausing,
    Kind::Vanishing,
    Kind::Forgetful,
];

/// What has happened so far.
#[derive(Debug, Default, Serialize)]
struct Counts {
    visits: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    moves: AtomicU64,
    vanished: AtomicU64,
    failed: AtomicU64,
}

pub(super) async fn run(options: Live) -> Result<()> {
    server(&options.url)?;
    let end = Instant::now() + options.length;
    let (options, counts) = (Arc::new(options), Arc::new(Counts::default()));
    let mut places = JoinSet::new();
    for _ in 0..options.connections {
        let (options, counts) = (Arc::clone(&options), Arc::clone(&counts));
        places.spawn(async move {
            while Instant::now() < end {
                let number = counts.visits.fetch_add(1, Ordering::Relaxed);
                if let Err(error) = visit(&options, &counts, number).await {
                    counts.complain(number, &error);
                }
            }
        });
    }
    while places.join_next().await.is_some() {}
    // The last farewells.
    tokio::time::sleep(Duration::from_millis(100)).await;
    say(&*counts)
}

async fn visit(options: &Live, counts: &Counts, number: u64) -> Result<()> {
    let kind = KINDS[usize::try_from(number % 5)?];
    let file = ["/100k", "/1m", "/10m"][usize::try_from(number / 5 % 3)?];
    let mut visitor = Visitor::come(&options.url).await?;
    counts.fetched(visitor.get("/100k", |_| {}).await?);
    match kind {
        Kind::Plain => counts.fetched(visitor.get(file, |_| {}).await?),
        Kind::Moving => counts.fetched(move_in_the_midst(&mut visitor, counts).await?),
        Kind::Pausing => {
            tokio::time::sleep(PAUSE).await;
            change(&visitor, counts).await?;
            counts.fetched(visitor.get(file, |_| {}).await?);
        }
        Kind::Vanishing => {
            let roaming = visitor.roaming.clone();
            let midst = visitor.get("/10m", |bytes| {
                if bytes > MIDST {
                    roaming.vanish();
                }
            });
            // The rest of the file never comes.
            let _ = tokio::time::timeout(PAUSE, midst).await;
            counts.vanished.fetch_add(1, Ordering::Relaxed);
        }
        Kind::Forgetful => {
            visitor.roaming.vanish();
            counts.vanished.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

async fn change(visitor: &Visitor, counts: &Counts) -> Result<()> {
    visitor.roaming.change().await?;
    counts.moves.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

async fn move_in_the_midst(visitor: &mut Visitor, counts: &Counts) -> Result<u64> {
    let (told, heard) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    let roaming = visitor.roaming.clone();
    let getting = visitor.get("/10m", |bytes| {
        if bytes > MIDST
            && let Some(told) = told.take()
        {
            // The other half waits below.
            let _ = told.send(());
        }
    });
    let moving = async {
        if heard.await.is_ok() {
            roaming.change().await?;
            counts.moves.fetch_add(1, Ordering::Relaxed);
        }
        Ok::<_, Error>(())
    };
    let (bytes, moved) = tokio::join!(getting, moving);
    moved?;
    bytes
}

impl Counts {
    fn fetched(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn complain(&self, number: u64, error: &Error) {
        if self.failed.fetch_add(1, Ordering::Relaxed) < TOLD {
            eprintln!("visit {number}: {error:#}");
        }
    }
}
