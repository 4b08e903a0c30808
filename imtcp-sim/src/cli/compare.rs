//! The table of a sweep with columns.

use imtcp_sim::result::{Compared, ComparedCell};
use imtcp_sim::scenario::{Sweep, Value};
use std::ops::RangeInclusive;

/// A row for each cell; behind a value its change against the baseline.
pub fn table(sweep: &Sweep, cells: &[ComparedCell], seeds: &RangeInclusive<u64>) -> String {
    let axes = sweep.axes.iter().map(|axis| axis.name.clone());
    let columns = sweep.columns.iter().map(|column| column.name.clone());
    let mut table = super::table([]);
    table.set_header(axes.chain(columns));
    for cell in cells {
        let names = cell.names.iter().cloned();
        let shown = sweep.columns.iter().zip(&cell.values);
        let shown = shown.map(|(column, value)| show(column.value, value.as_ref()));
        table.add_row(names.chain(shown));
    }
    let against = match &sweep.baseline {
        Some(baseline) => format!(
            "; changes against {} {}",
            sweep.axes[baseline.axis].name, baseline.point
        ),
        None => String::new(),
    };
    format!(
        "{}, seeds {}..{}: medians{against}\n{table}\n",
        sweep.name,
        seeds.start(),
        seeds.end()
    )
}

fn show(what: Value, value: Option<&Compared>) -> String {
    let Some(Compared { middle, change, .. }) = value else {
        return "-".to_owned();
    };
    if middle.is_infinite() {
        return "never".to_owned();
    }
    let digits = match what {
        Value::Goodput | Value::CrossDelay | Value::Sent | Value::TimeToFind => 2,
        Value::Completion | Value::GoodputRatio => 3,
        Value::Lost => 0,
        Value::LossShare => 2,
        _ => 1,
    };
    match change {
        Some(change) => format!("{middle:.digits$} ({:+.1} %)", change * 100.0),
        None => format!("{middle:.digits$}"),
    }
}
