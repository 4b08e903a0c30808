//! A server that closes the connection right behind the last bytes of an answer.

use std::net::UdpSocket;
use std::path::Path;

/// Answers one request with `answer`, and closes the connection behind it.
pub fn answer_and_close(certs: &Path, socket: &UdpSocket, answer: &[u8]) {
    let path = |name: &str| certs.join(name).to_str().expect("text").to_owned();
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    config
        .load_cert_chain_from_pem_file(&path("cert.pem"))
        .expect("a certificate");
    config
        .load_priv_key_from_pem_file(&path("priv.key"))
        .expect("its key");
    config
        .set_application_protos(&[b"hq-interop"])
        .expect("a protocol");
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_bidi_remote(1 << 20);
    config.set_initial_max_streams_bidi(1);
    let to = socket.local_addr().expect("bound");
    let mut buffer = [0; 65_535];
    let mut server: Option<quiche::Connection> = None;
    loop {
        let (length, from) = socket.recv_from(&mut buffer).expect("a client");
        let server = server.get_or_insert_with(|| {
            let id = quiche::ConnectionId::from_ref(&[9; 16]);
            quiche::accept(&id, None, to, from, &mut config).expect("it begins")
        });
        let info = quiche::RecvInfo { from, to };
        // The first packets are repeated where this was slow.
        let _ = server.recv(&mut buffer[..length], info);
        let mut request = [0; 100];
        let is_asked = matches!(server.stream_recv(0, &mut request), Ok((_, true)));
        if is_asked {
            let sent = server.stream_send(0, answer, true);
            assert_eq!(sent, Ok(answer.len()));
        }
        let mut datagrams = Vec::new();
        let mut gather = |server: &mut quiche::Connection| {
            let mut datagram = vec![0; 1350];
            while let Ok((length, _)) = server.send(&mut datagram) {
                datagrams.push(datagram[..length].to_vec());
            }
        };
        gather(server);
        if is_asked {
            server.close(true, 0, b"").expect("it was open");
            gather(server);
        }
        for datagram in datagrams {
            socket.send_to(&datagram, from).expect("sent");
        }
        if is_asked {
            return;
        }
    }
}
