//! Units of a batch, and slabs of a unit: who computes what, where and in which order.

use rayon::prelude::*;

use super::block::{Block, BlockTable, ClippedPass, Factors, Facts, ModelSize, Weights};
use super::outer::{CHAINS, Groups, Place};
use super::real::{BLOCK, Real};
use super::stages::Watch;
use super::tiles::PanelLine;
use super::wide::{self, Wide};
use crate::threads::in_parts;

/// Blocks that are summed up before their sum is added to the total. Every slab but the last of a
/// unit has a multiple of them.
pub(super) const SPAN: usize = 4;

// Chains are cut alike whatever the slab.
const _: () = assert!(SPAN.is_multiple_of(CHAINS));

/// The most blocks of a slab, for each thread that shares it, but for up to a span that the last
/// slab takes on.
pub(super) const MOST_BLOCKS: usize = 32;

/// The most units of a batch: their sums are added up at the end.
pub(super) const MOST_UNITS: usize = 16;

/// Blocks of a unit, at most, while there are fewer than [`MOST_UNITS`]: as many as one thread can
/// keep near itself.
const UNIT: usize = 4;

/// Groups of residuals whose sums a thread takes at a time: few enough that none has to wait long
/// for the last.
const TOGETHER: usize = 12;

/// Bytes of a sum up to which a batch is cut into units: several of them fit the cache of a core.
const SMALL: usize = 1 << 17;

/// Bytes of a thread's part of a slab, roughly: the cache of a core.
const SLAB: usize = 1 << 19;

/// Into how many units a batch is cut, by its length and the shape alone: an even number if more
/// than a block, so that two threads have the same to do.
fn units(shape: ModelSize, rows: usize) -> usize {
    let first = Groups::new(shape.on_features()).len(shape.features);
    let second = shape.hidden.map_or(0, |width| Groups::new(shape.outputs).len(width + 1));
    if (first + second) * size_of::<PanelLine<f64>>() > SMALL {
        return 1;
    }
    let blocks = rows.div_ceil(BLOCK);
    (2 * blocks.div_ceil(2 * UNIT)).min(MOST_UNITS).min(blocks).max(1)
}

/// Room for one precision.
#[derive(Default)]
pub(super) struct Work<T> {
    shape: ModelSize,
    dense: bool,
    weights: Weights<T>,
    /// One for each thread that takes units, and those that a longer batch needed.
    slabs: Vec<Slab<T>>,
    /// Those of each unit, likewise.
    sums: Vec<Sums>,
    /// How many of both are in use.
    used: (usize, usize),
    /// Sums over sparse rows.
    on_sparse: Vec<f64>,
}

/// The part of [`Work`] that a batch needs.
pub(super) struct InUse<'a, T> {
    pub(super) weights: &'a Weights<T>,
    pub(super) slabs: &'a mut [Slab<T>],
    pub(super) sums: &'a mut [Sums],
    pub(super) on_sparse: &'a mut Vec<f64>,
}

/// Room for rows that are summed up together.
#[derive(Default)]
pub(super) struct Slab<T> {
    blocks: Vec<Block<T>>,
    /// Rows that are to be done in another way.
    odd: Vec<usize>,
}

/// The sums of a unit: of residuals times features, and times hidden units.
pub(super) struct Sums {
    pub(super) on_x: Vec<PanelLine<f64>>,
    pub(super) on_units: Vec<PanelLine<f64>>,
}

impl<T: Real> Work<T> {
    /// Makes room for a problem and takes the weights over.
    pub(super) fn prepare(&mut self, shape: ModelSize, w: &[f64], dense: bool, rows: usize) {
        let room = size_of::<T>() * shape.features * usize::from(dense)
            + size_of::<f64>() * (shape.on_features() + shape.outputs)
            + size_of::<T>() * shape.hidden.unwrap_or(0);
        let spans = (SLAB / (SPAN * BLOCK * room.max(1))).clamp(1, MOST_BLOCKS / SPAN);
        let threads = rayon::current_num_threads();
        let units = if dense { units(shape, rows) } else { 1 };
        // Sparse sums are added up slab by slab. Those of dense rows go over whole spans whatever
        // the slab, so it need be no longer than the unit and, with some room, those to come.
        let filled = (rows + rows / 4).div_ceil(SPAN * BLOCK * units).max(1);
        let (slabs, spans) = match (dense, units) {
            (false, _) => (1, spans),
            (true, 1) => (1, filled.min(spans * threads)),
            (true, _) => (units.min(threads), filled.min(spans)),
        };
        // The length of a slab of sparse rows must follow from the shape alone: it is charged for.
        let count = SPAN * (spans + 1);
        let count = if dense { count.min((rows + rows / 4).div_ceil(BLOCK).max(1)) } else { count };
        if (self.shape, self.dense) != (shape, dense) {
            (self.slabs, self.sums) = (Vec::new(), Vec::new());
            (self.shape, self.dense) = (shape, dense);
        }
        self.slabs.resize_with(self.slabs.len().max(slabs), Slab::default);
        self.sums.resize_with(self.sums.len().max(units), || Sums::new(shape, dense));
        self.used = (slabs, units);
        for slab in self.in_use().slabs {
            if slab.blocks.len() < count {
                slab.blocks = (0..count).map(|_| Block::new(shape, dense)).collect();
            }
            slab.odd.clear();
        }
        self.weights.set(shape, w, dense);
    }

    /// The buffers of this batch.
    pub(super) fn in_use(&mut self) -> InUse<'_, T> {
        let Self { weights, slabs, sums, on_sparse, used, .. } = self;
        InUse { weights, slabs: &mut slabs[..used.0], sums: &mut sums[..used.1], on_sparse }
    }

    /// The sums of the units of this batch.
    pub(super) fn sums(&self) -> &[Sums] {
        &self.sums[..self.used.1]
    }

    /// The rows of this batch that are to be done in another way, in the order of the batch.
    pub(super) fn odd(&self) -> impl Iterator<Item = usize> + Clone {
        self.slabs[..self.used.0].iter().flat_map(|slab| slab.odd.iter().copied())
    }

    /// Writes the sums of the second layer.
    pub(super) fn finish(&self, second: &mut [f64]) {
        if let Some(width) = self.shape.hidden {
            let groups = Groups::new(self.shape.outputs);
            let columns = width + 1;
            for (g, into) in second.chunks_mut(groups.size() * columns).enumerate() {
                groups.unpack(self.sums().iter().map(|sums| &sums.on_units[..]), g, columns, into);
            }
        }
    }
}

impl Sums {
    fn new(shape: ModelSize, dense: bool) -> Self {
        let on_x = if dense { Groups::new(shape.on_features()).len(shape.features) } else { 0 };
        let on_units = shape.hidden.map_or(0, |width| Groups::new(shape.outputs).len(width + 1));
        Self { on_x: vec![PanelLine::ZERO; on_x], on_units: vec![PanelLine::ZERO; on_units] }
    }
}

/// Adds the blocks of some rows to a sum, which may begin there.
type AddSlab<'a, T> = dyn FnMut(&[usize], &[Block<T>], bool) + 'a;

impl<T: Real> ClippedPass<'_, T> {
    /// Sums up all units of a batch, the slabs side by side.
    pub(super) fn units(
        &self,
        table: &dyn Fills<T>,
        batch: &[usize],
        slabs: &mut [Slab<T>],
        sums: &mut [Sums],
    ) {
        let (groups, columns) = (Groups::new(self.shape.on_features()), self.shape.features);
        let (units, share) = (sums.len(), sums.len().div_ceil(slabs.len()));
        let blocks = batch.len().div_ceil(BLOCK);
        let end = |unit: usize| (unit * blocks / units * BLOCK).min(batch.len());
        let sums = sums.par_chunks_mut(share).enumerate();
        slabs.par_iter_mut().zip(sums).for_each(|(slab, (part, sums))| {
            for (unit, sums) in (part * share..).zip(sums) {
                let Sums { on_x, on_units } = sums;
                let rows = &batch[end(unit)..end(unit + 1)];
                self.slabs(table, rows, slab, on_units, &mut |_, blocks, fresh| {
                    self.add(groups, columns, blocks, on_x, fresh, Factors::Features);
                });
            }
        });
    }

    /// Fills slab after slab and adds it to the sums, which begin `fresh`; `add` does so for the
    /// features.
    pub(super) fn slabs(
        &self,
        table: &dyn Fills<T>,
        rows: &[usize],
        slab: &mut Slab<T>,
        on_units: &mut [PanelLine<f64>],
        add: &mut AddSlab<'_, T>,
    ) {
        let Slab { blocks, odd } = slab;
        // Whole spans, and in the last slab what is left, so that no slab is a short one.
        let spans = (rows.len() / (SPAN * BLOCK)).max(1);
        let slabs = spans.div_ceil((blocks.len() / SPAN).saturating_sub(1).max(1));
        let end = |slab: usize| match slab {
            _ if slab == slabs => rows.len(),
            _ => slab * spans / slabs * SPAN * BLOCK,
        };
        for slab in 0..slabs {
            let fresh = slab == 0;
            let rows = &rows[end(slab)..end(slab + 1)];
            let blocks = &mut blocks[..rows.len().div_ceil(BLOCK)];
            in_parts(blocks, 1, &|i, blocks| {
                for block in blocks {
                    let rows = &rows[i * BLOCK..rows.len().min((i + 1) * BLOCK)];
                    table.fill(block, rows, self);
                }
            });
            for (block, rows) in blocks.iter().zip(rows.chunks(BLOCK)) {
                odd.extend(rows.iter().zip(block.odd).filter(|(_, odd)| *odd).map(|(row, _)| row));
            }
            add(rows, blocks, fresh);
            if let Some(width) = self.shape.hidden {
                let groups = Groups::new(self.shape.outputs);
                self.add(groups, width + 1, blocks, on_units, fresh, Factors::Units);
            }
        }
    }

    /// Adds the products of residuals and columns of all blocks, some groups for two panels at a
    /// time.
    fn add(
        &self,
        groups: Groups,
        columns: usize,
        blocks: &[Block<T>],
        sums: &mut [PanelLine<f64>],
        fresh: bool,
        factors: Factors,
    ) {
        let single = self.single;
        let add = |place, sums: &mut [PanelLine<f64>]| {
            let mut watch = Watch::new(self.stages);
            wide::run(Add { groups, blocks, single, factors, place, sums, fresh });
            watch.lap(|s| &s.products);
        };
        in_parts(sums, groups.pair_len(), &|pair, sums| {
            in_parts(sums, TOGETHER * groups.group_len(), &|part, sums| {
                add(Place { pair, group: part * TOGETHER, columns }, sums);
            });
        });
    }
}

/// Rows of whatever table, to be turned into blocks of residuals. All else of a batch is compiled
/// once for all tables: a virtual call for a block is nothing beside the block.
pub(super) trait Fills<T>: Sync {
    /// Computes the clipped residuals of `rows`, with the widest registers at hand.
    fn fill(&self, block: &mut Block<T>, rows: &[usize], pass: &ClippedPass<'_, T>);
}

impl<T: Real, X: BlockTable<T>> Fills<T> for X {
    fn fill(&self, block: &mut Block<T>, rows: &[usize], pass: &ClippedPass<'_, T>) {
        let mut watch = Watch::new(pass.stages);
        let facts = &block.begin(rows, pass);
        wide::run(Margins { block, rows, facts, table: self, pass, watch: &mut watch });
        wide::run(Residuals { block, rows, facts, pass, watch: &mut watch });
    }
}

/// The margins of a block.
struct Margins<'a, 's, T, X> {
    block: &'a mut Block<T>,
    rows: &'a [usize],
    facts: &'a Facts,
    table: &'a X,
    pass: &'a ClippedPass<'a, T>,
    watch: &'a mut Watch<'s>,
}

impl<T: Real, X: BlockTable<T>> wide::WideTask for Margins<'_, '_, T, X> {
    #[inline(always)]
    fn run(self, wide: impl Wide) {
        self.block.margins(wide, self.rows, self.facts, self.table, self.pass, self.watch);
    }
}

/// The clipped residuals of a block, from its margins.
struct Residuals<'a, 's, T> {
    block: &'a mut Block<T>,
    rows: &'a [usize],
    facts: &'a Facts,
    pass: &'a ClippedPass<'a, T>,
    watch: &'a mut Watch<'s>,
}

impl<T: Real> wide::WideTask for Residuals<'_, '_, T> {
    #[inline(always)]
    fn run(self, wide: impl Wide) {
        self.block.clip(wide, self.rows, self.facts, self.pass, self.watch);
    }
}

/// Sums of some groups.
struct Add<'a, T> {
    groups: Groups,
    blocks: &'a [Block<T>],
    single: bool,
    factors: Factors,
    place: Place,
    sums: &'a mut [PanelLine<f64>],
    /// Whether the sums begin here: their old content is ignored.
    fresh: bool,
}

impl<T: Real> wide::WideTask for Add<'_, T> {
    #[inline(always)]
    fn run(self, wide: impl Wide) {
        let Self { groups, blocks, single, factors, place, sums, fresh } = self;
        if single
            && !blocks.is_empty()
            && let Some(blocks) = T::single_blocks(blocks)
        {
            return groups.add_single(wide, blocks, factors, place, sums, fresh);
        }
        if fresh {
            sums.fill(PanelLine::ZERO);
        }
        for span in blocks.chunks(SPAN) {
            groups.add(wide, span, factors, place, sums);
        }
    }
}
