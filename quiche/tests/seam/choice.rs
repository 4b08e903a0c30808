//! How a controller is chosen: by factory, by name, and not at all.

use quiche::cc::{register, register_all, registered, RegisterError};
use quiche::{CongestionControlAlgorithm, Error};

use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{base_config, payload, server_config, World};

#[test]
fn a_registered_name_chooses_the_controller() {
    register("seam-by-name", factory(Script::new(Policy::Free))).expect("a free name");
    let mut config = base_config();
    config
        .set_cc_algorithm_name("seam-by-name")
        .expect("a known name");
    let mut world = World::with_config(config, 1);
    assert_eq!(world.transfer(20_000), payload(20_000));
    assert!(
        world.controller().released().count() > 10,
        "the controller was asked"
    );
}

#[test]
fn names_are_taken_once_and_never_from_quiche() {
    let script = || factory(Script::new(Policy::Free));
    register("seam-taken", script()).expect("a free name");
    assert_eq!(
        register("seam-taken", script()),
        Err(RegisterError::Taken("seam-taken".into()))
    );
    assert_eq!(register("", script()), Err(RegisterError::Empty));
    for name in ["reno", "cubic", "bbr", "bbr2", "bbr2_gcongestion"] {
        assert_eq!(
            register(name, script()),
            Err(RegisterError::BuiltIn(name.into()))
        );
    }
    assert!(registered("seam-taken").is_some() && registered("seam-unheard-of").is_none());
    assert!(matches!(
        base_config().set_cc_algorithm_name("seam-unheard-of"),
        Err(Error::CongestionControl)
    ));
}

#[test]
fn several_names_are_taken_together_or_not_at_all() {
    let script = || factory(Script::new(Policy::Free));
    let taken = |name: &str| Err(RegisterError::Taken(name.into()));
    register_all(&[("seam-first", script()), ("seam-second", script())]).expect("free names");
    let with_second = [("seam-third", script()), ("seam-second", script())];
    assert_eq!(register_all(&with_second), taken("seam-second"));
    let twice = [("seam-third", script()), ("seam-third", script())];
    assert_eq!(register_all(&twice), taken("seam-third"));
    assert!(registered("seam-third").is_none());
    assert!(registered("seam-first").is_some() && registered("seam-second").is_some());
}

#[test]
fn the_last_choice_counts() {
    let mut config = server_config(factory(Script::new(Policy::Free)));
    config.set_cc_algorithm(CongestionControlAlgorithm::Reno);
    let world = World::with_config(config, 1);
    assert!(world.server.congestion_controller::<Scripted>().is_none());

    let mut config = base_config();
    config.set_cc_algorithm_name("bbr2").expect("a known name");
    config.set_congestion_controller(factory(Script::new(Policy::Free)));
    let world = World::with_config(config, 1);
    assert!(world.server.congestion_controller::<Scripted>().is_some());
    assert!(
        world.client.congestion_controller::<Scripted>().is_none(),
        "the client's is quiche's own"
    );
}

#[test]
fn quiches_own_algorithms_run_in_virtual_time() {
    for name in ["reno", "cubic", "bbr2"] {
        let mut config = base_config();
        config.set_cc_algorithm_name(name).expect("a known name");
        let mut world = World::with_config(config, 1);
        assert_eq!(world.transfer(300_000), payload(300_000), "{name}");
        let stats = world.server.path_stats().next().expect("a path");
        assert_eq!(stats.min_rtt, Some(crate::world::DELAY * 2), "{name}");
    }
}
