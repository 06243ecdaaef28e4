//! The cost of an input: processor time and memory, with a time limit for inputs that never end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an input may take before the process gives up on it, whatever else the machine does.
const ENDLESS: Duration = Duration::from_secs(300);

/// The input that is being read.
static NOW: Mutex<Option<(Instant, &'static str, Vec<u8>)>> = Mutex::new(None);

/// Processor time of this process, in all threads.
#[cfg(unix)]
pub(crate) fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Time on the wall, where the system is not asked for more.
#[cfg(not(unix))]
pub(crate) fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}

/// The most memory that this process held since [`forget_peak`]; 0 where the system does not say.
pub(crate) fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// Begins a new count for [`peak`].
pub(crate) fn forget_peak() {
    _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Tells the guard of an input.
pub(crate) fn begin(target: &'static str, input: &[u8]) {
    let mut now = NOW.lock().unwrap_or_else(PoisonError::into_inner);
    *now = Some((Instant::now(), target, input.to_vec()));
}

/// The input is done with.
pub(crate) fn end() {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Watches from a thread of its own, and calls `give_up` with target and input if one takes without
/// end.
pub fn guard(give_up: impl Fn(&str, &[u8]) + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(5));
            let now = NOW.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some((since, target, input)) = now
                && since.elapsed() > ENDLESS
            {
                give_up(target, &input);
            }
        }
    });
}
