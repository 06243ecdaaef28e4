//! Numbers as bytes and back, exactly, for what travels between machines. Reading never fails in
//! any other way than by finding nothing.

/// Writes little-endian numbers one after another.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn whole(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.whole(numbers.len() as u64);
        self.0.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    }

    pub(crate) fn wholes(&mut self, numbers: &[usize]) {
        self.whole(numbers.len() as u64);
        self.0.extend(numbers.iter().flat_map(|x| (*x as u64).to_le_bytes()));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.whole(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads what a [`Writer`] wrote.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next so many bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn whole(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A number of things, or a place among them.
    pub(crate) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.whole()?).ok()
    }

    pub(crate) fn numbers(&mut self) -> Option<Vec<f64>> {
        let count = self.count()?;
        Some(f64s(self.take(count.checked_mul(8)?)?))
    }

    pub(crate) fn wholes(&mut self) -> Option<Vec<usize>> {
        let count = self.count()?;
        let bytes = self.take(count.checked_mul(8)?)?;
        bytes.as_chunks().0.iter().map(|x| usize::try_from(u64::from_le_bytes(*x)).ok()).collect()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// Numbers that lie one after another.
pub(crate) fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect()
}

/// As [`f64s`], in single precision.
pub(crate) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect()
}
