//! A workbook as its parts, packed without compression, so that a mutant's parts keep good sums.

use flate2::Crc;

use crate::corpus::SECRET;

const TYPES: &str = r#"<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>"#;
const RELATIONS: &str = r#"<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const BOOK: &str = r#"<?xml version="1.0" encoding="UTF-8"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="clinic" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const SHEETS: &str = r#"<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#;
/// Shared texts, a text of its own, numbers, a truth value, an error, an empty cell.
const SHEET: &str = r#"<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:D4"/><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c><c r="D1" t="s"><v>3</v></c></row><row r="2"><c r="A2"><v>31</v></c><c r="B2" t="s"><v>4</v></c><c r="C2"><v>3</v></c><c r="D2" t="s"><v>5</v></c></row><row r="3"><c r="A3"><v>4.4</v></c><c r="B3" t="inlineStr"><is><t>internal</t></is></c><c r="D3" t="str"><v>no</v></c></row><row r="4"><c r="A4" t="e"><v>#N/A</v></c><c r="B4" t="b"><v>1</v></c><c r="C4"><v>9</v></c><c r="D4" t="s"><v>5</v></c></row></sheetData></worksheet>"#;

/// Names and contents of the parts of a good workbook.
pub(crate) fn parts() -> Vec<(&'static str, Vec<u8>)> {
    let texts = ["age", "ward", "visit", "back", SECRET, "yes"];
    let items = texts.map(|text| format!("<si><t>{text}</t></si>")).concat();
    let shared = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="6" uniqueCount="6">{items}</sst>"#
    );
    let part = |name: &'static str, text: &str| (name, text.as_bytes().to_vec());
    vec![
        part("[Content_Types].xml", TYPES),
        part("_rels/.rels", RELATIONS),
        part("xl/workbook.xml", BOOK),
        part("xl/_rels/workbook.xml.rels", SHEETS),
        part("xl/worksheets/sheet1.xml", SHEET),
        part("xl/sharedStrings.xml", &shared),
    ]
}

/// The parts as a zip archive, stored as they are.
pub(crate) fn pack(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, part) in parts {
        let mut sum = Crc::new();
        sum.update(part);
        let size = (part.len() as u32).to_le_bytes();
        // Version 2.0, no flags, stored, no time.
        let mut facts = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        facts.extend(sum.sum().to_le_bytes());
        facts.extend([size, size].concat());
        facts.extend((name.len() as u16).to_le_bytes());
        facts.extend([0, 0]);
        let at = (bytes.len() as u32).to_le_bytes();
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&facts);
        bytes.extend(name.as_bytes());
        bytes.extend(part);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&facts);
        directory.extend([0; 10]);
        directory.extend(at);
        directory.extend(name.as_bytes());
    }
    let (count, at) = ((parts.len() as u16).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].concat());
    bytes.extend([size, at].concat());
    bytes.extend([0, 0]);
    bytes
}
