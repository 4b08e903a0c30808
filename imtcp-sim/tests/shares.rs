//! The survey of shares in short: four seeds of two classes with rivals, within bounds that are
//! looser than what they come to.

use imtcp_sim::survey::Class;
use imtcp_sim::survey::share::{Reader, Shared, Tally, run};

fn survey(class: Class) -> Vec<Shared> {
    let one = |seed| {
        let path = class.draw(seed).expect("what is drawn is valid");
        run(&path, seed).unwrap_or_else(|error| panic!("{error}"))
    };
    (3..=6).map(one).collect()
}

#[test]
fn a_share_is_told_all_the_time_and_its_interval_mostly_holds() {
    for class in [Class::Elastic, Class::Managed] {
        let tally = Tally::of(&survey(class));
        let medians = |wanted| {
            let mut columns = tally.columns.iter();
            let column = columns.find(|column| column.reader == wanted);
            column.expect("it reads").medians
        };
        let (share, name) = (medians(Reader::Share), class.name());
        assert!(share.reach > 0.95, "{name}: {share:?}");
        assert!(
            share.coverage.is_some_and(|it| it > 0.7),
            "{name}: {share:?}"
        );
        assert!(
            share.factor_p50.is_some_and(|it| it < 2.2),
            "{name}: {share:?}"
        );
        // What is idle is another thing, and far below it beside those who give way.
        let idle = medians(Reader::Available);
        assert!(
            idle.ratio_p50 < share.ratio_p50,
            "{name}: {idle:?} {share:?}"
        );
    }
}
