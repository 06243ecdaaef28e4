//! Arrow record batches: what Parquet files, Arrow files and pyarrow tables hold.
//!
//! Columns are found by name. Numbers of every width, booleans, texts, bytes and dictionaries of
//! them are read; a vector column is a (fixed-size) list of numbers, or one column per entry as in
//! CSV. A null is a missing value.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, LargeBinaryArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::header::Header;
use crate::encode::{
    Encoder, LabelSource, Observer, PlainCells, PlainColumn, RowWriter, Silent, Targets,
};
use crate::error::TableError;
use reticent_data::Rows;

/// Encode record batches that are in memory, with the given targets; without, each batch holds the
/// target.
///
/// # Errors
///
/// If a declared column is absent, occurs twice or has a type that does not fit, there is no row,
/// or the number of targets differs.
pub fn from_batches(
    encoder: &Encoder,
    batches: &[RecordBatch],
    targets: Option<Targets<'_>>,
) -> Result<Rows, TableError> {
    const FILE: &str = "the table";
    let Some(first) = batches.first() else {
        return Err(TableError::Empty { file: FILE.to_owned() });
    };
    let labels = targets.map_or(LabelSource::Inline, |targets| encoder.labels(targets));
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let mut writer = RowWriter::new(encoder, labels, rows, Silent);
    let plan = Plan::new(encoder, &first.schema(), writer.wants_labels(), FILE)?;
    for batch in batches {
        plan.write(batch.columns(), &mut writer)?;
        if writer.stopped() {
            break;
        }
    }
    Ok(writer.finish(FILE)?.0)
}

/// Which column of a batch fills which column of the encoder.
pub(super) struct Plan {
    file: String,
    columns: Vec<Planned>,
    target: Option<(usize, String)>,
}

struct Planned {
    /// Position among the batch's columns.
    field: usize,
    name: String,
    column: usize,
    entry: usize,
    /// The length of a vector that comes as a list.
    list: Option<usize>,
}

impl Plan {
    pub(super) fn new(
        encoder: &Encoder,
        schema: &Schema,
        with_target: bool,
        file: &str,
    ) -> Result<Self, TableError> {
        let names = schema.fields().iter().map(|f| f.name().trim_ascii().as_bytes());
        let header = Header::new(file, names);
        let type_of = |field: usize| schema.field(field).data_type();
        let mut columns = Vec::new();
        for (column, name, len) in encoder.named_columns() {
            let planned = match len {
                Some(len) if !header.has(name) && header.has(&format!("{name}[0]")) => (0..len)
                    .map(|entry| {
                        let name = format!("{name}[{entry}]");
                        let field = header.find(&name)?;
                        Ok(Planned { field, name, column, entry, list: None })
                    })
                    .collect::<Result<Vec<_>, TableError>>()?,
                list => {
                    let field = header.find(name)?;
                    vec![Planned { field, name: name.to_owned(), column, entry: 0, list }]
                }
            };
            for one in &planned {
                let dates = encoder.is_date(column);
                if !(dates && factor(type_of(one.field)).is_some()) {
                    check_type(type_of(one.field), one.list, file, &one.name)?;
                }
            }
            columns.extend(planned);
        }
        let target = if with_target {
            let name = encoder.layout().target();
            let field = header.find(name)?;
            check_type(type_of(field), None, file, name)?;
            Some((field, name.to_owned()))
        } else {
            None
        };
        Ok(Self { file: file.to_owned(), columns, target })
    }

    /// The positions of the batch's columns that are needed, in order.
    pub(super) fn fields(&self) -> Vec<usize> {
        let target = self.target.as_ref().map(|(field, _)| *field);
        let mut fields: Vec<_> = self.columns.iter().map(|c| c.field).chain(target).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// Encode the rows of a batch, given by its columns.
    pub(super) fn write<O: Observer>(
        &self,
        batch: &[ArrayRef],
        writer: &mut RowWriter<'_, O>,
    ) -> Result<(), TableError> {
        let cells = |field: usize, name: &str, list: bool| {
            let found = batch.get(field);
            found.and_then(|array| Cells::new(array, list)).ok_or_else(|| TableError::ColumnType {
                file: self.file.clone(),
                column: name.to_owned(),
                found: found.map_or("none".to_owned(), |array| array.data_type().to_string()),
                expected: if list { LIST } else { SCALAR },
            })
        };
        let columns = self
            .columns
            .iter()
            .map(|c| Ok((c, cells(c.field, &c.name, c.list.is_some())?)))
            .collect::<Result<Vec<_>, TableError>>()?;
        let target = match &self.target {
            Some((field, name)) => Some(cells(*field, name, false)?),
            None => None,
        };
        let plain = plain(&columns, writer);
        let (mut row, rows) = (0, batch.first().map_or(0, Array::len));
        while row < rows {
            let tile = plain.as_ref().map(|plain| writer.fill_tile(plain, row..rows));
            let (first, end) = (row, row + tile.unwrap_or(1));
            while row < end {
                if tile.is_some() {
                    let plain = row + writer.store_plain_rows(row - first);
                    match &target {
                        Some(cells) => cells.write_labels(row..plain, writer),
                        None => (row..plain).for_each(|_| writer.end_label()),
                    }
                    writer.count_rows(plain - row);
                    row = plain;
                    if row == end {
                        break;
                    }
                }
                for (planned, cells) in &columns {
                    cells.write(row, planned, writer);
                }
                if let Some(cells) = &target {
                    cells.write_label(row, writer);
                }
                writer.end_row();
                row += 1;
            }
        }
        Ok(())
    }
}

/// The columns as plain numbers, if all of them are.
fn plain<'a, O: Observer>(
    columns: &'a [(&Planned, Cells)],
    writer: &RowWriter<'_, O>,
) -> Option<Vec<(PlainColumn, PlainCells<'a>)>> {
    if !writer.takes_tiles() {
        return None;
    }
    let plain = columns.iter().map(|(planned, cells)| {
        let cells = match cells {
            Cells::Singles(cells) if cells.null_count() == 0 => PlainCells::Single(cells.values()),
            Cells::Numbers(cells) if cells.null_count() == 0 => PlainCells::Double(cells.values()),
            _ => return None,
        };
        Some((writer.plain_column(planned.column)?, cells))
    });
    plain.collect()
}

const SCALAR: &str = "numbers, booleans or texts";
const LIST: &str = "a list of numbers of the declared length";

fn check_type(
    found: &DataType,
    list: Option<usize>,
    file: &str,
    column: &str,
) -> Result<(), TableError> {
    let fits = match (list, found) {
        (Some(len), DataType::FixedSizeList(item, n)) => {
            is_entry(item) && usize::try_from(*n) == Ok(len)
        }
        (Some(_), DataType::List(item) | DataType::LargeList(item)) => is_entry(item),
        // Which no part of a table has but one whose cells are all missing.
        (Some(_), DataType::Null) => true,
        (Some(_), _) => false,
        (None, DataType::Dictionary(_, value)) => is_scalar(value),
        (None, scalar) => is_scalar(scalar),
    };
    if fits {
        return Ok(());
    }
    Err(TableError::ColumnType {
        file: file.to_owned(),
        column: column.to_owned(),
        found: found.to_string(),
        expected: if list.is_some() { LIST } else { SCALAR },
    })
}

/// Whether lists of these are vectors: of numbers, or of nothing but what is missing.
pub(super) fn is_entry(item: &Field) -> bool {
    item.data_type().is_numeric() || *item.data_type() == DataType::Null
}

pub(super) fn is_scalar(kind: &DataType) -> bool {
    kind.is_numeric()
        || is_text(kind)
        || is_bytes(kind)
        || matches!(kind, DataType::Boolean | DataType::Null)
}

/// Text that its writer did not vouch for.
pub(super) fn is_bytes(kind: &DataType) -> bool {
    matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The nanoseconds in one unit of a date type; none for other types.
fn factor(kind: &DataType) -> Option<i64> {
    Some(match kind {
        DataType::Date32 => 86_400_000_000_000,
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1,
        _ => return None,
    })
}

/// Dates as microseconds. Those with a time zone are held in UTC, as a text with an offset is read.
fn moments(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    let factor = factor(array.data_type())?;
    let units = cast(array, &DataType::Int64).ok()?;
    let units = units.as_primitive::<Int64Type>();
    let micros =
        |units: i64| i64::try_from((i128::from(units) * i128::from(factor)).div_euclid(1000)).ok();
    Some(units.iter().map(|units| units.and_then(micros)).collect())
}

/// A column of a batch, in one of few types.
enum Cells {
    Nothing,
    Singles(Float32Array),
    Numbers(Float64Array),
    Flags(BooleanArray),
    /// Microseconds since 1970-01-01; none where they are too many.
    Moments(Vec<Option<i64>>),
    /// Texts, of whatever bytes.
    Texts(LargeBinaryArray),
    /// All entries one after another, and where those of each row start and end.
    Lists(Float64Array, Vec<Option<(usize, usize)>>),
}

impl Cells {
    fn new(array: &ArrayRef, list: bool) -> Option<Self> {
        if list {
            return Self::lists(array);
        }
        let array = match array.data_type() {
            DataType::Dictionary(_, value) => &cast(array, value).ok()?,
            _ => array,
        };
        Some(match array.data_type() {
            DataType::Null => Self::Nothing,
            DataType::Boolean => Self::Flags(array.as_boolean().clone()),
            kind if is_text(kind) => {
                let texts = cast(array, &DataType::LargeUtf8).ok()?;
                Self::Texts(cast(&texts, &DataType::LargeBinary).ok()?.as_binary().clone())
            }
            kind if is_bytes(kind) => {
                Self::Texts(cast(array, &DataType::LargeBinary).ok()?.as_binary().clone())
            }
            kind if factor(kind).is_some() => Self::Moments(moments(array)?),
            DataType::Float32 => Self::Singles(array.as_primitive().clone()),
            kind if kind.is_numeric() => Self::Numbers(numbers(array)?),
            _ => return None,
        })
    }

    fn lists(array: &ArrayRef) -> Option<Self> {
        let (entries, ends): (&ArrayRef, Vec<(usize, usize)>) = match array.data_type() {
            DataType::FixedSizeList(..) => {
                let lists = array.as_fixed_size_list_opt()?;
                let len = usize::try_from(lists.value_length()).ok()?;
                let ends = (0..lists.len()).map(|i| {
                    let start = lists.value_offset_at(i);
                    (start, start + len)
                });
                (lists.values(), ends.collect())
            }
            DataType::List(_) => {
                let lists = array.as_list_opt::<i32>()?;
                let ends = lists.value_offsets().windows(2);
                (lists.values(), ends.map(|w| (w[0] as usize, w[1] as usize)).collect())
            }
            DataType::LargeList(_) => {
                let lists = array.as_list_opt::<i64>()?;
                let ends = lists.value_offsets().windows(2);
                (lists.values(), ends.map(|w| (w[0] as usize, w[1] as usize)).collect())
            }
            DataType::Null => return Some(Self::Nothing),
            _ => return None,
        };
        let ends = ends.into_iter().enumerate().map(|(i, ends)| array.is_valid(i).then_some(ends));
        Some(Self::Lists(numbers(entries)?, ends.collect()))
    }

    fn write<O: Observer>(&self, row: usize, planned: &Planned, writer: &mut RowWriter<'_, O>) {
        let &Planned { column, entry, .. } = planned;
        match self {
            Self::Singles(cells) if cells.is_valid(row) => {
                writer.number(column, entry, f64::from(cells.value(row)));
            }
            Self::Numbers(cells) if cells.is_valid(row) => {
                writer.number(column, entry, cells.value(row));
            }
            Self::Texts(cells) if cells.is_valid(row) => {
                writer.text(column, entry, cells.value(row));
            }
            Self::Moments(cells) if cells[row].is_some() => {
                writer.date(column, cells[row].unwrap_or_default());
            }
            Self::Flags(cells) if cells.is_valid(row) => {
                writer.flag(column, entry, cells.value(row));
            }
            Self::Lists(entries, ends) => match ends[row] {
                None => writer.missing(column),
                Some((start, end)) if planned.list == Some(end - start) => {
                    for place in start..end {
                        if entries.is_valid(place) {
                            writer.number(column, place - start, entries.value(place));
                        } else {
                            writer.missing(column);
                        }
                    }
                }
                Some(_) => writer.unreadable_cell(column),
            },
            _ => writer.missing(column),
        }
    }

    /// The labels of rows whose features are stored.
    fn write_labels<O: Observer>(&self, rows: Range<usize>, writer: &mut RowWriter<'_, O>) {
        match self {
            Self::Numbers(cells) if cells.null_count() == 0 => {
                for number in &cells.values()[rows] {
                    writer.label_number(*number);
                    writer.end_label();
                }
            }
            _ => {
                for row in rows {
                    self.write_label(row, writer);
                    writer.end_label();
                }
            }
        }
    }

    fn write_label<O: Observer>(&self, row: usize, writer: &mut RowWriter<'_, O>) {
        match self {
            Self::Singles(cells) if cells.is_valid(row) => {
                writer.label_number(f64::from(cells.value(row)));
            }
            Self::Numbers(cells) if cells.is_valid(row) => writer.label_number(cells.value(row)),
            Self::Texts(cells) if cells.is_valid(row) => writer.label_text(cells.value(row)),
            Self::Flags(cells) if cells.is_valid(row) => writer.label_flag(cells.value(row)),
            _ => {}
        }
    }
}

fn numbers(array: &ArrayRef) -> Option<Float64Array> {
    Some(cast(array, &DataType::Float64).ok()?.as_primitive_opt::<Float64Type>()?.clone())
}
