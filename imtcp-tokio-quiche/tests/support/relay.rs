//! A NAT between client and server, which changes its port when it is told to.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

/// Starts a relay to the server. Returns its address for the client, and what makes it change: from
/// then on the server hears the client from another port. What the server still sends to the old
/// one arrives, or a client that only reads would have no reason to be heard.
pub async fn relay(server: SocketAddr) -> (SocketAddr, Arc<Notify>) {
    let inside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let inside = Arc::new(inside.expect("a port"));
    let address = inside.local_addr().expect("its address");
    let change = Arc::new(Notify::new());
    tokio::spawn(carry_out(inside, server, Arc::clone(&change)));
    (address, change)
}

async fn carry_out(inside: Arc<UdpSocket>, server: SocketAddr, change: Arc<Notify>) {
    let mut outside = port_towards(server).await;
    let mut buffer = [0; 65_536];
    let mut client = None;
    loop {
        tokio::select! {
            () = change.notified() => {
                outside = port_towards(server).await;
                client = None;
            }
            received = inside.recv_from(&mut buffer) => {
                let (length, from) = received.expect("loopback receives");
                if client.replace(from).is_none() {
                    tokio::spawn(carry_back(Arc::clone(&outside), Arc::clone(&inside), from));
                }
                let _ = outside.send(&buffer[..length]).await;
            }
        }
    }
}

async fn carry_back(outside: Arc<UdpSocket>, inside: Arc<UdpSocket>, client: SocketAddr) {
    let mut buffer = [0; 65_536];
    while let Ok(length) = outside.recv(&mut buffer).await {
        let _ = inside.send_to(&buffer[..length], client).await;
    }
}

async fn port_towards(server: SocketAddr) -> Arc<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let socket = socket.expect("a port");
    socket.connect(server).await.expect("a route");
    Arc::new(socket)
}
