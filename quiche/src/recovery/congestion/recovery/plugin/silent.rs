//! Congestion operations that do nothing. quiche's loss recovery runs, and the plug-in decides.

use crate::recovery::congestion::CongestionControlOps;

/// `on_packets_acked` leaves the list of acknowledged packets in place, which Reno and CUBIC drain.
pub(super) static SILENT: CongestionControlOps = CongestionControlOps {
    on_init: |_| {},
    on_packet_sent: |_, _, _, _| {},
    on_packets_acked: |_, _, _, _, _| {},
    congestion_event: |_, _, _, _, _| {},
    checkpoint: |_| {},
    rollback: |_| false,
    #[cfg(feature = "qlog")]
    state_str: |_, _| "plugin",
    debug_fmt: |_, _| Ok(()),
};
