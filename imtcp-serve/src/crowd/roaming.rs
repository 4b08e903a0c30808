//! A client's socket that changes its port behind the client's back, as a NAT does, or goes silent.

use futures::task::AtomicWaker;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio_quiche::datagram_socket::{DatagramSocketRecv, DatagramSocketSend};

/// The present port, and the one before. What the server has sent to that one still arrives, or a
/// client that only reads would have no reason to be heard from the present one.
#[derive(Clone, Debug)]
struct Ports {
    present: Arc<UdpSocket>,
    former: Option<Arc<UdpSocket>>,
}

/// A port towards one server. Clones are the same port.
#[derive(Clone, Debug)]
pub struct Roaming(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    ports: Mutex<Ports>,
    is_gone: AtomicBool,
    /// Whoever waits for a datagram waits at a port. It has to learn that there is another one.
    reader: AtomicWaker,
}

impl Roaming {
    /// # Errors
    /// The system has no port left, or no way to the server.
    pub async fn towards(server: SocketAddr) -> io::Result<Self> {
        Ok(Self(Arc::new(Shared {
            server,
            ports: Mutex::new(Ports {
                present: port(server).await?,
                former: None,
            }),
            is_gone: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        })))
    }

    /// The address at this time.
    ///
    /// # Errors
    /// The socket has none.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.ports().present.local_addr()
    }

    /// The server hears the client from another port from now on.
    ///
    /// # Errors
    /// The system has no port left.
    pub async fn change(&self) -> io::Result<()> {
        let present = port(self.0.server).await?;
        let mut ports = self.lock();
        let former = Some(std::mem::replace(&mut ports.present, present));
        ports.former = former;
        drop(ports);
        self.0.reader.wake();
        Ok(())
    }

    /// The server hears nothing any more, not even a farewell.
    pub fn vanish(&self) {
        self.0.is_gone.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Ports> {
        self.0.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ports(&self) -> Ports {
        self.lock().clone()
    }

    fn is_gone(&self) -> bool {
        self.0.is_gone.load(Ordering::Relaxed)
    }
}

async fn port(server: SocketAddr) -> io::Result<Arc<UdpSocket>> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    Ok(Arc::new(socket))
}

impl DatagramSocketSend for Roaming {
    fn poll_send(&self, cx: &mut Context<'_>, datagram: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_gone() {
            return Poll::Ready(Ok(datagram.len()));
        }
        UdpSocket::poll_send(&self.ports().present, cx, datagram)
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        datagram: &[u8],
        _server: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.poll_send(cx, datagram)
    }

    fn peer_addr(&self) -> Option<SocketAddr> {
        Some(self.0.server)
    }
}

impl DatagramSocketRecv for Roaming {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        datagram: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.reader.register(cx.waker());
        if self.is_gone() {
            return Poll::Pending;
        }
        let ports = self.ports();
        if let Some(former) = ports.former
            && let Poll::Ready(Ok(())) = UdpSocket::poll_recv(&former, cx, datagram)
        {
            return Poll::Ready(Ok(()));
        }
        UdpSocket::poll_recv(&ports.present, cx, datagram)
    }

    fn poll_recv_from(
        &mut self,
        cx: &mut Context<'_>,
        datagram: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let server = self.0.server;
        self.poll_recv(cx, datagram).map_ok(|()| server)
    }
}
