//! The endpoint as the runner starts it: a process for each role, told by its environment, over
//! loopback.

mod closing;
mod token;

use closing::answer_and_close;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_imtcp-interop");
const UNSUPPORTED: i32 = 127;

/// What the runner mounts, and a server on a port of its own.
struct Stage {
    root: TempDir,
    port: u16,
    server: Option<Child>,
}

/// A port that is free for the moment.
fn free_port() -> u16 {
    let probe = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a free port");
    probe.local_addr().expect("bound").port()
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["www", "downloads", "certs", "server", "client"] {
            fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let made = made.expect("a certificate");
        let certs = root.path().join("certs");
        fs::write(certs.join("cert.pem"), made.cert.pem()).expect("a file");
        fs::write(certs.join("priv.key"), made.signing_key.serialize_pem()).expect("a file");
        Self {
            root,
            port: free_port(),
            server: None,
        }
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn file(&self, name: &str, size: usize) {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(size).collect();
        fs::write(self.path().join("www").join(name), bytes).expect("a file");
    }

    fn command(&self, role: &str, case: &str) -> Command {
        let logs = self.path().join(role);
        let mut command = Command::new(PROGRAM);
        command
            .env("ROLE", role)
            .env("TESTCASE", case)
            .env("INTEROP_ROOT", self.path())
            .env("INTEROP_PORT", self.port.to_string())
            .env("SSLKEYLOGFILE", logs.join("keys.log"))
            .env("QLOGDIR", logs.join("qlog"))
            .env_remove("REQUESTS")
            .stderr(Stdio::piped());
        command
    }

    /// Starts the server. Somebody else may have taken its port meanwhile; then it gets another.
    fn serve(&mut self, case: &str) {
        loop {
            let mut server = self.command("server", case).spawn().expect("it starts");
            let said = server.stderr.take().expect("piped");
            let line = BufReader::new(said)
                .lines()
                .next()
                .expect("it says something");
            let line = line.expect("UTF-8");
            if line.contains("Address already in use") {
                server.wait().expect("it ends");
                self.port = free_port();
                continue;
            }
            assert!(line.contains("listening on"), "{line}");
            self.server = Some(server);
            return;
        }
    }

    /// The client's exit code.
    fn fetch(&self, case: &str, names: &[&str]) -> Option<i32> {
        let url = |name: &&str| format!("https://127.0.0.1:{}/{name}", self.port);
        let requests: Vec<String> = names.iter().map(url).collect();
        let mut client = self.command("client", case);
        let output = client
            .env("REQUESTS", requests.join(" "))
            .output()
            .expect("it runs");
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        output.status.code()
    }

    /// The server's exit code after SIGTERM.
    fn stop(&mut self) -> Option<i32> {
        let mut server = self.server.take().expect("a server");
        let killed = Command::new("kill")
            .args(["-TERM", &server.id().to_string()])
            .status();
        assert!(killed.is_ok_and(|status| status.success()));
        server.wait().expect("it ends").code()
    }

    fn downloaded(&self, name: &str) -> bool {
        let read = |folder: &str| fs::read(self.path().join(folder).join(name)).ok();
        let served = read("www");
        served.is_some() && served == read("downloads")
    }

    fn qlogs(&self, role: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path().join(role).join("qlog")).expect("the folder");
        let read = |entry: std::io::Result<fs::DirEntry>| {
            fs::read_to_string(entry.expect("an entry").path()).expect("UTF-8")
        };
        entries.map(read).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

#[test]
fn every_case_that_it_carries_fetches_exactly_what_was_asked_for() {
    // How many connections there have to be.
    let cases = [
        ("handshake", 1),
        ("transfer", 1),
        ("chacha20", 1),
        ("keyupdate", 1),
        ("retry", 1),
        ("resumption", 2),
        ("zerortt", 2),
        ("multiconnect", 3),
        ("http3", 1),
        ("ecn", 1),
    ];
    for (case, connections) in cases {
        let mut stage = Stage::new();
        let files = [("a", 600_000), ("b", 0), ("c", 10_000)];
        files
            .iter()
            .for_each(|(name, size)| stage.file(name, *size));
        stage.file("not-asked-for", 10);
        stage.serve(case);
        assert_eq!(stage.fetch(case, &["a", "b", "c"]), Some(0), "{case}");
        for (name, _) in files {
            assert!(stage.downloaded(name), "{case}: {name}");
        }
        let there = fs::read_dir(stage.path().join("downloads"))
            .expect("the folder")
            .count();
        assert_eq!(there, files.len(), "{case}");
        assert_eq!(stage.stop(), Some(0), "{case}");
        for role in ["client", "server"] {
            assert_eq!(stage.qlogs(role).len(), connections, "{case}, {role}");
            let keys = fs::read_to_string(stage.path().join(role).join("keys.log"));
            let keys = keys.expect("a key log");
            let secrets = keys.matches("SERVER_HANDSHAKE_TRAFFIC_SECRET ").count();
            assert_eq!(secrets, connections, "{case}, {role}");
        }
    }
}

#[test]
fn what_it_does_not_carry_it_says_by_127_in_both_roles() {
    let stage = Stage::new();
    for case in ["v2", "connectionmigration", "gracious-lemur", ""] {
        for role in ["client", "server"] {
            let ended = stage.command(role, case).output().expect("it runs");
            assert_eq!(ended.status.code(), Some(UNSUPPORTED), "{case} as {role}");
        }
    }
}

#[test]
fn the_case_is_looked_at_before_anything_else() {
    let stage = Stage::new();
    for (name, value) in [
        ("REQUESTS", "no URL"),
        ("CLIENT_PARAMS", "no parameter"),
        ("INTEROP_PORT", "no port"),
    ] {
        for (case, code) in [("v2", UNSUPPORTED), ("transfer", 1)] {
            let mut client = stage.command("client", case);
            let ended = client.env(name, value).output().expect("it runs");
            assert_eq!(ended.status.code(), Some(code), "{case}, {name}");
        }
    }
}

#[test]
fn a_token_of_no_worth_closes_the_connection_at_once() {
    let mut stage = Stage::new();
    stage.serve("retry");
    let told = token::answer_to(b"a token that the server never made", stage.port);
    assert!(!told.is_app, "{told:?}");
    assert_eq!(told.error_code, 0x0b, "INVALID_TOKEN");
    assert_eq!(stage.stop(), Some(0));
}

#[test]
fn a_file_that_is_not_there_fails_the_client_and_not_the_server() {
    let mut stage = Stage::new();
    stage.file("a", 10);
    stage.serve("transfer");
    assert_eq!(stage.fetch("transfer", &["missing"]), Some(1));
    assert_eq!(stage.fetch("transfer", &["a"]), Some(0));
    assert_eq!(stage.stop(), Some(0));
}

#[test]
fn a_signal_in_the_middle_of_a_transfer_leaves_complete_logs() {
    let mut stage = Stage::new();
    stage.file("a", 50_000_000);
    stage.serve("transfer");
    let request = format!("https://127.0.0.1:{}/a", stage.port);
    let mut client = stage
        .command("client", "transfer")
        .env("REQUESTS", request)
        .spawn();
    let client = client.as_mut().expect("it starts");
    let partial = stage.path().join("downloads/a");
    while fs::metadata(&partial).map_or(0, |file| file.len()) < 100_000 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(stage.stop(), Some(0));
    assert_eq!(
        client.wait().expect("it ends").code(),
        Some(1),
        "the server has gone"
    );
    for role in ["client", "server"] {
        let logs = stage.qlogs(role);
        assert_eq!(logs.len(), 1, "{role}");
        for record in logs[0].split('\u{1e}').filter(|record| !record.is_empty()) {
            let ends = record.ends_with("}\n") && record.starts_with('{');
            assert!(ends, "{role}: {record}");
        }
    }
}

#[test]
fn what_came_before_the_server_closed_is_kept() {
    let mut stage = Stage::new();
    stage.file("a", 3000);
    let answer = fs::read(stage.path().join("www/a")).expect("a file");
    let certs = stage.path().join("certs");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    stage.port = socket.local_addr().expect("bound").port();
    let code = std::thread::scope(|scope| {
        scope.spawn(|| answer_and_close(&certs, &socket, &answer));
        stage.fetch("transfer", &["a"])
    });
    assert_eq!(code, Some(0));
    assert!(stage.downloaded("a"));
}

/// A client of this test's own on one stream of HTTP/0.9.
struct Stream {
    connection: quiche::Connection,
    socket: UdpSocket,
    received: usize,
    is_done: bool,
}

impl Stream {
    fn connect(port: u16) -> Self {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
        config
            .set_application_protos(&[b"hq-interop"])
            .expect("a protocol");
        config.verify_peer(false);
        config.set_initial_max_data(1 << 20);
        config.set_initial_max_stream_data_bidi_local(1 << 20);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let patience = Some(Duration::from_millis(20));
        socket.set_read_timeout(patience).expect("a timeout");
        let local = socket.local_addr().expect("bound");
        let id = quiche::ConnectionId::from_ref(&[7; 16]);
        let peer = (Ipv4Addr::LOCALHOST, port).into();
        let connection = quiche::connect(None, &id, local, peer, &mut config).expect("it begins");
        Self {
            connection,
            socket,
            received: 0,
            is_done: false,
        }
    }

    fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        let mut buffer = [0; 65_535];
        for _ in 0..10_000 {
            if done(self) {
                return;
            }
            while let Ok((length, info)) = self.connection.send(&mut buffer) {
                self.socket
                    .send_to(&buffer[..length], info.to)
                    .expect("sent");
            }
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    let to = self.socket.local_addr().expect("bound");
                    let info = quiche::RecvInfo { from, to };
                    self.connection
                        .recv(&mut buffer[..length], info)
                        .expect("it is valid");
                }
                Err(_) => self.connection.on_timeout(),
            }
            while let Ok((length, is_end)) = self.connection.stream_recv(0, &mut buffer) {
                self.received += length;
                self.is_done |= is_end;
            }
        }
        panic!(
            "{} bytes, {:?}",
            self.received,
            self.connection.peer_error()
        );
    }
}

/// quic-go's client does so.
#[test]
fn a_request_whose_stream_ends_later_is_answered_once_and_in_full() {
    let mut stage = Stage::new();
    stage.file("a", 600_000);
    stage.serve("transfer");
    let mut stream = Stream::connect(stage.port);
    stream.run_until(|stream| stream.connection.is_established());
    let asked = stream.connection.stream_send(0, b"GET /a\r\n", false);
    assert_eq!(asked, Ok(8));
    stream.run_until(|stream| stream.received > 10_000);
    assert_eq!(stream.connection.stream_send(0, b"", true), Ok(0));
    stream.run_until(|stream| stream.is_done);
    assert_eq!(stream.received, 600_000);
}

#[test]
fn the_runners_probe_is_answered_with_version_negotiation() {
    let mut stage = Stage::new();
    stage.serve("handshake");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let patience = Some(Duration::from_secs(10));
    socket.set_read_timeout(patience).expect("a timeout");
    // A long header of an unknown version with empty identifiers.
    let mut probe = vec![0xc0, 0x57, 0x41, 0x49, 0x54];
    probe.resize(1207, 0);
    socket
        .send_to(&probe, (Ipv4Addr::LOCALHOST, stage.port))
        .expect("sent");
    let mut answer = [0; 1500];
    let length = socket.recv(&mut answer).expect("an answer");
    assert!(
        length > 7 && answer[0] & 0x80 != 0,
        "{:?}",
        &answer[..length]
    );
    assert_eq!(answer[1..5], [0; 4], "version 0");
}
