//! Room for numbers that begins where a line of the cache begins.
//!
//! A vector of the widest registers is a line long: begun elsewhere, every one of them lies across two lines, which costs a step
//! on fifty weights some nanoseconds.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Room for a vector.
pub(crate) struct Room {
    len: usize,
    wide: Vec<f64>,
}

impl Room {
    /// Room for `len` numbers.
    pub(crate) fn new(len: usize) -> Self {
        Self { len, wide: vec![0.0; len + LINE / size_of::<f64>() - 1] }
    }

    /// The vector, zero at first.
    pub(crate) fn numbers(&mut self) -> &mut [f64] {
        // Where this cannot be told, any place is as good.
        let first = self.wide.as_ptr().align_offset(LINE).min(self.wide.len() - self.len);
        &mut self.wide[first..first + self.len]
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
