//! What runs beside the rows: a question in, the sums of some blocks out.

use std::sync::Arc;

use arrow_array::RecordBatch;
use reticent_problem::Problem;
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::MapLaw;

use super::block::{Format, bytes, numbers};
use super::{Catalogue, ClusterError};
use crate::Speed;
use crate::feature_map::FeatureMap;
use crate::oracle::pool;
use crate::question::{Question, Scratch};
use crate::tree::Tree;
use crate::wire::{Reader, Writer};

/// Answers questions with blocks of a table. One serves all steps of a run.
pub struct Worker {
    format: Format,
    map: Option<Arc<FeatureMap>>,
    catalogue: Catalogue,
    pool: Option<rayon::ThreadPool>,
}

/// The answers of some blocks to one question.
pub struct Answer {
    problem: Problem,
    question: Question,
    scratch: Scratch,
    tree: Tree,
}

impl Worker {
    /// For the blocks of a catalogue.
    ///
    /// # Errors
    ///
    /// If the map's law is out of range or the threads cannot be started.
    pub fn new(
        layout: &Layout,
        map: Option<&MapLaw>,
        catalogue: Catalogue,
        speed: Speed,
    ) -> Result<Self, ClusterError> {
        let map = map.map(|law| FeatureMap::new(*law, layout.dimension()).map(Arc::new));
        let format = Format::new(layout);
        Ok(Self { format, map: map.transpose()?, catalogue, pool: pool(speed)? })
    }

    /// Begins the answer to a question.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if it is none.
    pub fn begin(&self, question: &[u8]) -> Result<Answer, ClusterError> {
        let mut reader = Reader::new(question);
        let mut read = || {
            let problem: Problem = serde_json::from_slice(reader.bytes()?).ok()?;
            let question = Question::read(&mut reader)?;
            (reader.is_at_end() && question.is_about(&problem)).then_some((problem, question))
        };
        let (problem, question) = read().ok_or(ClusterError::Unreadable("a question"))?;
        Ok(Answer { problem, question, scratch: Scratch::default(), tree: Tree::default() })
    }

    /// Adds the answers of blocks: columns `bucket`, `part`, `digest` and `block`.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if a block is not the one in the catalogue.
    pub fn add(&self, batch: &RecordBatch, to: &mut Answer) -> Result<(), ClusterError> {
        let (buckets, parts) = (numbers(batch, "bucket")?, numbers(batch, "part")?);
        let (digests, blocks) = (bytes(batch, "digest")?, bytes(batch, "block")?);
        for i in 0..batch.num_rows() {
            let entry = self.catalogue.find(buckets.value(i), parts.value(i));
            let entry = entry.filter(|e| e.digest == digests.value(i));
            let entry = entry.ok_or(ClusterError::Changed)?;
            let rows = self.format.unpack(blocks.value(i)).filter(|r| r.len() == entry.rows);
            let rows = rows.ok_or(ClusterError::Unreadable("a block"))?;
            let rows = match &self.map {
                Some(map) => rows.mapped(Arc::clone(map))?,
                None => rows,
            };
            let mut sum = vec![0.0; to.question.width()];
            let Answer { problem, question, scratch, .. } = to;
            let mut work = || question.answer(problem, entry.first, &rows, scratch, &mut sum);
            match &self.pool {
                Some(pool) => pool.install(work),
                None => work(),
            }
            if !to.tree.add(entry.block, sum) {
                return Err(ClusterError::Twice);
            }
        }
        Ok(())
    }
}

impl Answer {
    /// The sums so far, for [`merge`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.tree.to_bytes()
    }
}

/// A question with the problem it is about.
pub(super) fn write(problem: &Problem, question: &Question) -> Option<Vec<u8>> {
    let mut writer = Writer::default();
    writer.bytes(&serde_json::to_vec(problem).ok()?);
    question.write(&mut writer);
    Some(writer.into_bytes())
}

/// Puts the sums of two sets of blocks together; no bytes are the sums of none. The order in which this is done does not matter, not to a bit.
///
/// # Errors
///
/// [`ClusterError`], if a block is in both, or the bytes are no sums.
pub fn merge(a: &[u8], b: &[u8]) -> Result<Vec<u8>, ClusterError> {
    let unreadable = || ClusterError::Unreadable("a partial sum");
    let mut tree = Tree::from_bytes(a).ok_or_else(unreadable)?;
    let other = Tree::from_bytes(b).ok_or_else(unreadable)?;
    if tree.merge(other) { Ok(tree.to_bytes()) } else { Err(ClusterError::Twice) }
}
