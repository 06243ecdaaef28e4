//! Ctrl-C and SIGTERM: a charge whose run has not begun is given back, and what becomes of one that
//! has is said.
//!
//! The handlers belong to the command; the library installs none. A signal ends the process as it
//! would without them, once a charge that is being decided on is written or refused. A second one
//! does not wait.

use std::sync::{Mutex, MutexGuard, PoisonError};

use reticent::Error;
use reticent::ledger::Ledger;
use reticent::release::{Begun, Charged};

use crate::output;

/// The state of a payment at an interruption.
enum Phase {
    /// Nothing is paid for.
    Free,
    /// A charge that can be given back.
    Charged(Ledger, u64),
    /// A charge for which noise may have been drawn, and whether its run keeps a checkpoint.
    Begun(Ledger, u64, bool),
}

static PHASE: Mutex<Phase> = Mutex::new(Phase::Free);

fn phase() -> MutexGuard<'static, Phase> {
    PHASE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pays. An interruption waits for the end of it, so that it knows what to give back.
pub(crate) fn while_paying(pay: impl FnOnce() -> Result<Charged, Error>) -> Result<Charged, Error> {
    let mut phase = phase();
    let charged = pay()?;
    if let Some((ledger, charge)) = charged.refundable() {
        *phase = Phase::Charged(ledger.clone(), charge);
    }
    Ok(charged)
}

/// Begins: from here on noise may have been drawn. An interruption comes before it or after it.
/// `keeps` says whether the run keeps a checkpoint.
pub(crate) fn while_beginning(
    ledger: Option<&Ledger>,
    keeps: bool,
    begin: impl FnOnce() -> Result<Begun, Error>,
) -> Result<Begun, Error> {
    let mut phase = phase();
    let begun = begin()?;
    if let Some((ledger, payment)) = ledger.zip(begun.payment()) {
        *phase = Phase::Begun(ledger.clone(), payment.charge, keeps);
    }
    Ok(begun)
}

/// Says that nothing is waiting for this process any more.
pub(crate) fn over() {
    *phase() = Phase::Free;
}

impl Phase {
    /// Gives back what can be, and says how the charge stands; nothing if none was made.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no signals there"))]
    fn interrupt(&self) -> Option<String> {
        match self {
            Self::Free => None,
            Self::Charged(ledger, charge) => Some(match ledger.give_back(*charge) {
                Ok(waits) => format!(
                    "interrupted before noise was drawn; charge {charge} of {} {}",
                    ledger.path().display(),
                    if waits { "waits for the same command" } else { "was given back" }
                ),
                Err(error) => format!("interrupted; {error}"),
            }),
            Self::Begun(ledger, charge, keeps) => Some(format!(
                "interrupted; noise may have been drawn, so charge {charge} of {} stays paid{}",
                ledger.path().display(),
                if *keeps { "; go on with the same command and `--resume`" } else { "" }
            )),
        }
    }
}

/// Listens for signals. Where a file may not grow further, the write fails and says so instead of
/// ending the process.
#[cfg(unix)]
pub(crate) fn install() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let (ended, ignored) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // Without handlers everything is as safe, and less is said.
    _ = flag::register(SIGXFSZ, ignored);
    // Anyone who started this in the background, or with `nohup`, wants it to go on.
    let heard: Vec<i32> = [SIGINT, SIGTERM].into_iter().filter(|s| !is_ignored(*s)).collect();
    for &signal in &heard {
        _ = flag::register_conditional_default(signal, Arc::clone(&ended));
        _ = flag::register(signal, Arc::clone(&ended));
    }
    if let Ok(mut signals) = Signals::new(heard) {
        std::thread::spawn(move || {
            for signal in signals.forever() {
                // Held until the end: nothing more is paid or begun.
                let phase = phase();
                if let Some(sentence) = phase.interrupt() {
                    output::remark(&sentence);
                }
                _ = emulate_default_handler(signal);
            }
        });
    }
}

/// Whether the process was started with a signal ignored, as shells do with what runs in the
/// background. Linux tells; elsewhere it is taken that it was not.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).is_some_and(|m| m & 1 == 1))
}

/// Signals are heard on Unix alone.
#[cfg(not(unix))]
pub(crate) fn install() {}
