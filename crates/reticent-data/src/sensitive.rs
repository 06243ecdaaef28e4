//! Values computed from rows that no event has paid for yet.

/// A value that depends on the rows and carries no noise yet.
///
/// It has no `Debug`, `Display` or `Serialize`, so it cannot reach a log, an error or a file by accident:
///
/// ```compile_fail
/// println!("{:?}", reticent_data::Sensitive::new(1.0));
/// ```
///
/// Arithmetic stays inside: [`Sensitive::map`], [`Sensitive::update`] and [`Sensitive::update_with`]
/// take functions that cannot write to anything but the value:
///
/// ```compile_fail
/// let mut outside = 0.0;
/// reticent_data::Sensitive::new(1.0).update(|inside| outside = *inside);
/// ```
///
/// There are two exits, [`Sensitive::disclose`] and [`Sensitive::expose`]. A test reads the sources
/// and lists every place that calls one: the functions that add the noise an event pays for, and the
/// solver of objective perturbation, which computes on plain numbers and seals its result again.
/// The oracles of this crate, which write sums in, use `compute`; nobody else can.
#[derive(Clone)]
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Wraps a value. Anything may go in; a public value only becomes harder to use.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Computes on the value, staying inside.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Sensitive<U> {
        Sensitive(f(self.0))
    }

    /// Changes the value in place.
    pub fn update(&mut self, f: impl Fn(&mut T)) {
        f(&mut self.0);
    }

    /// Changes the value in place with another sensitive value.
    pub fn update_with<U>(&mut self, other: &Sensitive<U>, f: impl Fn(&mut T, &U)) {
        f(&mut self.0, &other.0);
    }

    /// Writes what an oracle computes from the rows, with memory of its own to compute in.
    pub(crate) fn compute(&mut self, f: impl FnOnce(&mut T)) {
        f(&mut self.0);
    }

    /// As [`Self::compute`], at another sensitive value.
    pub(crate) fn compute_at<U>(&mut self, at: &Sensitive<U>, f: impl FnOnce(&mut T, &U)) {
        f(&mut self.0, &at.0);
    }

    /// Takes the value out: an exit. The caller vouches that an event pays for it.
    pub fn disclose(self) -> T {
        self.0
    }

    /// Shows the value to a function that may write elsewhere: an exit. The caller vouches that an
    /// event pays for all that the function lets out, or that it is sealed again.
    #[inline(always)]
    pub fn expose<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0)
    }
}
