#![doc = include_str!("../README.md")]

use imtcp_cc::promise::Promise;
use imtcp_cc::quiche::Controller;
use std::error::Error;
use std::fmt;
use tokio::sync::oneshot;
use tokio_quiche::http3::driver::RequestSender;
use tokio_quiche::quic::{QuicCommand, QuicheConnection};

/// The handle of a connection's promise, through the command sender of its HTTP/3
/// controller: `controller.cmd_sender()`, of a server or of a client.
///
/// The command leaves with the call, and not only when the future is awaited. The connection's task
/// answers it once the handshake is done. One call is enough for a connection, whichever paths it
/// takes: the handle gives the latest estimate and status, and awaits reports, without a further
/// command.
///
/// # Errors
/// The connection has another controller, or it has ended, before its handshake or after it.
pub fn promise<C>(
    commands: &RequestSender<C, QuicCommand>,
) -> impl Future<Output = Result<Promise, NoPromise>> + Send + use<C>
where
    QuicCommand: Into<C>,
{
    let (give, given) = oneshot::channel();
    let answer = move |connection: &mut QuicheConnection| {
        // Whoever asked may have stopped waiting.
        let _ = give.send(promise_of(connection));
    };
    // If the task is gone, the command is dropped, and the future sees that.
    let _ = commands.send(QuicCommand::Custom(Box::new(answer)));
    async { given.await.unwrap_or(Err(NoPromise::ConnectionGone)) }
}

/// The handle of a connection's promise, for an `ApplicationOverQuic`, which has the
/// connection in each of its methods.
///
/// # Errors
/// The connection has another controller, or it has ended.
pub fn promise_of(connection: &QuicheConnection) -> Result<Promise, NoPromise> {
    let controller = connection.congestion_controller::<Controller>();
    let promise = controller.ok_or(NoPromise::OtherController)?.promise();
    // quiche keeps a connection that was closed for a while.
    if promise.has_ended() {
        return Err(NoPromise::ConnectionGone);
    }
    Ok(promise)
}

/// Why there is no handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoPromise {
    /// The connection's controller is not one of imtcp-cc's.
    OtherController,
    /// The connection has ended, before its handshake or after it.
    ConnectionGone,
}

impl fmt::Display for NoPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherController => {
                "this connection has another congestion controller; set `cc_algorithm` of the \
                 `QuicSettings` to a name that imtcp_cc::quiche::register() makes known, `imtcp` \
                 for one"
            }
            Self::ConnectionGone => "the connection has ended, and its path with it",
        })
    }
}

impl Error for NoPromise {}
