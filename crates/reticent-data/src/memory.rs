//! How much memory rows take, and how much there is.
//!
//! # Information in a refusal
//!
//! A table that does not fit is refused before anything is paid for. The refusal follows from
//! public numbers alone: the declared columns, the machine, and the number of rows that the plan
//! uses. Where the number of rows is private (add-remove adjacency) that is the declared number,
//! and the table may hold more rows than was declared. Then the reader meets the end of memory on
//! its own and gives up with a sentence that tells no number; that it gave up is a fact of the
//! machine's memory and of the table's size, which nothing hides from anyone who watches the
//! process.

use reticent_problem::declaration::{Layout, Precision};

use crate::kernel;

/// The program's other memory, roughly.
const OTHER_BYTES: u64 = 32 << 20;

/// Rows that do not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{rows} rows of {columns} encoded columns take {} of memory, and {} are available: give `--precision sparse` if most cells are zero, `--precision f32`, or stream the file with `--memory {}MB`",
    size(*needed), size(*available), (*available >> 21).max(64)
)]
pub struct TooLarge {
    /// The number of rows that the plan uses: public or declared.
    pub rows: usize,
    /// Encoded columns.
    pub columns: usize,
    /// Bytes that they take, at least.
    pub needed: u64,
    /// Bytes that there are.
    pub available: u64,
}

/// Whether so many rows of this layout, and a model of so many weights, fit into `available` bytes.
///
/// How many cells of sparse rows are filled is not known beforehand: they count as empty.
///
/// # Errors
///
/// [`TooLarge`].
pub fn check(layout: &Layout, rows: usize, weights: usize, available: u64) -> Result<(), TooLarge> {
    let columns = layout.dimension();
    let row = match layout.precision() {
        Precision::F32 => 4 * columns as u64,
        Precision::F64 => 8 * columns as u64,
        Precision::Sparse => 8 + 12 * u64::from(layout.intercept().is_some()),
    };
    let sums = numbers_of_sums(rows, weights) as u64;
    let rows_take = (row + 8).saturating_mul(rows as u64);
    let needed = rows_take.saturating_add(sums.saturating_mul(8)).saturating_add(OTHER_BYTES);
    if needed > available {
        return Err(TooLarge { rows, columns, needed, available });
    }
    Ok(())
}

/// Numbers that a run holds for its sums over so many rows at a time, and for a model of so many
/// weights.
pub fn numbers_of_sums(rows: usize, weights: usize) -> usize {
    kernel::scratch_len(rows, weights).saturating_add(weights.saturating_mul(48))
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 1024.0 {
        format!("{mebibytes:.0} MB")
    } else {
        format!("{:.1} GB", mebibytes / 1024.0)
    }
}

/// How many bytes this process may still take, if the system says so: the least of what the machine
/// has, swap included, what its control group allows, and what its limit on addresses leaves.
pub fn available() -> Option<u64> {
    let limits = [machine(), control_group(), addresses()];
    limits.into_iter().flatten().min()
}

fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kibibytes(&text, "MemAvailable:")? + kibibytes(&text, "SwapFree:").unwrap_or(0))
}

fn control_group() -> Option<u64> {
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let (most, used) = (number("memory.max")?, number("memory.current")?);
    // Of what is used, cached files can be given up.
    let stat = std::fs::read_to_string("/sys/fs/cgroup/memory.stat").unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok());
    Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

fn addresses() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kibibytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(used))
}

/// The number of bytes behind a name in a list of lines such as `VmSize: 12 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use reticent_problem::declaration::{BareTarget, Declaration, Encoding, VectorBounds};

    use super::*;

    #[test]
    fn rows_are_weighed_by_their_layout() {
        let target = BareTarget::Range { min: 0.0, max: 1.0 };
        let bounds = VectorBounds::Norm(1.0);
        let check = |precision, available| {
            let encoding = Encoding { precision, ..Encoding::default() };
            let declaration = Declaration::bare(49_999, bounds, &target).unwrap();
            check(&declaration.layout(&encoding).unwrap(), 20_000, 50_000, available)
        };
        let error = check(Precision::F64, 4 << 30).unwrap_err();
        assert!(error.needed > 8_000_000_000 && error.needed < 9_000_000_000, "{error:?}");
        let sentence = error.to_string();
        for word in ["20000 rows of 50000 encoded columns", "4.0 GB", "--precision sparse"] {
            assert!(sentence.contains(word), "{word}: {sentence}");
        }
        assert!(check(Precision::F32, 3 << 30).is_err() && check(Precision::F32, 6 << 30).is_ok());
        assert!(check(Precision::Sparse, 1 << 30).is_ok());
        assert!(check(Precision::Sparse, 1 << 20).is_err());
    }

    #[test]
    fn limits_are_read_as_the_system_writes_them() {
        assert_eq!(
            kibibytes("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", "MemAvailable:"),
            Some(2 << 20)
        );
        assert_eq!(kibibytes("MemTotal: 9 kB\n", "MemAvailable:"), None);
        if cfg!(target_os = "linux") {
            assert!(available().unwrap() > 1 << 20);
        }
    }
}
