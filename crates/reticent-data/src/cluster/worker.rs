//! The worker beside the rows: a question in, the sums of some blocks out.

use std::sync::Arc;

use reticent_problem::Unit;
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::MapLaw;

use super::block::Format;
use super::{Catalogue, ClusterError};
use crate::feature_map::FeatureMap;
use crate::question::{Block, Scratch};
use crate::sent::Sent;
use crate::tree::Tree;
use crate::{Rows, Speed};

/// Answers questions with blocks of a table. One serves all steps of a run.
pub struct Worker {
    format: Format,
    map: Option<Arc<FeatureMap>>,
    catalogue: Catalogue,
    pool: Option<rayon::ThreadPool>,
}

/// A block as it comes to a worker.
#[derive(Clone, Copy)]
pub struct SentBlock<'a> {
    /// Its bucket.
    pub bucket: i64,
    /// Which block of its bucket, from 0.
    pub part: i64,
    /// The digest of what is sent.
    pub digest: &'a [u8],
    /// The rows, as [`Packed::bytes`](super::Packed::bytes).
    pub bytes: &'a [u8],
}

/// The answers of some blocks to one question.
pub struct Answer {
    sent: Sent,
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
        unit: Option<&Unit>,
        map: Option<&MapLaw>,
        catalogue: Catalogue,
        speed: Speed,
    ) -> Result<Self, ClusterError> {
        let map = map.map(|law| FeatureMap::new(*law, layout.dimension()).map(Arc::new));
        let format = Format::new(layout, unit);
        Ok(Self { format, map: map.transpose()?, catalogue, pool: speed.pool()? })
    }

    /// Adds the answer of a block.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if the block is not the one in the catalogue.
    pub fn add(&self, block: SentBlock<'_>, to: &mut Answer) -> Result<(), ClusterError> {
        let entry = self.catalogue.find(block.bucket, block.part);
        let entry = entry.filter(|e| e.digest == block.digest).ok_or(ClusterError::Changed)?;
        let rows = self.format.unpack(block.bytes).filter(|r| r.records() == entry.records);
        let rows = rows.ok_or(ClusterError::Unreadable("a block"))?;
        let rows = match &self.map {
            Some(map) => rows.mapped(Arc::clone(map))?,
            None => rows,
        };
        let mut added = Ok(());
        let mut work = || added = to.add(entry.block, entry.first, &rows);
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
        added
    }
}

impl Answer {
    /// Begins the answer to a question.
    ///
    /// # Errors
    ///
    /// [`ClusterError`], if the question cannot be read.
    pub fn begin(question: &[u8]) -> Result<Self, ClusterError> {
        let sent = Sent::read(question).ok_or(ClusterError::Unreadable("a question"))?;
        Ok(Self { sent, scratch: Scratch::default(), tree: Tree::default() })
    }

    /// Adds the answer of a block: its number, that of its first row, and its rows.
    fn add(&mut self, block: u64, first: usize, rows: &Rows) -> Result<(), ClusterError> {
        let Self { sent, scratch, tree } = self;
        if sent.problem.features != rows.features().columns() {
            return Err(ClusterError::Unreadable("a question"));
        }
        let question = sent.question().ok_or(ClusterError::Unreadable("a question"))?;
        let mut sum = vec![0.0; question.width(&sent.problem)];
        let here = Block { rows, first, drawn: Some(sent.drawn), sizes: None };
        question.answer(&sent.problem, here, scratch, &mut sum);
        if tree.add(block, sum) { Ok(()) } else { Err(ClusterError::Twice) }
    }

    /// The sums so far, for [`merge`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.tree.to_bytes()
    }
}

/// Puts the sums of two sets of blocks together; no bytes are the sums of none. The order in which
/// this is done does not matter, not to a bit.
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
