//! A relay that behaves like a network address translator which forgets: from time to time what
//! comes from the client reaches the server from another port, and neither is told.
//!
//! What the server still sends to an earlier port passes. A client that only receives would
//! otherwise have nothing to acknowledge, and no server could ever learn of its new port.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long the relay waits before it looks whether it is to end, in milliseconds.
const GLANCE_MS: u16 = 50;

/// Datagrams that are taken from one side before the other has its turn.
const BATCH: usize = 32;

/// The longest datagram that there can be.
const LONGEST: usize = 65_535;

/// A relay that runs; dropping it ends it.
pub struct Relay {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<usize>>>,
}

impl Relay {
    /// A relay to `server` on loopback. It changes its port each time that a number of bytes has
    /// passed in both directions together.
    pub fn start(server: SocketAddr, rebind_at: Vec<u64>) -> Result<Self> {
        let inside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
        inside.set_nonblocking(true)?;
        let address = inside.local_addr()?;
        let ending = Arc::new(AtomicBool::new(false));
        let work = Work {
            inside,
            outside: vec![outside(server)?],
            client: None,
            server,
            rebind_at,
            passed: 0,
            rebound: 0,
        };
        let is_ending = Arc::clone(&ending);
        Ok(Self {
            address,
            ending,
            thread: Some(thread::spawn(move || work.run(&is_ending))),
        })
    }

    /// Where the client finds it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and returns how often it has changed its port.
    pub fn stop(mut self) -> Result<usize> {
        self.ending.store(true, Ordering::Relaxed);
        let thread = self.thread.take().context("it has ended already")?;
        thread.join().map_err(|_| anyhow!("the relay panicked"))?
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

struct Work {
    inside: UdpSocket,
    /// All of them receive, the last one sends.
    outside: Vec<UdpSocket>,
    client: Option<SocketAddr>,
    server: SocketAddr,
    rebind_at: Vec<u64>,
    passed: u64,
    rebound: usize,
}

impl Work {
    fn run(mut self, ending: &AtomicBool) -> Result<usize> {
        let mut buffer = vec![0; LONGEST];
        while !ending.load(Ordering::Relaxed) {
            let sockets = std::iter::once(&self.inside).chain(&self.outside);
            let mut watched: Vec<_> = sockets
                .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
                .collect();
            poll(&mut watched, PollTimeout::from(GLANCE_MS)).context("cannot wait")?;
            self.carry_out(&mut buffer)?;
            for port in 0..self.outside.len() {
                self.carry_in(port, &mut buffer)?;
            }
            self.rebind()?;
        }
        Ok(self.rebound)
    }

    fn carry_out(&mut self, buffer: &mut [u8]) -> Result<()> {
        for _ in 0..BATCH {
            match self.inside.recv_from(buffer) {
                Ok((length, from)) => {
                    self.client = Some(from);
                    self.passed += length as u64;
                    // What cannot be sent is lost, as on any path.
                    let _ = self.outside[self.rebound].send(&buffer[..length]);
                }
                Err(error) => return nothing_left(error),
            }
        }
        Ok(())
    }

    fn carry_in(&mut self, port: usize, buffer: &mut [u8]) -> Result<()> {
        for _ in 0..BATCH {
            match self.outside[port].recv(buffer) {
                Ok(length) => {
                    self.passed += length as u64;
                    if let Some(client) = self.client {
                        let _ = self.inside.send_to(&buffer[..length], client);
                    }
                }
                Err(error) => return nothing_left(error),
            }
        }
        Ok(())
    }

    fn rebind(&mut self) -> Result<()> {
        if self
            .rebind_at
            .get(self.rebound)
            .is_some_and(|at| self.passed >= *at)
        {
            self.outside.push(outside(self.server)?);
            self.rebound += 1;
        }
        Ok(())
    }
}

fn outside(server: SocketAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A peer that is gone refuses, which is no failure of the relay's.
fn nothing_left(error: std::io::Error) -> Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(error).context("the relay cannot receive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_server_sees_another_port_after_the_bytes_and_the_client_sees_the_relay() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        for socket in [&server, &client] {
            let patience = Some(Duration::from_secs(10));
            socket.set_read_timeout(patience).expect("a time");
        }
        let address = server.local_addr().expect("its address");
        let relay = Relay::start(address, vec![150]).expect("a relay");
        let mut buffer = [0; 200];
        let mut ports = Vec::new();
        for _ in 0..3 {
            client.send_to(&[1; 100], relay.address()).expect("sent");
            let (length, from) = server.recv_from(&mut buffer).expect("carried out");
            assert_eq!(length, 100);
            ports.push(from.port());
            server.send_to(&[2; 10], from).expect("sent");
            let (length, from) = client.recv_from(&mut buffer).expect("carried in");
            assert_eq!((length, from), (10, relay.address()));
        }
        // 110 bytes after the first, 210 with the second on its way out.
        assert_eq!(ports[0], ports[1]);
        assert_ne!(ports[1], ports[2]);
        assert_eq!(relay.stop().expect("it ran"), 1);
    }
}
