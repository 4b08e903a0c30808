//! The ECN field of the path, as the stacks call it.

use crate::network::Ecn;
use quiche::ecn::Mark;

/// As quiche calls it.
pub(super) fn mark(ecn: Ecn) -> Mark {
    match ecn {
        Ecn::NotCapable => Mark::NotEct,
        Ecn::Ect0 => Mark::Ect0,
        Ecn::Ect1 => Mark::Ect1,
        Ecn::Experienced => Mark::Ce,
    }
}

/// What the datagram says that a connection has sent last.
pub(super) fn sent(connection: &quiche::Connection) -> Ecn {
    match connection.sent_mark() {
        Mark::NotEct => Ecn::NotCapable,
        Mark::Ect0 => Ecn::Ect0,
        Mark::Ect1 => Ecn::Ect1,
        Mark::Ce => Ecn::Experienced,
    }
}
