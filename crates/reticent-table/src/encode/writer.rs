//! Rows as they are built: cells in, an encoded row out.

use std::ops::ControlFlow;

use reticent_problem::declaration::{
    NumericRange, Place, WeightColumn, bucket_of_category, bucket_of_number, count_words, days,
    moment, spells_missing,
};

use super::store::{Store, append};
use super::tile::Tile;
use super::{CellKind, ColumnEncoder, Encoder, Label, Observer, Outcome, cell, clip};
use crate::error::TableError;
use reticent_data::Rows;

/// Where labels come from.
pub(crate) enum LabelSource {
    /// There are none: all labels are 0. For prediction.
    Absent,
    /// From each row's own target cell.
    Inline,
    /// From elsewhere, already encoded, one for each row.
    Given(Vec<Label>),
}

/// The source of the labels and the destination of the rows: all kept, or handed on block by block.
pub(crate) struct Wanted<'a> {
    pub(crate) labels: LabelSource,
    pub(crate) blocks: Option<Blocks<'a>>,
    /// Whether a reader may hold some megabytes and threads to be faster.
    pub(crate) ample: bool,
}

/// Where blocks of rows go.
pub(crate) struct Blocks<'a> {
    /// Rows of a block; the last may have fewer.
    pub(crate) rows: usize,
    /// Takes a block, and says whether more are wanted.
    pub(crate) take: &'a mut dyn FnMut(Rows) -> ControlFlow<()>,
}

impl From<LabelSource> for Wanted<'_> {
    fn from(labels: LabelSource) -> Self {
        Self { labels, blocks: None, ample: true }
    }
}

/// Why a writer takes no more rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    /// Nobody wants them.
    Unwanted,
    /// Memory did not suffice: rows were left out.
    Full,
}

/// Builds rows. The cells of a row come in any order; `end_row` encodes what is there. The observer
/// hears what becomes of them.
pub(crate) struct RowWriter<'a, O> {
    pub(super) encoder: &'a Encoder,
    pub(super) source: LabelSource,
    pub(super) blocks: Option<Blocks<'a>>,
    observer: O,
    /// Why no more rows are taken, if none are.
    closed: Option<Closed>,
    /// The non-zero features of the row at hand.
    entries: Vec<(u32, f64)>,
    sorted: bool,
    /// Where the row's cells lie that take part in interactions; none for those that say nothing.
    places: Vec<Option<Place>>,
    /// Whether a cell of this row held no finite number where one was due.
    broken: bool,
    label: Label,
    /// The weight of the row at hand, beside that of its class.
    weight: f64,
    /// Its exposure, by which the target is divided, if it has one.
    exposure: Option<f64>,
    /// The weights of the rows, if they have such.
    weights: Option<Vec<f64>>,
    /// The numbers last seen as targets, by their bits, and their labels.
    recent: [(u64, Label); 2],
    rows: usize,
    pub(super) labels: Vec<f64>,
    pub(super) store: Store,
    pub(super) tile: Tile,
}

impl<'a, O: Observer> RowWriter<'a, O> {
    /// A writer with room for `rows` rows, where that is known.
    pub(crate) fn new(
        encoder: &'a Encoder,
        wanted: impl Into<Wanted<'a>>,
        rows: usize,
        observer: O,
    ) -> Self {
        let Wanted { labels: source, blocks, .. } = wanted.into();
        let rows = blocks.as_ref().map_or(rows, |blocks| blocks.rows);
        let (store, mut labels) = (Store::new(&encoder.layout, rows), Vec::new());
        let weighted = encoder.layout.encodes_weights() && !matches!(source, LabelSource::Absent);
        let weights = weighted.then(Vec::new);
        let full = store.is_none() || labels.try_reserve_exact(rows).is_err();
        Self {
            encoder,
            source,
            blocks,
            observer,
            closed: full.then_some(Closed::Full),
            entries: Vec::new(),
            sorted: true,
            places: vec![None; encoder.sides],
            broken: false,
            label: encoder.target.fallback(Outcome::Missing),
            weight: encoder.missing_weight(),
            exposure: None,
            weights,
            recent: [(0, encoder.target.of_number(0.0)); 2],
            rows: 0,
            labels,
            store: store.unwrap_or_else(|| Store::empty(&encoder.layout)),
            tile: Tile::default(),
        }
    }

    /// Whether rows bring their own labels.
    pub(crate) fn wants_labels(&self) -> bool {
        matches!(self.source, LabelSource::Inline)
    }

    /// Whether no more rows are taken: a reader may end early.
    pub(crate) fn stopped(&self) -> bool {
        self.closed.is_some()
    }

    /// Closes the writer if there was no memory for what it should have stored.
    pub(super) fn expect_stored(&mut self, stored: bool) {
        if !stored {
            self.closed = Some(Closed::Full);
        }
    }

    /// A cell given as text, of whatever bytes.
    pub(crate) fn text(&mut self, column: usize, entry: usize, text: &[u8]) {
        let encoder = &self.encoder.columns[column];
        match encoder.thousands {
            Some(mark) if !encoder.missing.has_text(cell::trimmed(text)) => {
                let mut into = Vec::new();
                let text = cell::without_thousands(cell::trimmed(text), mark, b'.', &mut into);
                self.plain_text(column, entry, text);
            }
            _ => self.plain_text(column, entry, text),
        }
    }

    /// A cell given as text without marks between thousands.
    pub(crate) fn plain_text(&mut self, column: usize, entry: usize, text: &[u8]) {
        let encoder = &self.encoder.columns[column];
        let text = cell::trimmed(text);
        if encoder.missing.has_text(text) {
            return self.missing(column);
        }
        if let Some(date) = &encoder.date {
            let format = date.format.as_deref();
            match std::str::from_utf8(text).ok().and_then(|text| moment(text, format)) {
                Some(micros) => self.date(column, micros),
                None => self.missing(column),
            }
            return;
        }
        match &encoder.kind {
            CellKind::OneHot(categories) => match categories.of_text(text) {
                Some(category) => self.category(column, category),
                None if spells_missing(text) => self.missing(column),
                None => self.undeclared(column),
            },
            CellKind::Buckets { .. } | CellKind::Words { .. } if spells_missing(text) => {
                self.missing(column);
            }
            CellKind::Buckets { buckets, seed } => {
                let bucket = bucket_of_category(*seed, text, *buckets);
                self.category(column, bucket);
            }
            CellKind::Words { buckets, seed } => {
                let counts = count_words(*seed, &String::from_utf8_lossy(text), *buckets);
                let start = encoder.start;
                for (bucket, count) in counts {
                    self.push(start + bucket, count);
                }
            }
            CellKind::Weight(_) if spells_missing(text) => self.missing(column),
            CellKind::Weight(weight) => {
                self.weigh(column, weight, cell::parse_number(text).unwrap_or(f64::INFINITY));
            }
            _ => match cell::parse_number(text) {
                Some(number) => self.number(column, entry, number),
                None if !encoder.is_vector && spells_missing(text) => self.missing(column),
                None => self.unreadable_cell(column),
            },
        }
    }

    /// A moment in a column of dates, and its parts in the columns behind that one. In any other
    /// column it is missing.
    pub(crate) fn date(&mut self, column: usize, micros: i64) {
        let encoder = self.encoder;
        if encoder.columns[column].date.is_none() {
            return self.missing(column);
        }
        self.finite(column, 0, days(micros));
        for (column, part) in encoder.parts_of(column) {
            let ColumnEncoder { start, kind, .. } = &encoder.columns[column];
            match (part.of(micros), kind) {
                (Some(place), CellKind::Periodic(circle)) => {
                    let (cosine, sine) = circle[place as usize];
                    self.push(*start, cosine);
                    self.push(start + 1, sine);
                }
                (Some(place), _) => self.category(column, place),
                (None, _) => {}
            }
        }
    }

    /// A cell given as a number.
    pub(crate) fn number(&mut self, column: usize, entry: usize, number: f64) {
        let encoder = &self.encoder.columns[column];
        if number.is_nan() && !encoder.is_vector || encoder.missing.has_number(number) {
            return self.missing(column);
        }
        if encoder.date.is_some() {
            // As the text that a whole number is: `20240229` where such dates are declared.
            let text = number.to_string();
            return self.plain_text(column, entry, text.as_bytes());
        }
        match &encoder.kind {
            CellKind::OneHot(categories) => match categories.of_number(number) {
                Some(category) => self.category(column, category),
                None => self.undeclared(column),
            },
            CellKind::Buckets { buckets, seed } if number.is_finite() => {
                let bucket = bucket_of_number(*seed, number, *buckets);
                self.category(column, bucket);
            }
            CellKind::Buckets { .. } | CellKind::Words { .. } => {
                let text = number.to_string();
                self.plain_text(column, entry, text.as_bytes());
            }
            CellKind::Weight(weight) => self.weigh(column, weight, number),
            _ if !number.is_finite() => self.unreadable_cell(column),
            CellKind::Scaled { .. } | CellKind::Curve { .. } | CellKind::Periodic(_) => {
                self.finite(column, entry, number);
            }
            CellKind::Vector { .. } => self.push(encoder.start + entry as u32, number),
        }
    }

    /// A finite number of a column with bounds, of which note is taken where it lies outside.
    #[inline]
    fn finite(&mut self, column: usize, entry: usize, number: f64) {
        if O::TAKES_NOTE
            && let CellKind::Scaled { min, max, .. } | CellKind::Curve { min, max, .. } =
                &self.encoder.columns[column].kind
            && !(*min..=*max).contains(&number)
        {
            self.observer.cell(column, Outcome::Clamped);
        }
        self.bounded(column, entry, number);
    }

    /// A finite number of a column with bounds.
    #[inline]
    fn bounded(&mut self, column: usize, entry: usize, number: f64) {
        let encoder = &self.encoder.columns[column];
        match &encoder.kind {
            CellKind::Scaled { min, max, range } => {
                let scaled = scale(number, *min, *max, *range);
                self.push(encoder.start + entry as u32, scaled);
            }
            CellKind::Curve { curve, .. } => {
                let Place { first, share } = curve.place(number);
                self.push(encoder.start + first, 1.0 - share);
                self.push(encoder.start + first + 1, share);
            }
            CellKind::OneHot(_)
            | CellKind::Periodic(_)
            | CellKind::Buckets { .. }
            | CellKind::Words { .. }
            | CellKind::Vector { .. }
            | CellKind::Weight(_) => return,
        }
        self.take_place(column, number);
    }

    /// The weight or the exposure of the row; what is no finite number weighs nothing.
    fn weigh(&mut self, column: usize, by: &WeightColumn, number: f64) {
        if !number.is_finite() {
            return self.observer.cell(column, Outcome::Unreadable);
        }
        if !(by.min..=by.max).contains(&number) {
            self.observer.cell(column, Outcome::Clamped);
        }
        self.weight = by.share(number);
        self.exposure = by.exposure.then(|| number.clamp(by.min, by.max));
    }

    /// A category that is not declared.
    fn undeclared(&mut self, column: usize) {
        self.observer.cell(column, Outcome::Undeclared);
        if let Some(other) = self.encoder.columns[column].other {
            self.category(column, other);
        }
    }

    /// A cell that holds nothing.
    pub(crate) fn missing(&mut self, column: usize) {
        self.observer.cell(column, Outcome::Missing);
        let ColumnEncoder { indicator, fill, .. } = &self.encoder.columns[column];
        match (*indicator, *fill) {
            (Some(indicator), _) => self.push(indicator, 1.0),
            (None, Some(fill)) => self.bounded(column, 0, fill),
            (None, None) => {}
        }
    }

    /// A cell that holds this category.
    fn category(&mut self, column: usize, category: u32) {
        let encoder = &self.encoder.columns[column];
        self.push(encoder.start + category, 1.0);
        if let Some(side) = &encoder.side {
            self.places[side.place] = Some(Place { first: category, share: 0.0 });
        }
    }

    /// Keeps the place of a number for interactions.
    #[inline]
    fn take_place(&mut self, column: usize, number: f64) {
        if let Some(side) = &self.encoder.columns[column].side {
            self.places[side.place] = side.curve.as_ref().map(|curve| curve.place(number));
        }
    }

    /// A cell given as a truth value: 1 or 0, as everywhere.
    pub(crate) fn flag(&mut self, column: usize, entry: usize, flag: bool) {
        self.number(column, entry, f64::from(u8::from(flag)));
    }

    /// A cell of this row cannot be read as what its column holds.
    pub(crate) fn unreadable_cell(&mut self, column: usize) {
        self.observer.cell(column, Outcome::Unreadable);
        self.broken = true;
    }

    /// This row cannot be read, because of no column in particular.
    pub(crate) fn unreadable_row(&mut self) {
        self.broken = true;
    }

    /// The target given as text.
    pub(crate) fn label_text(&mut self, text: &[u8]) {
        self.label = self.encoder.target.of_text(text);
    }

    /// The target given as text without marks between thousands.
    pub(crate) fn plain_label(&mut self, text: &[u8]) {
        self.label = self.encoder.target.of_plain_text(text);
    }

    /// The target given as a number.
    #[inline]
    pub(crate) fn label_number(&mut self, number: f64) {
        let bits = number.to_bits();
        let [last, before] = self.recent;
        if bits != last.0 && bits != before.0 {
            self.recent = [(bits, self.encoder.target.of_number(number)), last];
        }
        let [last, before] = self.recent;
        self.label = if bits == last.0 { last.1 } else { before.1 };
    }

    /// The target given as a truth value.
    pub(crate) fn label_flag(&mut self, flag: bool) {
        self.label_number(f64::from(u8::from(flag)));
    }

    /// Forget what is there of the row at hand; how much it was.
    pub(super) fn take_entries(&mut self) -> usize {
        let count = self.entries.len() + self.places.iter().flatten().count();
        self.forget();
        count
    }

    /// The next row begins.
    fn forget(&mut self) {
        self.entries.clear();
        self.sorted = true;
        self.places.fill(None);
    }

    fn push(&mut self, index: u32, value: f64) {
        if value != 0.0 {
            self.sorted &= self.entries.last().is_none_or(|last| last.0 < index);
            self.entries.push((index, value));
        }
    }

    /// The row is complete.
    pub(crate) fn end_row(&mut self) {
        let target = &self.encoder.target;
        if !self.broken {
            self.finish_features();
            // True by construction; a row for which it were not says nothing.
            self.broken = !clip::keeps(&self.entries, self.encoder.layout.norm_bound());
        }
        if self.broken {
            self.entries.clear();
        }
        let label = match &self.source {
            LabelSource::Absent => Label { value: 0.0, exact: 0.0, outcome: Outcome::Read },
            LabelSource::Inline => self.label,
            // Rows beyond the given labels are counted, and refused when the table ends.
            LabelSource::Given(labels) => {
                labels.get(self.rows).copied().unwrap_or_else(|| target.fallback(Outcome::Missing))
            }
        };
        let label = match self.exposure.take() {
            Some(exposure) => target.rate(label, exposure),
            // A target without its exposure is no rate.
            None if self.encoder.is_rate() => target.fallback(Outcome::Missing),
            None => label,
        };
        self.observer.end_row(self.broken, label);
        // A row of zeros says nothing of its label either.
        let tells = !self.broken || matches!(self.source, LabelSource::Absent);
        self.label = if tells { label } else { target.fallback(label.outcome) };
        let stored = self.store.push(&self.entries, &self.encoder.layout);
        self.expect_stored(stored);
        self.forget();
        if self.broken {
            self.weight = 0.0;
        }
        self.broken = false;
        self.end_label();
        self.count_rows(1);
    }

    /// The label of a row whose features are stored is the one at hand.
    #[inline]
    pub(crate) fn end_label(&mut self) {
        let mut stored = append(&mut self.labels, &[self.label.value]);
        if let Some(weights) = &mut self.weights {
            let weight = self.weight * self.encoder.layout.class_factor(self.label.value);
            stored &= append(weights, &[weight]);
            self.weight = self.encoder.missing_weight();
        }
        self.expect_stored(stored);
        self.label = self.encoder.target.fallback(Outcome::Missing);
    }

    /// Counts rows whose features and labels are stored.
    pub(crate) fn count_rows(&mut self, rows: usize) {
        self.rows += rows;
        if self.blocks.as_ref().is_some_and(|blocks| self.labels.len() == blocks.rows) {
            self.hand_on();
        }
    }

    /// The rows since the last block.
    fn take_rows(&mut self) -> Rows {
        let layout = &self.encoder.layout;
        let room = self.blocks.as_ref().map_or(0, |blocks| blocks.rows);
        let labels = std::mem::take(&mut self.labels);
        let roomy = self.labels.try_reserve_exact(room).is_ok();
        self.expect_stored(roomy);
        let next = Store::new(layout, room).unwrap_or_else(|| Store::empty(layout));
        let store = std::mem::replace(&mut self.store, next);
        let features = store.features(labels.len(), layout.dimension());
        let rows = Rows::new(features, labels, layout.bounds());
        match &mut self.weights {
            None => rows,
            Some(weights) => rows.weighted(std::mem::take(weights)),
        }
    }

    /// Gives the block away, if rows are still taken.
    fn hand_on(&mut self) {
        if self.closed.is_some() {
            self.labels.clear();
            self.weights.iter_mut().for_each(Vec::clear);
            self.store = Store::empty(&self.encoder.layout);
            return;
        }
        let rows = self.take_rows();
        if let Some(blocks) = &mut self.blocks
            && (blocks.take)(rows).is_break()
        {
            self.closed.get_or_insert(Closed::Unwanted);
        }
    }

    fn finish_features(&mut self) {
        if !self.sorted {
            self.entries.sort_unstable_by_key(|entry| entry.0);
        }
        for (index, column) in self.encoder.columns.iter().enumerate() {
            let held = match column.kind {
                CellKind::Vector { len, norm } => Some((len, norm)),
                CellKind::Words { buckets, .. } => Some((buckets as u32, 1.0)),
                _ => None,
            };
            if let Some((len, norm)) = held {
                let first = self.entries.partition_point(|e| e.0 < column.start);
                let end = self.entries.partition_point(|e| e.0 < column.start + len);
                let entries = &mut self.entries[first..end];
                if O::TAKES_NOTE && column.is_vector && clip::is_beyond(entries, norm) {
                    self.observer.cell(index, Outcome::Clamped);
                }
                clip::clip(entries, norm);
            }
        }
        self.push_products();
        let layout = &self.encoder.layout;
        if let Some(intercept) = layout.intercept() {
            self.entries.push((intercept as u32, 1.0));
        }
        if layout.encoding().normalize_rows {
            clip::onto_sphere(&mut self.entries, layout.norm_bound());
        } else {
            clip::clip(&mut self.entries, layout.norm_bound());
        }
    }

    /// The features of interactions, behind those of the columns.
    fn push_products(&mut self) {
        for pair in &self.encoder.pairs {
            let [Some(one), Some(other)] = pair.sides.map(|side| self.places[side]) else {
                continue;
            };
            for (k, first) in [(0, 1.0 - one.share), (1, one.share)] {
                for (l, second) in [(0, 1.0 - other.share), (1, other.share)] {
                    let value = first * second;
                    // Products that are zero may have no feature: a place at the last knot has no
                    // next one.
                    if value != 0.0 {
                        let index = (one.first + k) * pair.width + other.first + l;
                        self.entries.push((pair.start + index, value));
                    }
                }
            }
        }
    }

    /// The remaining rows and the observer, once all rows are in.
    pub(crate) fn finish(mut self, file: &str) -> Result<(Rows, O), TableError> {
        if self.closed == Some(Closed::Full) {
            return Err(TableError::Memory { file: file.to_owned() });
        }
        if self.rows == 0 {
            return Err(TableError::Empty { file: file.to_owned() });
        }
        if let LabelSource::Given(labels) = &self.source
            && labels.len() != self.rows
        {
            return Err(TableError::LabelCount { file: file.to_owned() });
        }
        if self.blocks.is_some() && !self.labels.is_empty() {
            self.hand_on();
        }
        let rows = self.take_rows();
        Ok((rows, self.observer))
    }
}

/// Clamp a finite number to its bounds and send them to the numeric range; leave it where it has
/// none.
fn scale(number: f64, min: f64, max: f64, range: NumericRange) -> f64 {
    if max.is_infinite() {
        return number; // declared unbounded
    }
    let unit = unit(number, min, max);
    match range {
        NumericRange::Unit => unit,
        NumericRange::Symmetric => 2.0 * unit - 1.0,
    }
}

/// Clamp a number to its bounds and send them to 0 and 1. Written so that it takes no branch.
#[inline(always)]
pub(super) fn unit(number: f64, min: f64, max: f64) -> f64 {
    let number = if number < min { min } else { number };
    let number = if number > max { max } else { number };
    ((number - min) / (max - min)).clamp(0.0, 1.0)
}
