//! `sketch_quantile(sketch, q)` and `sketch_count(sketch)`.

use crate::sketch::Sketch;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::sync::Arc;

/// `sketch_quantile(sketch, q)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Quantile(Signature);

/// `sketch_count(sketch)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Count(Signature);

impl Quantile {
    /// Text and a number from 0 to 1.
    pub fn new() -> Self {
        let exact = TypeSignature::Exact(vec![DataType::Utf8, DataType::Float64]);
        Self(Signature::new(exact, Volatility::Immutable))
    }
}

impl Count {
    /// Text.
    pub fn new() -> Self {
        let exact = TypeSignature::Exact(vec![DataType::Utf8]);
        Self(Signature::new(exact, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Quantile {
    fn name(&self) -> &str {
        "sketch_quantile"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let quantiles = columns[1].as_primitive::<Float64Type>();
        let sketches = sketches(self.name(), &columns[0])?;
        let values = sketches.iter().enumerate().map(|(row, sketch)| {
            let q = quantiles.is_valid(row).then(|| quantiles.value(row))?;
            sketch.as_ref()?.quantile(q)
        });
        let values: Float64Array = values.collect();
        Ok(ColumnarValue::Array(Arc::new(values)))
    }
}

impl ScalarUDFImpl for Count {
    fn name(&self) -> &str {
        "sketch_count"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let sketches = sketches(self.name(), &columns[0])?;
        let totals = sketches.iter().map(|sketch| {
            let total = sketch.as_ref()?.count();
            Some(i64::try_from(total).unwrap_or(i64::MAX))
        });
        let totals: Int64Array = totals.collect();
        Ok(ColumnarValue::Array(Arc::new(totals)))
    }
}

fn sketches(function: &str, column: &ArrayRef) -> Result<Vec<Option<Sketch>>> {
    let read = |text: Option<&str>| {
        let sketch = text.map(Sketch::parse).transpose();
        sketch.map_err(|malformed| DataFusionError::Execution(format!("{function}: {malformed}")))
    };
    column.as_string::<i32>().iter().map(read).collect()
}
