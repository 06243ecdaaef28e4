//! A part of a table answers as a table of its records alone would.

use crate::common::clear::answer;
use crate::common::layouts::{dense, single, sparse};
use reticent_data::{
    Features, LocalOracle, Oracle, OracleError, PartOracle, Question, Rows, Sensitive, Speed,
};
use reticent_problem::{Loss, Problem, RowBounds, Unit};

const D: usize = 3;

fn table(rows: &[usize]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let entry = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f64 / 8.0 - 0.625;
    let x = rows.iter().map(|i| (0..D).map(|j| entry(*i, j)).collect()).collect();
    (x, rows.iter().map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect())
}

fn oracle(features: Features, y: Vec<f64>, problem: &Problem, keys: &[usize]) -> LocalOracle {
    let rows = Rows::new(features, y, problem.bounds);
    let rows = match &problem.unit {
        Some(unit) => rows.grouped(keys.iter().map(|key| Some(*key)), unit).unwrap(),
        None => rows,
    };
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

#[test]
fn a_part_is_a_table_of_its_records() {
    let bounds = RowBounds::new(2.0, 1.0).unwrap();
    let records: Vec<usize> = (0..700).filter(|i| i % 7 != 2 && i % 5 != 1).collect();
    let at = Sensitive::new(vec![0.3, -1.2, 0.8]);
    for rows_of_a_record in [1, 2] {
        let (all, mine): (Vec<usize>, Vec<usize>) = (
            (0..700 * rows_of_a_record).collect(),
            records.iter().flat_map(|r| r * rows_of_a_record..(r + 1) * rows_of_a_record).collect(),
        );
        let keys = |rows: &[usize]| -> Vec<usize> {
            rows.iter().map(|row| row / rows_of_a_record).collect()
        };
        let unit = (rows_of_a_record > 1).then(|| Unit::new("who", rows_of_a_record).unwrap());
        let whole = Problem { unit, ..Problem::new(Loss::Logistic, bounds, 700, D) };
        let problem = Problem { rows: records.len(), ..whole.clone() };
        let ((x, y), (own_x, own_y)) = (table(&all), table(&mine));
        for layout in [dense, single, sparse] {
            let whole = oracle(layout(&x, D), y.clone(), &whole, &keys(&all));
            let part = PartOracle::new(&whole, &records);
            part.check(&problem).unwrap();
            let alone = oracle(layout(&own_x, D), own_y.clone(), &problem, &keys(&mine));
            let question = Question::Gradient { at: &at };
            let got = answer(&part, &problem, &question);
            let want = answer(&alone, &problem, &question);
            for (g, w) in got.iter().zip(&want) {
                assert!((g - w).abs() <= 1e-11 * records.len() as f64, "{got:?} {want:?}");
            }
            let other = part.ask(&problem, &Question::Moments, &mut Sensitive::new(vec![0.0; 7]));
            assert!(matches!(other, Err(OracleError::Part)));
        }
    }
}
