//! NumPy `.npy` files, versions 1 to 3: numbers of every width, in C or Fortran order.
//!
//! An array of more than two axes is a matrix with a row for each index of the first axis.

use super::numbers::{Numbers, Scalar};
use crate::error::TableError;

const FORMAT: &str = "NumPy .npy";

fn corrupt(file: &str, why: &'static str) -> TableError {
    TableError::Corrupt { file: file.to_owned(), format: FORMAT, why }
}

/// Read the header; the numbers stay as they are.
pub(super) fn parse(file: &str, bytes: Vec<u8>) -> Result<Numbers, TableError> {
    let (header, start) =
        header(&bytes).ok_or_else(|| corrupt(file, "its header is damaged; save it again"))?;
    let field = |name: &str| value_of(header, name);
    let damaged = || corrupt(file, "its header is damaged; save it again");
    let descr = field("descr").and_then(quoted).ok_or_else(|| {
        corrupt(file, "it holds records or objects; save a plain array of numbers")
    })?;
    let (big_endian, scalar) = scalar(descr).ok_or_else(|| {
        corrupt(
            file,
            "its numbers are of an unknown type; save integers or floats of at most 64 bits",
        )
    })?;
    let by_column = match field("fortran_order").ok_or_else(damaged)? {
        order if order.starts_with("True") => true,
        order if order.starts_with("False") => false,
        _ => return Err(damaged()),
    };
    let shape = field("shape").and_then(shape).ok_or_else(damaged)?;
    if shape.is_empty() {
        return Err(corrupt(file, "it holds a single number; save an array with a row for each"));
    }
    if by_column && shape.len() > 2 {
        return Err(corrupt(
            file,
            "it has more than two axes in Fortran order; save numpy.ascontiguousarray of it",
        ));
    }
    let numbers = Numbers { bytes, start, scalar, big_endian, shape, by_column };
    if numbers.is_whole() {
        Ok(numbers)
    } else {
        Err(corrupt(file, "its size does not fit its header; it is truncated or damaged"))
    }
}

/// The header's text, and where the numbers start.
fn header(bytes: &[u8]) -> Option<(&str, usize)> {
    let major = *bytes.strip_prefix(b"\x93NUMPY")?.first()?;
    let (length, from) = match major {
        1 => (u32::from(u16::from_le_bytes([*bytes.get(8)?, *bytes.get(9)?])), 10),
        2 | 3 => (u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?), 12),
        _ => return None,
    };
    let start = from + usize::try_from(length).ok()?;
    Some((std::str::from_utf8(bytes.get(from..start)?).ok()?, start))
}

/// The text after `'name':` in the header's dictionary.
fn value_of<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = header.split_once(&format!("'{name}'"))?;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

fn quoted(value: &str) -> Option<&str> {
    value.strip_prefix('\'')?.split_once('\'').map(|(text, _)| text)
}

/// Byte order and type of a NumPy type string such as `<f4`.
fn scalar(descr: &str) -> Option<(bool, Scalar)> {
    let (order, kind) = descr.split_at_checked(1)?;
    let scalar = match kind {
        "u1" | "b1" => Scalar::U8,
        "u2" => Scalar::U16,
        "u4" => Scalar::U32,
        "u8" => Scalar::U64,
        "i1" => Scalar::I8,
        "i2" => Scalar::I16,
        "i4" => Scalar::I32,
        "i8" => Scalar::I64,
        "f2" => Scalar::F16,
        "f4" => Scalar::F32,
        "f8" => Scalar::F64,
        _ => return None,
    };
    match order {
        "<" | "|" | "=" => Some((false, scalar)),
        ">" => Some((true, scalar)),
        _ => None,
    }
}

fn shape(value: &str) -> Option<Vec<usize>> {
    let (inside, _) = value.strip_prefix('(')?.split_once(')')?;
    inside
        .split(',')
        .map(str::trim)
        .filter(|axis| !axis.is_empty())
        .map(|axis| axis.parse().ok())
        .collect()
}
