//! Tables that come in blocks: a row that is not in one is an error, never a smaller sum.

use std::ops::Range;

use crate::common::clear::in_the_clear;
use reticent_data::{
    BlockOracle, Blocks, Dense, Features, InOrder as _, Oracle as _, OracleError, Question, Rows,
    Sensitive,
};
use reticent_problem::{Loss, Problem, RowBounds};

const ROWS: usize = 10;

fn bounds() -> RowBounds {
    RowBounds::features(10.0).unwrap()
}

/// Blocks of rows that are all 1, which come as this list says.
struct Listed(Vec<Range<usize>>);

impl Blocks for Listed {
    fn rows(&self) -> usize {
        ROWS
    }

    fn weighted(&self) -> bool {
        false
    }

    fn features(&self) -> usize {
        1
    }

    fn bounds(&self) -> RowBounds {
        bounds()
    }

    fn each(
        &self,
        _: Range<usize>,
        work: &mut (dyn FnMut(usize, &Rows) + Send),
    ) -> Result<(), OracleError> {
        for block in &self.0 {
            let features = Features::F64(Dense::new(block.len(), 1, vec![1.0; block.len()]));
            work(block.start, &Rows::new(features, vec![1.0; block.len()], bounds()));
        }
        Ok(())
    }
}

fn asked(blocks: &[Range<usize>]) -> Result<f64, OracleError> {
    let oracle = BlockOracle::new(Listed(blocks.to_vec()));
    let problem = Problem::new(Loss::Logistic, bounds(), ROWS, 1);
    let mut sums = Sensitive::new(vec![0.0; 3]);
    let answer = oracle.ask(&problem, &Question::Moments, &mut sums);
    let sums = in_the_clear(sums);
    assert!(answer.is_ok() || sums == [0.0; 3], "a part of a sum");
    let (mut w, mut sum) = (Sensitive::new(vec![0.0]), Sensitive::new(vec![0.0]));
    let pass = oracle.one_pass(&problem, 0..ROWS, 0.1, &mut w, &mut sum);
    assert_eq!(pass.is_ok(), answer.is_ok());
    answer.map(|()| sums[0])
}

#[test]
fn every_row_is_in_one_block_or_nothing_is_answered() {
    assert_eq!(asked(&[0..4, 4..8, 8..10]), Ok(10.0));
    for blocks in [
        &[0..4, 4..8][..],
        &[0..4, 8..10],
        &[4..8, 8..10],
        &[0..4, 0..4, 4..10],
        &[4..10, 0..4],
        &[0..4, 3..10],
        &[],
    ] {
        assert!(matches!(asked(blocks), Err(OracleError::Unread { .. })), "{blocks:?}");
    }
}
