//! A UDP socket that reads and writes the ECN field, and knows to which of its addresses a datagram
//! came.

use anyhow::{Context, Result};
use quiche::ecn::Mark;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// The most that one read hands out: the kernel may join datagrams of one sender.
const BUFFER: usize = 65_535;

/// A UDP socket.
#[derive(Debug)]
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    buffer: Vec<u8>,
}

/// A datagram as it came.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Its payload.
    pub bytes: &'a mut [u8],
    /// Who sent it.
    pub from: SocketAddr,
    /// The address to which it came.
    pub to: SocketAddr,
    /// Its ECN field.
    pub mark: Mark,
}

impl Socket {
    /// A socket bound to `local`; one of IPv6 is for IPv6 alone.
    ///
    /// # Errors
    /// The address is taken, or the system has no such addresses.
    pub fn bind(local: SocketAddr) -> Result<Self> {
        let open = || -> io::Result<Self> {
            let socket =
                RawSocket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
            if local.is_ipv6() {
                socket.set_only_v6(true)?;
            }
            socket.bind(&local.into())?;
            socket.set_nonblocking(true)?;
            let state = UdpSocketState::new((&socket).into())?;
            let io = UdpSocket::from_std(socket.into())?;
            Ok(Self {
                local: io.local_addr()?,
                io,
                state,
                buffer: vec![0; BUFFER],
            })
        };
        open().with_context(|| format!("cannot open a UDP socket at {local}"))
    }

    /// The address it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits for a datagram.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub async fn readable(&self) -> io::Result<()> {
        self.io.readable().await
    }

    /// Hands what is there to `take`. False if there was nothing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn try_receive(&mut self, mut take: impl FnMut(Datagram<'_>)) -> io::Result<bool> {
        let Self {
            io,
            state,
            local,
            buffer,
        } = self;
        let mut meta = [RecvMeta::default()];
        let received = io.try_io(Interest::READABLE, || {
            state.recv((&*io).into(), &mut [IoSliceMut::new(buffer)], &mut meta)
        });
        match received {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // An answer of ICMP: the datagram that it is about is lost, and no more.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        }
        let [meta] = meta;
        let to = meta
            .dst_ip
            .map_or(*local, |ip| SocketAddr::new(ip, local.port()));
        for bytes in buffer[..meta.len].chunks_mut(meta.stride.max(1)) {
            take(Datagram {
                bytes,
                from: meta.addr,
                to,
                mark: meta
                    .ecn
                    .map_or(Mark::NotEct, |ecn| Mark::from_bits(ecn as u8)),
            });
        }
        Ok(true)
    }

    /// Sends a datagram. It is lost where the kernel does not take it.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub async fn send(&self, bytes: &[u8], info: &quiche::SendInfo, mark: Mark) -> io::Result<()> {
        let transmit = Transmit {
            destination: info.to,
            ecn: EcnCodepoint::from_bits(mark.bits()),
            contents: bytes,
            segment_size: None,
            src_ip: (!info.from.ip().is_unspecified()).then(|| info.from.ip()),
        };
        let send = || self.state.send((&self.io).into(), &transmit);
        self.io.async_io(Interest::WRITABLE, send).await
    }
}
