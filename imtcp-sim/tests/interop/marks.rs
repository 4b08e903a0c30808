//! A peer that reports marks where none were made (RFC 9000, section 13.4.2).

use crate::script::{Script, Scripts, read};
use crate::servers::{noq, quinn};
use crate::world::{World, client_config};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

const BULK: usize = 500_000;

#[test]
fn reports_of_marks_that_nobody_made_do_not_reach_the_controller() {
    let log = Scripts::register("marks", Script::default());
    let mut quinn = quinn::Stack::new(None);
    let mut noq = noq::Stack::new(None);
    quinn.congested = true;
    noq.congested = true;
    let servers: [(_, Box<dyn crate::servers::Server>); 2] =
        [("quinn", Box::new(quinn)), ("noq", Box::new(noq))];
    for (stack, server) in servers {
        let mut config = client_config();
        config.set_cc_algorithm_name("marks").expect("it is known");
        let mut world = World::new(server, config);
        world.upload_at(Timestamp::from_origin(Duration::from_millis(200)), BULK);
        world.run_until(Timestamp::from_origin(Duration::from_secs(4)));
        assert_eq!(world.seen.uploaded, BULK as u64, "{stack}");
        let marks = std::mem::take(&mut read(&log).marks);
        assert!(
            marks.len() > 50,
            "{stack}: {} acknowledgements",
            marks.len()
        );
        assert!(marks.iter().all(Option::is_none), "{stack}: {marks:?}");
    }
}
