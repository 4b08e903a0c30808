//! The way to the controller, from a server on tokio-quiche to a client over loopback.

mod support;

use imtcp_cc::promise::{Promise, Requirement};
use imtcp_cc::quiche::{Factory, NAME, NAME_WITHOUT_MEASUREMENT, register};
use imtcp_tokio_quiche::{NoPromise, promise, promise_of};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use support::{accept, next, read_from, read_on, relay, server};
use tokio::sync::oneshot;
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::quic::{
    ConnectionShutdownBehaviour, HandshakeInfo, QuicCommand, QuicheConnection,
};
use tokio_quiche::quiche::cc::{self, CongestionController, PathContext};
use tokio_quiche::{ApplicationOverQuic, QuicResult, ServerH3Driver};

/// What has not happened by then never happens.
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.expect("it never happened")
}

fn registered() {
    register(imtcp_cc::Config::default()).expect("the names are free");
}

/// 8 Mbit/s over every 100 ms.
fn a_rate() -> Requirement {
    Requirement::from_f64(8e6, 0.1).expect("a rate and a period")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_asked_for_and_reports_and_estimates_come_without_a_further_command() {
    registered();
    let (address, mut incoming) = server(NAME).await;
    let client = tokio::spawn(read_on(address));
    let controller = within(accept(&mut incoming)).await;
    let promise = within(promise(&controller.cmd_sender())).await;
    let promise = promise.expect("the connection has the controller");
    drop(controller);
    let mut reports = promise.reports();
    promise
        .require(a_rate())
        .expect("nothing speaks against it");
    let report = within(reports.next()).await.expect("the path is there");
    assert_eq!(report.required, a_rate().rate());
    // On a path without a narrow link an estimate takes many packets, not a certain time.
    for _ in 0..300 {
        if promise.estimate().is_some() {
            client.abort();
            return;
        }
        within(reports.next()).await.expect("the path is there");
    }
    panic!("no estimate in 300 slots");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_migration_who_asks_again_is_led_to_the_new_path() {
    registered();
    let (address, mut incoming) = server(NAME).await;
    let (relayed, change) = relay(address).await;
    let client = tokio::spawn(read_on(relayed));
    let controller = within(accept(&mut incoming)).await;
    let commands = controller.cmd_sender();
    let first = within(promise(&commands)).await.expect("its controller");
    let port = |promise: &Promise| promise.path().map(|path| path.peer.port());
    let before = port(&first);
    first.require(a_rate()).expect("nothing speaks against it");
    within(first.reports().next())
        .await
        .expect("the path is there");
    change.notify_one();
    let later = within(async {
        loop {
            let promise = promise(&commands).await.expect("its controller");
            if port(&promise) != before {
                return promise;
            }
            tokio::task::yield_now().await;
        }
    });
    let later = later.await;
    let mut reports = later.reports();
    later.require(a_rate()).expect("nothing speaks against it");
    let report = within(reports.next()).await.expect("the path is there");
    assert_eq!(report.required, a_rate().rate());
    client.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_awaits_is_told_that_the_connection_is_gone_and_so_is_who_asks_again() {
    registered();
    let (address, mut incoming) = server(NAME_WITHOUT_MEASUREMENT).await;
    let client = tokio::spawn(read_on(address));
    let controller = within(accept(&mut incoming)).await;
    let commands = controller.cmd_sender();
    let first = within(promise(&commands)).await.expect("its controller");
    let (mut reports, mut changes) = (first.reports(), first.status_changes());
    let close = QuicCommand::ConnectionClose(ConnectionShutdownBehaviour {
        send_application_close: true,
        error_code: 0,
        reason: Vec::new(),
    });
    assert!(commands.send(close).is_ok());
    assert_eq!(within(reports.next()).await, None);
    assert_eq!(within(changes.next()).await, None);
    assert!(first.has_ended());
    let again = within(promise(&commands)).await;
    assert_eq!(again.err(), Some(NoPromise::ConnectionGone));
    within(client).await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_was_never_started_is_told_as_gone() {
    let (driver, controller) = ServerH3Driver::new(Http3Settings::default());
    let asked = promise(&controller.cmd_sender());
    drop(driver);
    assert_eq!(within(asked).await.err(), Some(NoPromise::ConnectionGone));
    let late = within(promise(&controller.cmd_sender())).await;
    assert_eq!(late.err(), Some(NoPromise::ConnectionGone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_another_controller_says_what_to_set() {
    let (address, mut incoming) = server("cubic").await;
    let client = tokio::spawn(read_on(address));
    let controller = within(accept(&mut incoming)).await;
    let error = within(promise(&controller.cmd_sender())).await;
    let error = error.expect_err("it has CUBIC");
    assert_eq!(error, NoPromise::OtherController);
    assert!(error.to_string().contains("cc_algorithm"), "{error}");
    client.abort();
}

/// Requires something of those who come from one address.
#[derive(Debug)]
struct ByPeer {
    address: Ipv4Addr,
    theirs: Factory,
    others: Factory,
}

impl cc::Factory for ByPeer {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        match path.identity.peer.ip() == self.address {
            true => self.theirs.build(path),
            false => self.others.build(path),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_connection_of_a_listener_has_the_configuration_that_a_factory_chooses_by_its_peer() {
    let config = imtcp_cc::Config::builder().promise(Some(a_rate()));
    let factory = ByPeer {
        address: Ipv4Addr::new(127, 0, 0, 2),
        theirs: Factory::new(config.build().expect("the requirement alone is set")),
        others: Factory::new(imtcp_cc::Config::default()),
    };
    cc::register("by-peer", Arc::new(factory)).expect("a free name");
    let (address, mut incoming) = server("by-peer").await;
    for (last, expected) in [(1, None), (2, Some(a_rate()))] {
        let client = tokio::spawn(read_from(Ipv4Addr::new(127, 0, 0, last), address));
        let controller = within(accept(&mut incoming)).await;
        let promise = within(promise(&controller.cmd_sender())).await;
        let promise = promise.expect("its controller");
        assert_eq!(promise.required(), expected);
        client.abort();
    }
}

/// Hands the promise to whoever waits for it, and nothing else.
struct Own(Option<oneshot::Sender<Result<Promise, NoPromise>>>);

impl ApplicationOverQuic for Own {
    fn on_conn_established(
        &mut self,
        connection: &mut QuicheConnection,
        _: &HandshakeInfo,
    ) -> QuicResult<()> {
        if let Some(give) = self.0.take() {
            let _ = give.send(promise_of(connection));
        }
        Ok(())
    }

    fn should_act(&self) -> bool {
        true
    }

    async fn wait_for_data(&mut self, _: &mut QuicheConnection) -> QuicResult<()> {
        std::future::pending().await
    }

    fn process_reads(&mut self, _: &mut QuicheConnection) -> QuicResult<()> {
        Ok(())
    }

    fn process_writes(&mut self, _: &mut QuicheConnection) -> QuicResult<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_of_ones_own_has_the_handle_from_the_connection() {
    registered();
    let (address, mut incoming) = server(NAME).await;
    let client = tokio::spawn(read_on(address));
    let (give, given) = oneshot::channel();
    within(next(&mut incoming)).await.start(Own(Some(give)));
    let promise = within(given).await.expect("it was established");
    let promise = promise.expect("it has the controller");
    assert_eq!(promise.path().map(|path| path.local), Some(address));
    client.abort();
}
