//! What was computed from rows and has not been paid for.

/// A value that depends on the rows and carries no noise yet.
///
/// It has no `Debug`, `Display` or `Serialize`, so it cannot reach a log, an error or a file by accident:
///
/// ```compile_fail
/// println!("{:?}", reticent_data::Sensitive::new(1.0));
/// ```
///
/// Arithmetic stays inside ([`Sensitive::map`], [`Sensitive::update`]). [`Sensitive::disclose`] is the only exit,
/// and only the functions that add noise may call it; a test reads the sources and holds them to it.
#[derive(Clone)]
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Wraps a value. Anything may go in; a public value only becomes harder to use.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Computes on the value, staying inside.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Sensitive<U> {
        Sensitive(f(self.0))
    }

    /// Changes the value in place.
    pub fn update(&mut self, f: impl FnOnce(&mut T)) {
        f(&mut self.0);
    }

    /// Changes the value in place with another sensitive value.
    pub fn update_with<U>(&mut self, other: &Sensitive<U>, f: impl FnOnce(&mut T, &U)) {
        f(&mut self.0, &other.0);
    }

    /// Takes the value out. The caller vouches that an event pays for it.
    pub fn disclose(self) -> T {
        self.0
    }
}
