//! Datagrams that open no connection.

use crate::support::{Running, fetch_with, folder, on_one_thread};
use std::time::Duration;
use tokio::net::UdpSocket;

const CLIENT_ID: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const SERVER_ID: [u8; 8] = [8, 7, 6, 5, 4, 3, 2, 1];

/// The first datagram of a client of this version, as far as a stranger to the version can tell.
fn initial(version: u32, server: [u8; 8]) -> Vec<u8> {
    let mut datagram = vec![0xc0];
    datagram.extend(version.to_be_bytes());
    for id in [server, CLIENT_ID] {
        datagram.push(8);
        datagram.extend(id);
    }
    // No token, and a length of 1100 bytes that nobody has encrypted.
    datagram.extend([0, 0x44, 0x4c]);
    datagram.resize(1200, 0xa5);
    datagram
}

#[test]
fn who_speaks_another_version_is_told_and_who_speaks_none_leaves_no_trace() {
    on_one_thread(async {
        let (folder, _) = folder();
        let qlogs = folder.path().join("qlogs");
        let name = qlogs.to_str().expect("a readable path");
        let server = Running::start(folder.path(), &["--qlog", name]);
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        socket.connect(server.address).await.expect("an address");
        let junk = initial(1, [9; 8]);
        socket.send(&junk).await.expect("sent");
        let foreign = initial(0x1a2a_3a4a, SERVER_ID);
        socket.send(&foreign).await.expect("sent");

        let mut answer = [0; 1500];
        let heard = tokio::time::timeout(Duration::from_secs(5), socket.recv(&mut answer)).await;
        let length = heard.expect("it answers").expect("received");
        // The server has taken both by now.
        assert_eq!(files(&qlogs), 0);
        let mut expected = vec![0, 0, 0, 0];
        for id in [CLIENT_ID, SERVER_ID] {
            expected.push(8);
            expected.extend(id);
        }
        assert!(answer[..length].starts_with(&[&answer[..1], &expected].concat()));
        let versions = answer[1 + expected.len()..length].chunks(4);
        assert!(answer[0] & 0x80 != 0 && versions.into_iter().any(|it| it == [0, 0, 0, 1]));

        let fetched = fetch_with(&[&server.url("file"), "--insecure"]).await;
        fetched.expect("a client of this version is served");
        assert_eq!(files(&qlogs), 1);
        assert_eq!(server.stop().await.connections, 1);
    });
}

fn files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).expect("it is there").count()
}
