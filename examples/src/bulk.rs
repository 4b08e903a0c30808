//! Cross traffic that reacts: bulk transfers over the kernel's TCP.

use crate::output::say;
use anyhow::{Context, Result};
use clap::Args;
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// How much is handed to the kernel at a time.
const CHUNK: usize = 64 << 10;

/// After a connection that could not be taken, so long until the next is. There may be no room for
/// more open files, and then the same comes back at once.
const PAUSE: Duration = Duration::from_millis(100);

/// What to send.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where to.
    #[arg(long, value_name = "ADDR:PORT")]
    pub to: SocketAddr,

    /// How many transfers side by side.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub flows: u16,

    /// The congestion control, by the kernel's name of it: reno, cubic, and others that are loaded.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub congestion_control: String,
}

/// What came through.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tally {
    /// Transfers that have begun.
    pub flows: u64,
    /// Application data of all of them.
    pub bytes: u64,
    /// From the first connection, or from when the count began anew, to the end.
    pub seconds: f64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            flows,
            bytes,
            seconds,
        } = self;
        write!(f, "{flows} transfers, {bytes} bytes in {seconds:.3} s")
    }
}

/// Sends as fast as TCP lets it, until `shutdown` is done.
///
/// # Errors
/// There is no such congestion control, nobody listens, or a transfer is cut off.
///
/// # Panics
/// Outside a tokio runtime.
pub async fn send(options: &Options, shutdown: impl Future<Output = ()>) -> Result<Tally> {
    let mut flows = JoinSet::new();
    let bytes = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let transfers = async {
        for _ in 0..options.flows {
            let stream = connect(options).await?;
            flows.spawn(fill(stream, Arc::clone(&bytes)));
        }
        match flows.join_next().await {
            Some(ended) => ended?.with_context(|| format!("cannot send to {}", options.to)),
            None => Ok(()),
        }
    };
    tokio::select! {
        biased;
        () = shutdown => {}
        ended = transfers => ended?,
    }
    let begun = flows.len() as u64;
    flows.shutdown().await;
    Ok(Tally {
        flows: begun,
        bytes: bytes.load(Ordering::Relaxed),
        seconds: started.elapsed().as_secs_f64(),
    })
}

async fn connect(options: &Options) -> Result<TcpStream> {
    let socket = match options.to {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.context("cannot open a socket")?;
    let name = &options.congestion_control;
    setsockopt(&socket, TcpCongestion, &OsString::from(name)).with_context(|| {
        format!(
            "the kernel has no congestion control `{name}`; \
         /proc/sys/net/ipv4/tcp_available_congestion_control lists those it has"
        )
    })?;
    let stream = socket.connect(options.to).await;
    stream.with_context(|| format!("cannot connect to {}", options.to))
}

async fn fill(mut stream: TcpStream, bytes: Arc<AtomicU64>) -> io::Result<()> {
    let chunk = vec![0; CHUNK];
    loop {
        let written = stream.write(&chunk).await?;
        bytes.fetch_add(written as u64, Ordering::Relaxed);
    }
}

/// Takes whatever comes until `shutdown` is done. At SIGUSR1 bytes and time are counted anew, for
/// those who compare transfers that began at different times.
///
/// # Errors
/// The system gives no signals.
///
/// # Panics
/// Outside a tokio runtime.
pub async fn receive(listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<Tally> {
    let mut anew = signal(SignalKind::user_defined1()).context("cannot receive signals")?;
    let bytes = Arc::new(AtomicU64::new(0));
    let mut flows = JoinSet::new();
    let mut started = None;
    let mut count = 0;
    let mut is_told = false;
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(()) = anew.recv() => {
                bytes.store(0, Ordering::Relaxed);
                started = Some(Instant::now());
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        let (stream, _) = match accepted {
            Ok(accepted) => accepted,
            // It is of that connection, or of a moment; the others go on.
            Err(error) => {
                if !is_told {
                    say(format_args!("warning: a connection is not taken: {error}"));
                    is_told = true;
                }
                tokio::select! {
                    biased;
                    () = &mut shutdown => break,
                    () = tokio::time::sleep(PAUSE) => continue,
                }
            }
        };
        started.get_or_insert_with(Instant::now);
        count += 1;
        flows.spawn(drain(stream, Arc::clone(&bytes)));
    }
    flows.shutdown().await;
    Ok(Tally {
        flows: count,
        bytes: bytes.load(Ordering::Relaxed),
        seconds: started.map_or(0.0, |started| started.elapsed().as_secs_f64()),
    })
}

async fn drain(mut stream: TcpStream, bytes: Arc<AtomicU64>) {
    let mut buffer = vec![0; CHUNK];
    // Its end and its failure are the same here: no more comes.
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        bytes.fetch_add(read as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// What has not happened by then never happens.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_wish_to_end_is_heard_while_a_connection_does_not_come_about() {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
        // It has room for a connection or two that nobody accepts; the next ones wait.
        let listener = socket.listen(1).expect("it can");
        let options = Options {
            to: listener.local_addr().expect("it has one"),
            flows: 20,
            congestion_control: "reno".to_owned(),
        };
        let wish = tokio::time::sleep(Duration::from_millis(50));
        let sent = tokio::time::timeout(PATIENCE, send(&options, wish));
        let tally = sent.await.expect("it ends").expect("it was asked to");
        assert!(tally.flows < 20, "{tally}");
    }
}
