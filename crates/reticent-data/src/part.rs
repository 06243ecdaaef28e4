//! Some of the records of a table, served as a table of their own.

use reticent_problem::{Problem, RowBounds, Unit};

use crate::oracle::{Oracle, OracleError};
use crate::{Question, Sensitive};

/// The records with certain numbers, for methods that ask for sums of gradients.
///
/// No record of the table that is left out has a part in any answer, whatever the oracle behind it
/// is: it is asked for lists of records.
pub struct PartOracle<'a> {
    whole: &'a dyn Oracle,
    records: &'a [usize],
}

impl<'a> PartOracle<'a> {
    /// The records of `whole` with these numbers, which increase.
    pub fn new(whole: &'a dyn Oracle, records: &'a [usize]) -> Self {
        Self { whole, records }
    }
}

impl Oracle for PartOracle<'_> {
    fn rows(&self) -> usize {
        self.records.len()
    }

    fn unit(&self) -> Option<&Unit> {
        self.whole.unit()
    }

    fn weighted(&self) -> bool {
        self.whole.weighted()
    }

    fn features(&self) -> usize {
        self.whole.features()
    }

    fn bounds(&self) -> RowBounds {
        self.whole.bounds()
    }

    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        let Question::Gradient { at } = *question else { return Err(OracleError::Part) };
        // No gradient is as long as this.
        let clip = 2.0 * problem.regularity().lipschitz;
        let question = Question::Batch { batch: self.records, clip, at: at.point() };
        self.whole.ask(problem, &question, into)
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        self.whole.on_threads(work);
    }
}
