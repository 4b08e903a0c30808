//! `sketch_merge(column)`: one sketch of many.

use crate::sketch::{Malformed, Sketch};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, StringArray, StringArrayType, UInt64Array,
};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use std::sync::Arc;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Merge(Signature);

impl Merge {
    /// Text in, text out; what is between partial and final aggregation is text, too.
    pub fn new() -> Self {
        let texts = vec![DataType::Utf8View, DataType::Utf8, DataType::LargeUtf8];
        Self(Signature::uniform(1, texts, Volatility::Immutable))
    }
}

impl AggregateUDFImpl for Merge {
    fn name(&self) -> &str {
        "sketch_merge"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::default()))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::default()))
    }
}

fn refused(malformed: Malformed) -> DataFusionError {
    DataFusionError::Execution(format!("sketch_merge: {malformed}"))
}

/// Visits each text that is not null, with its row.
fn for_each_text(
    column: &ArrayRef,
    visit: impl FnMut(usize, &str) -> Result<(), Malformed>,
) -> Result<()> {
    fn all<'a>(
        column: impl StringArrayType<'a>,
        mut visit: impl FnMut(usize, &str) -> Result<(), Malformed>,
    ) -> Result<()> {
        for (row, text) in column.iter().enumerate() {
            if let Some(text) = text {
                visit(row, text).map_err(refused)?;
            }
        }
        Ok(())
    }
    match column.data_type() {
        DataType::Utf8View => all(column.as_string_view(), visit),
        DataType::Utf8 => all(column.as_string::<i32>(), visit),
        DataType::LargeUtf8 => all(column.as_string::<i64>(), visit),
        other => exec_err!("sketch_merge: a sketch is text, not {other}"),
    }
}

/// Without groups.
#[derive(Debug, Default)]
struct One(Sketch);

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for_each_text(&values[0], |_, text| self.0.add_text(text))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Utf8(self.0.text()))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.allocated()
    }
}

/// For all groups at once.
#[derive(Debug, Default)]
struct Groups {
    groups: Vec<Sketch>,
    allocated: usize,
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize_with(total_num_groups, Sketch::default);
        for_each_text(&values[0], |row, text| {
            let is_wanted =
                opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if !is_wanted {
                return Ok(());
            }
            let group = &mut self.groups[group_indices[row]];
            let before = group.allocated();
            group.add_text(text)?;
            self.allocated += group.allocated() - before;
            Ok(())
        })
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        let given: usize = groups.iter().map(Sketch::allocated).sum();
        self.allocated = self.allocated.saturating_sub(given);
        let texts: StringArray = groups.iter().map(Sketch::text).collect();
        Ok(Arc::new(texts))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let texts = arrow::compute::cast(&values[0], &DataType::Utf8)?;
        let Some(filter) = opt_filter else {
            return Ok(vec![texts]);
        };
        // A row without an index becomes null.
        let wanted = (0..texts.len() as u64)
            .zip(filter.iter())
            .map(|(row, is_wanted)| is_wanted.unwrap_or(false).then_some(row));
        let wanted: UInt64Array = wanted.collect();
        Ok(vec![take(&texts, &wanted, None)?])
    }

    fn size(&self) -> usize {
        self.allocated + self.groups.capacity() * size_of::<Sketch>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringViewArray;

    const TEXTS: [Option<&str>; 5] = [
        Some("3:2:1:12"),
        None,
        Some("5:1:1:1 400:1:1:7"),
        Some("2:1:1:1"),
        Some("3:1:1:4"),
    ];

    fn texts(column: &ArrayRef) -> Vec<Option<String>> {
        let texts = column.as_string::<i32>().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn groups_are_merged_in_one_step_as_in_two() {
        let column: ArrayRef = Arc::new(StringViewArray::from_iter(TEXTS));
        let groups = [0, 0, 1, 0, 1];
        let wanted = [
            Some("2:1:1:1102".to_owned()),
            Some("3:1:1:401 400:1:1:7".to_owned()),
            None,
        ];
        let mut whole = Groups::default();
        whole
            .update_batch(&[Arc::clone(&column)], &groups, None, 3)
            .expect("sketches");
        assert!(whole.size() > 0);
        let one = whole.evaluate(EmitTo::All).expect("texts");
        assert_eq!(texts(&one), wanted);

        let (mut first, mut last) = (Groups::default(), Groups::default());
        first
            .update_batch(&[Arc::clone(&column)], &groups, None, 3)
            .expect("sketches");
        let state = first.state(EmitTo::First(2)).expect("texts");
        last.merge_batch(&state, &[0, 1], 3).expect("sketches");
        assert_eq!(texts(&last.evaluate(EmitTo::All).expect("texts")), wanted);

        // Rows that are not aggregated before they are sent on.
        let rows = first.convert_to_state(&[column], None).expect("texts");
        let mut last = Groups::default();
        last.merge_batch(&rows, &groups, 3).expect("sketches");
        assert_eq!(texts(&last.evaluate(EmitTo::All).expect("texts")), wanted);
    }

    #[test]
    fn a_filter_leaves_rows_out() {
        let column: ArrayRef = Arc::new(StringArray::from_iter(TEXTS));
        let filter =
            BooleanArray::from(vec![Some(true), Some(true), None, Some(false), Some(true)]);
        let mut groups = Groups::default();
        groups
            .update_batch(&[Arc::clone(&column)], &[0; 5], Some(&filter), 1)
            .expect("sketches");
        let wanted = [Some("3:2:1:52".to_owned())];
        assert_eq!(texts(&groups.evaluate(EmitTo::All).expect("texts")), wanted);
        let state = groups
            .convert_to_state(&[column], Some(&filter))
            .expect("texts");
        groups.merge_batch(&state, &[0; 5], 1).expect("sketches");
        assert_eq!(texts(&groups.evaluate(EmitTo::All).expect("texts")), wanted);
    }

    #[test]
    fn without_groups_it_is_the_same_and_what_is_no_sketch_is_refused() {
        let column: ArrayRef = Arc::new(StringArray::from_iter(TEXTS));
        let mut one = One::default();
        assert_eq!(one.evaluate().expect("nothing"), ScalarValue::Utf8(None));
        one.update_batch(&[column]).expect("sketches");
        let wanted = ScalarValue::Utf8(Some("2:1:1:1503 400:1:1:7".to_owned()));
        assert_eq!(one.evaluate().expect("a text"), wanted);
        let wrong: ArrayRef = Arc::new(StringArray::from(vec!["3-1"]));
        let error = one
            .update_batch(&[wrong])
            .expect_err("no sketch")
            .to_string();
        assert!(error.contains("`3-1` is no run of a sketch"), "{error}");
    }
}
