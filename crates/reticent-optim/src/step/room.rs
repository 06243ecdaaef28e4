//! Room for numbers that begins where a line of the cache begins.
//!
//! A vector of the widest registers is a line long: begun elsewhere, every one of them lies across
//! two lines, which costs a step on fifty weights some nanoseconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Room for a vector.
pub(crate) struct Room {
    first: usize,
    len: usize,
    wide: Vec<f64>,
}

impl Room {
    /// Room for `len` numbers.
    pub(crate) fn new(len: usize) -> Self {
        let wide = vec![0.0; len + LINE / size_of::<f64>() - 1];
        // Where this cannot be told, any place is as good.
        let first = wide.as_ptr().align_offset(LINE).min(wide.len() - len);
        Self { first, len, wide }
    }

    /// How many numbers it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The vector, zero at first.
    pub(crate) fn numbers(&mut self) -> &mut [f64] {
        &mut self.wide[self.first..self.first + self.len]
    }
}

impl Serialize for Room {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.wide[self.first..self.first + self.len].serialize(to)
    }
}

impl<'de> Deserialize<'de> for Room {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let numbers = Vec::<f64>::deserialize(from)?;
        let mut room = Self::new(numbers.len());
        room.numbers().copy_from_slice(&numbers);
        Ok(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_begins_with_a_line_and_stays_where_it_is() {
        for len in [0, 1, 7, 8, 50, 1000] {
            let mut room = Room::new(len);
            let numbers = room.numbers();
            assert_eq!(numbers, vec![0.0; len]);
            assert_eq!(numbers.as_ptr().addr() % LINE, 0);
            numbers.fill(1.0);
            assert!(room.numbers().iter().all(|x| *x == 1.0));
        }
    }
}
