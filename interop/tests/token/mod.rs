//! A client that comes with a token of this test's own.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// What the server says to it. The client was given the token by a Retry, and so takes no other.
pub fn answer_to(token: &[u8], port: u16) -> quiche::ConnectionError {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    config
        .set_application_protos(&[b"hq-interop"])
        .expect("a protocol");
    config.verify_peer(false);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let patience = Some(Duration::from_secs(10));
    socket.set_read_timeout(patience).expect("a timeout");
    let to = socket.local_addr().expect("bound");
    let from = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let info = quiche::RecvInfo { from, to };
    let id = quiche::ConnectionId::from_ref(&[7; 16]);
    let client = quiche::connect(None, &id, to, from, &mut config);
    let mut client = client.expect("it begins");
    let mut buffer = [0; 1500];
    let (length, _) = client.send(&mut buffer).expect("a first packet");
    let header = quiche::Header::from_slice(&mut buffer[..length], 16).expect("it is whole");
    let mut retry = [0; 1500];
    let server = quiche::ConnectionId::from_ref(&[9; 16]);
    let version = header.version;
    let made = quiche::retry(
        &header.scid,
        &header.dcid,
        &server,
        token,
        version,
        &mut retry,
    );
    let made = made.expect("there is room");
    client.recv(&mut retry[..made], info).expect("it is taken");
    let (length, _) = client.send(&mut buffer).expect("it comes again");
    socket.send_to(&buffer[..length], from).expect("sent");
    let (length, _) = socket.recv_from(&mut buffer).expect("an answer");
    let taken = client.recv(&mut buffer[..length], info);
    let told = client.peer_error().cloned();
    told.unwrap_or_else(|| panic!("{taken:?}, and no reason"))
}
