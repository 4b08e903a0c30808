//! A signal to what counts TCP. It reaches all of a process, so this test has one of its own.

use imtcp_examples::bulk;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// The other side closes when it has read, and so counted, all of it.
async fn send(to: SocketAddr, bytes: usize) {
    let mut stream = TcpStream::connect(to).await.expect("it listens");
    stream.write_all(&vec![0; bytes]).await.expect("it reads");
    stream.shutdown().await.expect("it is open");
    assert_eq!(stream.read(&mut [0]).await.expect("it closes"), 0);
}

#[tokio::test]
async fn a_signal_begins_the_count_anew() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it can");
    let to = listener.local_addr().expect("it has one");
    let (stop, stopped) = oneshot::channel::<()>();
    let receiver = tokio::spawn(bulk::receive(listener, async {
        let _ = stopped.await;
    }));
    send(to, 1000).await;
    let own = std::process::id().to_string();
    let told = Command::new("kill").args(["-USR1", &own]).status();
    assert!(told.expect("it runs").success());
    tokio::time::sleep(Duration::from_millis(100)).await;
    send(to, 300).await;
    stop.send(()).expect("it still runs");
    let received = receiver.await.expect("no panic").expect("it ends well");
    assert_eq!((received.flows, received.bytes), (2, 300));
}
