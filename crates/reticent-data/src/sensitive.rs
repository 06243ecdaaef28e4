//! Values computed from rows that no event has paid for yet.

use crate::OracleError;

/// A value that depends on the rows and carries no noise yet.
///
/// It has no `Debug`, `Display` or `Serialize`, so it cannot reach a log, an error or a file by
/// accident:
///
/// ```compile_fail
/// println!("{:?}", reticent_data::Sensitive::new(1.0));
/// ```
///
/// Arithmetic stays inside: [`Sensitive::map_inside`], [`Sensitive::update_inside`] and
/// [`Sensitive::update_inside_with`] take functions that borrow what is around them without the
/// right to change it, not even through a cell:
///
/// ```compile_fail
/// let mut outside = 0.0;
/// reticent_data::Sensitive::new(1.0).update_inside(|inside| outside = *inside);
/// ```
///
/// ```compile_fail
/// let outside = std::cell::Cell::new(0.0);
/// reticent_data::Sensitive::new(1.0).update_inside(|inside| outside.set(*inside));
/// ```
///
/// The same holds for a computation in [`Sensitive::within`], which may branch on what it sees and
/// whose result is sealed. Types cannot exclude a lock, an atomic number, a printed line or a panic
/// inside such a function: a test reads the functions that are given, file by file, and looks for
/// these.
///
/// There is one exit, [`Sensitive::release`] with a [`Mechanism`]. A test reads the sources and
/// lists every mechanism. The oracles of this crate, which write sums in, use `compute`; nobody
/// else can.
#[derive(Clone)]
pub struct Sensitive<T>(T);

/// How a sensitive value becomes public: by the noise that an event pays for.
///
/// An implementation vouches that the output is what the event of the plan describes.
pub trait Mechanism<T> {
    /// The public output.
    type Output;

    /// Adds the noise. The content left in `value` is as sensitive as before.
    fn release(self, value: &mut T) -> Self::Output;
}

/// The key that opens sensitive values, inside [`Sensitive::within`] only.
pub struct Key(());

impl Key {
    /// The value, to compute with. It cannot be borrowed for longer than the key.
    pub fn open<'a, T>(&'a self, value: &'a mut Sensitive<T>) -> &'a mut T {
        &mut value.0
    }
}

/// Why a computation on sensitive values has no result. Neither depends on a row's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Withheld {
    /// The rows could not be asked.
    Oracle(OracleError),
    /// No result could be certified, which is proven not to happen, whatever the rows.
    NotCertified,
}

impl From<OracleError> for Withheld {
    fn from(error: OracleError) -> Self {
        Self::Oracle(error)
    }
}

impl<T> Sensitive<T> {
    /// Wraps a value. Anything may go in; a public value only becomes harder to use.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Computes on the value, staying inside.
    pub fn map_inside<U>(self, f: impl Fn(T) -> U + Sync) -> Sensitive<U> {
        Sensitive(f(self.0))
    }

    /// Changes the value in place.
    pub fn update_inside(&mut self, f: impl Fn(&mut T) + Sync) {
        f(&mut self.0);
    }

    /// Changes the value in place with another sensitive value.
    pub fn update_inside_with<U>(&mut self, other: &Sensitive<U>, f: impl Fn(&mut T, &U) + Sync) {
        f(&mut self.0, &other.0);
    }

    /// Computes with plain numbers and seals the result: for a solver whose next step depends on
    /// what it finds.
    ///
    /// # Errors
    ///
    /// [`Withheld`], as the computation says; it is not to depend on a row's value.
    pub fn within(f: impl Fn(&Key) -> Result<T, Withheld> + Sync) -> Result<Self, Withheld> {
        f(&Key(())).map(Self)
    }

    /// Makes the value public with noise: the only exit.
    #[inline(always)]
    pub fn release<M: Mechanism<T>>(&mut self, mechanism: M) -> M::Output {
        mechanism.release(&mut self.0)
    }

    /// Writes what an oracle computes from the rows, with memory of its own to compute in.
    #[inline(always)]
    pub(crate) fn compute<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0)
    }

    /// The point at which an oracle computes.
    pub(crate) fn point(&self) -> &T {
        &self.0
    }
}
