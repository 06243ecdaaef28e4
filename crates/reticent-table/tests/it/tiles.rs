//! Rows that are encoded many at once have the bits of rows that are encoded cell by cell.

use std::sync::Arc;

use crate::common::layout_with;
use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch};
use proptest::prelude::*;
use reticent_data::{Features, Rows};
use reticent_problem::declaration::{Encoding, NumericRange, Precision};
use reticent_table::encode::{Encoder, Targets};
use reticent_table::table::from_batches;

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "b", "type": "real", "bounds": {"min": -3, "max": 5}},
    {"name": "c", "type": "real", "bounds": {"min": 0, "max": 1e-3}},
    {"name": "y", "type": "categorical", "categories": ["0", "1", "7"]}]}"#;

/// A row's cells and its target.
type Given = ([f64; 3], f64);

fn cell() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -0.5..1.5_f64,
        2 => prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(5.0), Just(-3.0), Just(1e-3)],
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(1e300), Just(1e-300), Just(f64::MIN_POSITIVE)],
    ]
}

fn label() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(7.0), Just(-0.0), Just(3.0), Just(f64::NAN)]
}

fn bits(rows: &Rows) -> (Vec<u64>, Vec<u64>) {
    let features = match rows.features() {
        Features::F32(x) => x.values().iter().map(|v| u64::from(v.to_bits())).collect(),
        Features::F64(x) => x.values().iter().map(|v| v.to_bits()).collect(),
        _ => unreachable!("dense"),
    };
    (features, rows.labels().iter().map(|y| y.to_bits()).collect())
}

proptest! {
    #[test]
    fn a_tile_of_rows_has_the_bits_of_single_cells(
        rows in proptest::collection::vec(([cell(), cell(), cell()], label()), 1..300),
        single in any::<bool>(),
        intercept in any::<bool>(),
        symmetric in any::<bool>(),
        narrow in any::<bool>(),
        norm in prop_oneof![Just(None), (0.3..2.5_f64).prop_map(Some)],
    ) {
        let encoding = Encoding {
            precision: if single { Precision::F32 } else { Precision::F64 },
            numeric_range: if symmetric { NumericRange::Symmetric } else { NumericRange::Unit },
            intercept,
            feature_norm: norm,
            ..Encoding::default()
        };
        let encoder = Encoder::new(&layout_with(SCHEMA, &encoding));
        // Cells may lie in the file in single precision.
        let narrowed = |number: f64| if narrow { f64::from(number as f32) } else { number };
        let column = |of: &dyn Fn(&Given) -> f64| -> ArrayRef {
            if narrow {
                Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| of(row) as f32)))
            } else {
                Arc::new(Float64Array::from_iter_values(rows.iter().map(of)))
            }
        };
        let batch = RecordBatch::try_from_iter([
            ("c", column(&|row| row.0[2])),
            ("y", column(&|row| row.1)),
            ("a", column(&|row| row.0[0])),
            ("b", column(&|row| row.0[1])),
        ]).unwrap();
        let together = from_batches(&encoder, &[batch.clone(), batch], None).unwrap();
        let twice: Vec<_> = rows.iter().chain(&rows).collect();
        let values: Vec<f64> = twice.iter().flat_map(|row| row.0.map(narrowed)).collect();
        let labels: Vec<f64> = twice.iter().map(|row| narrowed(row.1)).collect();
        // In a matrix NaN is missing only where that is declared.
        let marked = SCHEMA.replace("\"type\": \"real\"", "\"type\": \"real\", \"missing\": \"NaN\"");
        let encoder = Encoder::new(&layout_with(&marked, &encoding));
        let alone = encoder.matrix(3, &values, Targets::Numbers(&labels)).unwrap();
        prop_assert_eq!(bits(&together), bits(&alone));
    }
}
