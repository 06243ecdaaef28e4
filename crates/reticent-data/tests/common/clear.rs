//! A sensitive value as a test sees it.

use reticent_data::{Mechanism, Sensitive};

struct InTheClear;

impl<T: Default> Mechanism<T> for InTheClear {
    type Output = T;

    fn release(self, value: &mut T) -> T {
        std::mem::take(value)
    }
}

/// The value itself, without noise: for tests alone.
#[must_use]
#[allow(unreachable_pub, reason = "shared by path")]
pub fn in_the_clear<T: Default>(mut value: Sensitive<T>) -> T {
    value.release(InTheClear)
}
