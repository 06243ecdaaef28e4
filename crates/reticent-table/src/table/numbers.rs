//! Arrays of numbers as bytes: what NumPy and IDX files hold after their headers.

/// The type of a stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// How many bytes a number takes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

/// An array of numbers in a file.
pub(super) struct Numbers {
    pub(super) bytes: Vec<u8>,
    /// Where the numbers start.
    pub(super) start: usize,
    pub(super) scalar: Scalar,
    pub(super) big_endian: bool,
    /// The lengths of the axes; the first counts rows.
    pub(super) shape: Vec<usize>,
    /// Whether a matrix is stored column after column.
    pub(super) by_column: bool,
}

impl Numbers {
    /// How many rows.
    pub(super) fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// How many numbers a row has. An array without rows may claim more than fit: then it is the
    /// largest number.
    pub(super) fn columns(&self) -> usize {
        self.shape.iter().skip(1).fold(1, |n, &k| n.saturating_mul(k))
    }

    /// Whether the bytes are exactly what the shape asks for.
    pub(super) fn is_whole(&self) -> bool {
        let numbers = self.shape.iter().try_fold(1_usize, |n, &k| n.checked_mul(k));
        let bytes = numbers.and_then(|n| n.checked_mul(self.scalar.size()));
        bytes.and_then(|n| n.checked_add(self.start)) == Some(self.bytes.len())
    }

    /// How to find and read the number in a row and column of a whole array.
    pub(super) fn getter(&self) -> impl Fn(usize, usize) -> f64 {
        let size = self.scalar.size();
        let (down, right) = if self.by_column {
            (size, size.saturating_mul(self.rows()))
        } else {
            (size.saturating_mul(self.columns()), size)
        };
        let data = &self.bytes[self.start..];
        move |row, column| {
            let at = row * down + column * right;
            self.scalar.read(&data[at..at + size], self.big_endian)
        }
    }
}

impl Scalar {
    fn read(self, stored: &[u8], big_endian: bool) -> f64 {
        if let (Self::U8, [byte]) = (self, stored) {
            return f64::from(*byte);
        }
        let mut buffer = [0_u8; 8];
        let bytes = &mut buffer[..stored.len()];
        bytes.copy_from_slice(stored);
        if big_endian {
            bytes.reverse();
        }
        // Little-endian now, with zeros above.
        let bits = u64::from_le_bytes(buffer);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => bits as f64,
            Self::I8 => f64::from(bits as i8),
            Self::I16 => f64::from(bits as i16),
            Self::I32 => f64::from(bits as i32),
            Self::I64 => bits as i64 as f64,
            Self::F16 => half(bits as u16),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
        }
    }
}

/// A half-precision number: 1 bit of sign, 5 of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let fraction = u64::from(bits & 0x3ff);
    let magnitude = match u64::from((bits >> 10) & 0x1f) {
        0 => fraction as f64 * f64::from_bits((1023 - 24) << 52),
        31 if fraction == 0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => f64::from_bits((exponent + 1023 - 15) << 52 | fraction << 42),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read_exactly() {
        let cases = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2_f64.powi(-24)),
            (0x0400, 2_f64.powi(-14)),
            (0x3555, 0.333_251_953_125),
            (0x7c00, f64::INFINITY),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn both_byte_orders_and_both_storage_orders_are_read() {
        let numbers = |bytes: &[u8], scalar, big_endian, by_column| Numbers {
            bytes: bytes.to_vec(),
            start: 0,
            scalar,
            big_endian,
            shape: vec![2, 2],
            by_column,
        };
        let bytes = [1, 0, 2, 0, 3, 0, 0xff, 0xff];
        let rows = numbers(&bytes, Scalar::I16, false, false);
        assert!(rows.is_whole());
        assert_eq!(
            [rows.getter()(0, 1), rows.getter()(1, 0), rows.getter()(1, 1)],
            [2.0, 3.0, -1.0]
        );
        assert_eq!(numbers(&bytes, Scalar::I16, false, true).getter()(0, 1), 3.0);
        assert_eq!(numbers(&bytes, Scalar::U16, true, false).getter()(0, 1), 512.0);
        assert!(!numbers(&bytes, Scalar::F32, false, false).is_whole());
    }
}
