//! ECN counts are believed only where RFC 9000, section 13.4.2.1, allows it.

use quiche::cc::ecn::{Counts, Marked, Validation};

fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<Counts> {
    Some(Counts { ect0, ect1, ce })
}

const NONE: Marked = Marked { ect0: 0, ect1: 0 };

fn marked(ect0: u64) -> Marked {
    Marked { ect0, ect1: 0 }
}

fn ten_sent() -> Validation {
    let mut validation = Validation::default();
    validation.on_sent(marked(10));
    validation
}

#[test]
fn counts_of_a_peer_to_whom_nothing_was_marked_are_ignored() {
    let mut validation = Validation::default();
    assert_eq!(validation.on_ack(1, counts(0, 0, 1), NONE), None);
    assert_eq!(validation.on_ack(2, counts(0, 0, 0), NONE), None);
}

#[test]
fn counts_that_fit_what_was_sent_are_believed() {
    let mut validation = ten_sent();
    assert_eq!(validation.on_ack(4, counts(4, 0, 1), marked(5)), Some(1));
    assert_eq!(validation.on_ack(9, counts(7, 0, 3), marked(5)), Some(3));
}

#[test]
fn marks_that_were_taken_off_end_the_belief() {
    let mut validation = ten_sent();
    assert_eq!(validation.on_ack(4, counts(3, 0, 1), marked(5)), None);
    assert_eq!(validation.on_ack(9, counts(8, 0, 2), marked(5)), None);
}

#[test]
fn an_acknowledgement_of_marked_packets_without_counts_ends_it_too() {
    let mut validation = ten_sent();
    assert_eq!(validation.on_ack(4, None, marked(5)), None);
    assert_eq!(validation.on_ack(9, counts(9, 0, 1), marked(5)), None);
}

#[test]
fn more_marks_than_were_sent_are_not_believed() {
    for wrong in [counts(11, 0, 0), counts(5, 1, 0), counts(0, 0, 11)] {
        assert_eq!(ten_sent().on_ack(4, wrong, marked(5)), None, "{wrong:?}");
    }
}

#[test]
fn counts_that_run_backwards_are_not_believed() {
    let mut validation = ten_sent();
    validation.on_ack(4, counts(4, 0, 1), marked(5));
    assert_eq!(validation.on_ack(6, counts(6, 0, 0), marked(2)), None);
}

#[test]
fn an_overtaken_acknowledgement_proves_nothing() {
    let mut validation = ten_sent();
    validation.on_ack(6, counts(6, 0, 1), marked(7));
    assert_eq!(validation.on_ack(4, counts(4, 0, 0), NONE), None);
    assert_eq!(validation.on_ack(9, counts(8, 0, 2), marked(3)), Some(2));
}
