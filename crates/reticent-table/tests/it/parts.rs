//! Several files, folders and patterns are one table, and workbooks are tables like any other.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write as _;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{dense, gzip, layout, write};
use arrow_array::builder::{ListBuilder, NullBuilder};
use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    ListArray, NullArray, RecordBatch, StringArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use parquet::arrow::ArrowWriter;
use reticent_data::Rows;
use reticent_table::encode::Encoder;
use reticent_table::table::{
    TableError as E, TableFile, column_texts, columns, count_rows, read, read_blocks,
};
use reticent_table::units::{count_units, unit_keys};
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook};

const SCHEMA: &str = r#"{"target": "y", "columns": [
    {"name": "a", "type": "real", "bounds": {"min": 0, "max": 10}},
    {"name": "b", "type": "categorical", "categories": ["u", "v", "1"]},
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;

fn gathered(typed: &[&Path]) -> Result<TableFile, E> {
    TableFile::gathered(&typed.iter().map(PathBuf::from).collect::<Vec<_>>())
}

/// The rows of a table, which are the same in memory and in blocks of two.
fn rows(file: &TableFile) -> Result<Rows, E> {
    let layout = layout(SCHEMA);
    let whole = read(file, None, &layout, true)?;
    assert_eq!(count_rows(file)?, whole.len());
    let (mut labels, mut sizes) = (Vec::new(), Vec::new());
    read_blocks(file, &Encoder::new(&layout), 2, false, &mut |block| {
        sizes.push(block.len());
        labels.extend_from_slice(block.labels());
        ControlFlow::Continue(())
    })?;
    assert_eq!(labels, whole.labels());
    assert!(sizes[..sizes.len() - 1].iter().all(|size| *size == 2), "{sizes:?}");
    Ok(whole)
}

#[test]
fn parts_are_one_table_in_the_order_of_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let whole = write(at, "whole.csv", b"a,b,y\n1,u,0\n2,v,1\n3,1,1\n4,u,0\n5,u,1\n");
    let expected = rows(&(&whole).into()).unwrap();
    let parts = at.join("parts");
    fs::create_dir(&parts).unwrap();
    let second = write(&parts, "part-2.csv", b"a,b,y\n4,u,0\n5,u,1\n");
    let first = write(&parts, "part-1.csv.gz", &gzip(b"a,b,y\n1,u,0\n2,v,1\n3,1,1\n"));
    for file in [
        gathered(&[&second, &first]).unwrap(),
        gathered(&[&parts]).unwrap(),
        gathered(&[&parts.join("part-*")]).unwrap(),
        gathered(&[&at.join("par*")]).unwrap(),
    ] {
        assert!(rows(&file).unwrap() == expected, "{}", file.name());
        let texts = column_texts(&file, &["a".to_owned()]).unwrap();
        assert_eq!(texts, [["1", "2", "3", "4", "5"]]);
        assert_eq!(columns(&file).unwrap().len(), 3);
    }
    // The files that Spark leaves beside the parts, and a part without rows or without anything.
    write(&parts, "_SUCCESS", b"");
    write(&parts, ".part-1.csv.gz.crc", b"crc\0");
    write(&parts, "part-3.csv", b"a,b,y\n");
    write(&parts, "part-0.csv", b"");
    assert!(rows(&gathered(&[&parts]).unwrap()).unwrap() == expected);
    assert!(rows(&gathered(&[&parts.join("*")]).unwrap()).unwrap() == expected);
}

#[test]
fn a_file_without_bytes_hides_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let empty = write(folder.path(), "a.csv", b"");
    let full = write(folder.path(), "b.csv", b"a,b,y\n1,u,0\n");
    assert_eq!(rows(&gathered(&[&empty, &full]).unwrap()).unwrap().len(), 1);
    let other = write(folder.path(), "c.csv", b"");
    let none = gathered(&[&empty, &other]).unwrap();
    assert!(matches!(rows(&none), Err(E::Empty { .. })));
    assert!(matches!(columns(&none), Err(E::Empty { .. })));
}

#[test]
fn files_that_are_not_one_table_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let first = write(at, "a.csv", b"a,b,y\n1,u,0\n");
    for (name, text) in [
        ("order.csv", &b"b,a,y\nu,31415926,0\n"[..]),
        ("more.csv", b"a,b,y,z\n31415926,u,0,1\n"),
        ("fewer.csv", b"a,y\n31415926,0\n"),
        ("other.svm", b"1 1:31415926\n"),
    ] {
        let error = rows(&gathered(&[&first, &write(at, name, text)]).unwrap()).unwrap_err();
        assert!(matches!(&error, E::Unlike { .. }), "{name}: {error}");
        let message = error.to_string();
        assert!(message.contains(name) && !message.contains("31415926"), "{message}");
    }
    let npy = write(at, "x.npy", b"\x93NUMPY\x01\x00");
    assert!(matches!(rows(&gathered(&[&first, &npy]).unwrap()), Err(E::NotInParts { .. })));
    // A row that is read twice is a person who counts twice.
    assert!(matches!(gathered(&[&first, &first]), Err(E::NamedTwice { .. })));
    assert!(matches!(gathered(&[&first, &at.join("a.*")]), Err(E::NamedTwice { .. })));
    #[cfg(unix)]
    {
        let link = at.join("link.csv");
        std::os::unix::fs::symlink(&first, &link).unwrap();
        assert!(matches!(gathered(&[&first, &link]), Err(E::NamedTwice { .. })));
        fs::remove_file(&link).unwrap();
        fs::hard_link(&first, &link).unwrap();
        assert!(matches!(gathered(&[&first, &link]), Err(E::NamedTwice { .. })));
    }
    let below = at.join("below");
    fs::create_dir(&below).unwrap();
    assert!(matches!(gathered(&[&below]), Err(E::NoFiles { .. })));
    assert!(matches!(gathered(&[&at.join("no-*.csv")]), Err(E::NoFiles { .. })));
    assert!(matches!(gathered(&[at]), Err(E::FolderWithin { .. })));
    let absent = gathered(&[&first, &at.join("absent.csv")]).unwrap();
    assert!(matches!(rows(&absent), Err(E::Read { .. })));
}

/// A Parquet file in a folder whose column `a` is given; of each other cell it holds 1.
fn parquet(folder: &Path, name: &str, a: ArrayRef) -> PathBuf {
    let path = folder.join(name);
    let b: ArrayRef = Arc::new(Int64Array::from(vec![1; a.len()]));
    let columns = [("a", a, true), ("b", b.clone(), true), ("y", b, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn types_may_differ_only_where_a_cell_means_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, a: ArrayRef| parquet(folder.path(), name, a);
    let whole = part("1.parquet", Arc::new(Int64Array::from(vec![1, 2])));
    // A program that meets a missing cell may write whole numbers as others, or nothing at all.
    let real = part("2.parquet", Arc::new(Float64Array::from(vec![Some(3.0), None])));
    let none = part("3.parquet", Arc::new(NullArray::new(2)));
    assert_eq!(rows(&gathered(&[&whole, &real, &none]).unwrap()).unwrap().len(), 6);
    let date = part("4.parquet", Arc::new(Date32Array::from(vec![1, 2])));
    let unlike = rows(&gathered(&[&whole, &date]).unwrap());
    assert!(matches!(unlike, Err(E::Unlike { .. })));
}

/// One cell that is no date makes a program write a column of texts.
#[test]
fn dates_and_texts_are_one_column() {
    const DATES: &str = r#"{"target": "y", "columns": [
        {"name": "a", "type": "date", "bounds": {"min": "1970-01-01", "max": "1970-01-11"}},
        {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let dates = parquet(folder.path(), "1.parquet", Arc::new(Date32Array::from(vec![1, 4])));
    let texts = Arc::new(StringArray::from(vec!["1970-01-02", "unknown", "1970-01-05"]));
    let texts = parquet(folder.path(), "2.parquet", texts);
    for order in [[&dates, &texts], [&texts, &dates]] {
        let file = gathered(&order.map(PathBuf::as_path)).unwrap();
        let rows = read(&file, None, &layout(DATES), true).unwrap();
        let found: Vec<_> = (0..5).map(|i| dense(&rows, i)).collect();
        assert_eq!((&found[0], &found[1]), (&found[2], &found[4]));
        assert!(found[0] != found[1] && found[0] != found[3]);
    }
}

/// A column of lists without a list, or without an entry, has no type of its own.
#[test]
fn a_part_without_an_entry_of_a_vector_is_a_part() {
    const VECTOR: &str = r#"{"target": "y", "columns": [
        {"name": "a", "type": "vector", "dimension": 2, "bounds": {"min": -1, "max": 1}},
        {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let entries = [[0.5, -0.5], [0.25, 1.0]].map(|row| Some(row.map(Some)));
    let full = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(entries));
    let full = parquet(folder.path(), "1.parquet", full);
    let null = parquet(folder.path(), "2.parquet", Arc::new(NullArray::new(2)));
    let mut lists = ListBuilder::new(NullBuilder::new());
    lists.append_null();
    lists.values().append_nulls(2);
    lists.append(true);
    let empty = parquet(folder.path(), "3.parquet", Arc::new(lists.finish()));
    for order in [[&full, &null, &empty], [&null, &full, &empty], [&empty, &null, &full]] {
        let file = gathered(&order.map(PathBuf::as_path)).unwrap();
        let rows = read(&file, None, &layout(VECTOR), true).unwrap();
        let zeros = (0..6).filter(|i| dense(&rows, *i)[..2] == [0.0, 0.0]).count();
        assert_eq!((rows.len(), zeros), (6, 4));
    }
}

/// Identifiers of one person are one unit, whichever type the column has in a part.
#[test]
fn a_person_is_one_unit_in_parts_of_every_type() {
    use reticent_problem::Unit;
    let folder = tempfile::tempdir().unwrap();
    let ids = [7, 30_000_000, -12, 9_007_199_254_740_992];
    let reals: Vec<f64> = ids.iter().map(|id| *id as f64).collect();
    let decimals = Decimal128Array::from_iter_values(ids.map(|id| i128::from(id) * 100));
    let decimals = decimals.with_precision_and_scale(30, 2).unwrap();
    let numbers: [ArrayRef; 4] = [
        Arc::new(Int64Array::from(ids.to_vec())),
        Arc::new(Float64Array::from(reals)),
        Arc::new(decimals),
        Arc::new(StringArray::from_iter_values(ids.map(|id| id.to_string()))),
    ];
    let days = [0, 19_782, 4, 5].map(|day| day * 86_400);
    let moments: [ArrayRef; 4] = [
        Arc::new(Date32Array::from(days.map(|day| (day / 86_400) as i32).to_vec())),
        Arc::new(TimestampSecondArray::from(days.to_vec())),
        Arc::new(TimestampNanosecondArray::from(days.map(|day| day * 1_000_000_000).to_vec())),
        Arc::new(
            TimestampMillisecondArray::from(days.map(|d| d * 1000).to_vec())
                .with_timezone("+00:00"),
        ),
    ];
    let truths: [ArrayRef; 2] = [
        Arc::new(BooleanArray::from(vec![true, false])),
        Arc::new(StringArray::from(vec!["True", "FALSE"])),
    ];
    for (kind, parts) in [("n", &numbers[..]), ("t", &moments), ("b", &truths)] {
        let units = parts[0].len();
        let paths: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(i, a)| parquet(folder.path(), &format!("{kind}{i}.parquet"), a.clone()))
            .collect();
        let file = gathered(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>()).unwrap();
        let unit = Unit::new("a", 9).unwrap();
        for bounded in [false, true] {
            assert_eq!(count_units(&file, &unit, bounded).unwrap(), units, "{kind}");
        }
        let keys = unit_keys(&file, &unit).unwrap();
        let (first, others) = keys.split_at(units);
        assert!(others.chunks(units).all(|part| part == first), "{keys:?}");
    }
}

/// A workbook with the table on its second sheet, whose name is `patients`.
fn workbook(at: &Path) -> PathBuf {
    let mut book = Workbook::new();
    book.add_worksheet().write(0, 0, "nothing here").unwrap();
    let sheet = book.add_worksheet().set_name("patients").unwrap();
    for (column, name) in [" a ", "b", "when", "y"].into_iter().enumerate() {
        sheet.write(1, column as u16, name).unwrap();
    }
    let date = Format::new().set_num_format("yyyy-mm-dd");
    let day = ExcelDateTime::from_ymd(2024, 2, 29).unwrap();
    sheet.write(2, 0, 1.5).unwrap();
    sheet.write(2, 1, "u").unwrap();
    sheet.write_with_format(2, 2, &day, &date).unwrap();
    sheet.write(2, 3, true).unwrap();
    // A line without a cell; a missing number, a category that is a number.
    sheet.write(4, 1, 1).unwrap();
    sheet.write_with_format(4, 2, day.clone().and_hms(12, 30, 0).unwrap(), &date).unwrap();
    sheet.write(4, 3, 0).unwrap();
    sheet.write(5, 0, "7").unwrap();
    sheet.write(5, 1, "v").unwrap();
    sheet.write(5, 3, "1").unwrap();
    let path = at.join("book.xlsx");
    book.save(&path).unwrap();
    path
}

#[test]
fn a_sheet_means_the_same_as_its_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = workbook(folder.path());
    let csv = b"a,b,when,y\n1.5,u,2024-02-29,1\n,,,\n,1,2024-02-29T12:30:00,0\n7,v,,1\n";
    let csv = write(folder.path(), "t.csv", csv);
    let file = TableFile::new(&path).on_sheet("patients");
    let layout = layout(SCHEMA);
    assert!(read(&file, None, &layout, true).unwrap() == read(&csv, None, &layout, true).unwrap());
    assert_eq!(count_rows(&file).unwrap(), 4);
    let names = ["when".to_owned(), "a".to_owned()];
    assert_eq!(column_texts(&file, &names).unwrap(), column_texts(&csv, &names).unwrap());
    let found: Vec<String> = columns(&file).unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(found, ["a", "b", "when", "y"]);

    let first = read(&path, None, &layout, true);
    assert!(matches!(first, Err(E::MissingColumn { column, .. }) if column == "a"));
    let other = read(TableFile::new(&path).on_sheet("doctors"), None, &layout, true);
    assert!(matches!(other, Err(E::UnknownSheet { .. })));
    let streamed =
        read_blocks(&file, &Encoder::new(&layout), 2, false, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(streamed, Err(E::NotInBlocks { .. })));
    // A workbook by its first bytes, whatever its name.
    let renamed = folder.path().join("book.bin");
    fs::copy(&path, &renamed).unwrap();
    assert_eq!(count_rows(TableFile::new(&renamed).on_sheet("patients")).unwrap(), 4);
}

/// A zip file of texts, each stored as it is.
fn stored(entries: &[(&str, String)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in entries {
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let size = text.len() as u32;
        let mut facts = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x58];
        for number in [crc.sum(), size, size, name.len() as u32] {
            facts.extend(number.to_le_bytes());
        }
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&facts);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&facts);
        bytes.extend(name.as_bytes());
        bytes.extend(text.as_bytes());
    }
    let (start, count) = (bytes.len() as u32, entries.len() as u16);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// A workbook whose one sheet has these rows, as XML.
fn sheet_of(rows: &str) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let entries = [
        (
            "_rels/.rels",
            format!(
                r#"<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                r#"<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                r#"<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!(r#"<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>"#),
        ),
    ];
    stored(&entries)
}

/// Rows of a sheet from texts of cells, `type=content`, a blank one for none.
fn rows_of(rows: &[[&str; 4]]) -> String {
    let mut xml = String::new();
    for (i, row) in rows.iter().enumerate() {
        xml.push_str("<row>");
        for (column, cell) in "ABCD".chars().zip(row) {
            if let Some((kind, content)) = cell.split_once('=') {
                let place = i + 1;
                write!(xml, r#"<c r="{column}{place}" t="{kind}"><v>{content}</v></c>"#).unwrap();
            }
        }
        xml.push_str("</row>");
    }
    xml
}

/// A cell that Excel would not write ends no run, and changes its own row alone.
#[test]
fn a_cell_that_cannot_be_read_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let with = |cell: &str| {
        let header = ["str=a", "str=b", "str=y", ""];
        let table = [header, [cell, "str=u", "n=0", ""], ["n=2", "str=v", "n=1", ""]];
        write(folder.path(), "t.xlsx", &sheet_of(&rows_of(&table)))
    };
    let missing = read(&with(""), None, &layout, true).unwrap();
    assert_eq!(missing.len(), 2);
    assert!(read(&with("n=1"), None, &layout, true).unwrap() != missing);
    for cell in ["e=oops", "b=2", "b=perhaps", "n=1,5", "s=77", "odd=1", "e=#N/A"] {
        let path = with(cell);
        assert!(read(&path, None, &layout, true).unwrap() == missing, "{cell}");
        assert_eq!(count_rows(&path).unwrap(), 2, "{cell}");
    }
    // Not a cell but the file is broken.
    let header = rows_of(&[["str=a", "str=b", "str=y", ""]]);
    let place = format!(r#"{header}<row><c r="?" t="n"><v>1</v></c></row>"#);
    let path = write(folder.path(), "t.xlsx", &sheet_of(&place));
    assert!(matches!(read(&path, None, &layout, true), Err(E::Corrupt { .. })));
}

/// What strays beside a table decides neither its columns nor whether it is like another.
#[test]
fn a_sheet_is_the_columns_under_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let header = ["", "str=a", "str=b", "str=y"];
    let row = ["", "n=1", "str=u", "n=0"];
    let clean = [["str=a", "str=b", "str=y", ""], ["n=1", "str=u", "n=0", ""]];
    let strays =
        [header, row, ["", "", "", ""], ["", "n=2", "str=v", "n=1"], ["str=note", "", "", ""]];
    let far = r#"<row r="2"><c r="XFD2"><v>1</v></c></row>"#;
    let clean = format!("{}{far}", rows_of(&clean));
    let clean = write(folder.path(), "1.xlsx", &sheet_of(&clean));
    let strays = write(folder.path(), "2.xlsx", &sheet_of(&rows_of(&strays)));
    for path in [&clean, &strays] {
        let names: Vec<_> = columns(path).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["a", "b", "y"]);
    }
    // The blank row between two others is one, those below the last are none.
    assert_eq!(count_rows(&clean).unwrap(), 1);
    assert_eq!(count_rows(&strays).unwrap(), 3);
    assert_eq!(rows_in_memory(&[&clean, &strays]), 4);
}

fn rows_in_memory(paths: &[&PathBuf]) -> usize {
    let paths: Vec<_> = paths.iter().map(|path| path.as_path()).collect();
    read(gathered(&paths).unwrap(), None, &layout(SCHEMA), true).unwrap().len()
}

#[test]
fn a_damaged_workbook_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read(workbook(folder.path())).unwrap();
    for end in (0..good.len()).step_by(37) {
        let path = write(folder.path(), "cut.xlsx", &good[..end]);
        assert!(count_rows(&path).is_err(), "{end}");
    }
    for place in (0..good.len()).step_by(11) {
        let mut bytes = good.clone();
        bytes[place] ^= 0x55;
        // Any result is right but a panic.
        let path = write(folder.path(), "changed.xlsx", &bytes);
        let _ = read(TableFile::new(&path).on_sheet("patients"), None, &layout(SCHEMA), true);
    }
}
