//! What SQL can do with sketches: `sketch_merge(column)`, an aggregate, makes one sketch of many;
//! `sketch_quantile(sketch, q)` tells a quantile, and `sketch_count(sketch)` how many values there
//! are. Whoever does not have these functions gets the same from plain SQL (see
//! [`crate::questions`]); they are faster.

mod merge;
mod scalar;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use std::sync::Arc;

/// The functions of single sketches.
pub fn scalar() -> Vec<Arc<ScalarUDF>> {
    vec![
        Arc::new(ScalarUDF::from(scalar::Quantile::new())),
        Arc::new(ScalarUDF::from(scalar::Count::new())),
    ]
}

/// The functions of many sketches.
pub fn aggregate() -> Vec<Arc<AggregateUDF>> {
    vec![Arc::new(AggregateUDF::from(merge::Merge::new()))]
}
