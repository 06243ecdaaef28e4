//! Threads: those that a process shares, and those of a run that stay awake between its steps.
//!
//! # Shared threads
//!
//! Parallel work outside a pool of its own runs in one pool that this process made ([`shared`]),
//! never in the one that rayon itself starts. Threads do not survive a fork, so a child that came
//! to use its parent's pool would wait for them forever; it finds that the pool belongs to another
//! process and makes its own. Locks may be held by a thread that the child does not have:
//! [`lock_briefly`] gives up on those.
//!
//! # Threads that stay awake
//!
//! A step of a fraction of a millisecond has several parts that all threads share, with short parts
//! in between that one does alone. A thread that has slept meanwhile must be woken through the
//! system, which takes as long as its share of the work. So while a method runs in a pool of its
//! own, the threads look for work again and again, and go to sleep only after `PATIENCE` without
//! any. Threads that are shared with others (no pool is given) are left alone: a run would wait for
//! whatever they take up.

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};

/// A pool that is never dropped, and the process that made it.
type Made = (u32, &'static ThreadPool);

/// The pool of the process that last asked for one.
static SHARED: Mutex<Option<Made>> = Mutex::new(None);

thread_local! {
    /// The pool that this thread used last.
    static KNOWN: Cell<Option<Made>> = const { Cell::new(None) };
}

/// How long a lock is waited for that nobody holds for longer than it takes to look something up.
const BRIEFLY: Duration = Duration::from_millis(20);

/// Runs parallel work on the threads of the pool that this is called from, or else on those that
/// the process shares.
pub fn shared<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    let (mut work, mut result) = (Some(work), None);
    from_outside(&mut || result = work.take().map(|work| work()));
    result.unwrap_or_else(|| unreachable!("work that was run has a result"))
}

/// As [`shared`] for a thread of no pool, compiled once for all kinds of work.
fn from_outside(work: &mut (dyn FnMut() + Send)) {
    match of_this_process() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Runs `work(number, part)` on all parts of `len` items, in parallel as [`shared`] does. Compiled
/// once for each type of item: a virtual call for each part is nothing beside the part.
pub(crate) fn in_parts<T: Send>(
    all: &mut [T],
    len: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    shared(|| all.par_chunks_mut(len).enumerate().for_each(|(i, part)| work(i, part)));
}

/// The pool of this process; none if threads cannot be started.
fn of_this_process() -> Option<&'static ThreadPool> {
    let process = std::process::id();
    let own = |made: Option<Made>| made.filter(|(by, _)| *by == process).map(|(_, pool)| pool);
    if let Some(pool) = own(KNOWN.get()) {
        return Some(pool);
    }
    let mut last = lock_briefly(&SHARED);
    let pool = match last.as_deref().and_then(|last| own(*last)) {
        Some(pool) => pool,
        None => start()?,
    };
    if let Some(last) = &mut last {
        **last = Some((process, pool));
    }
    KNOWN.set(Some((process, pool)));
    Some(pool)
}

/// A pool with a thread for each core. It is never dropped: in a child, dropping that of the parent
/// would speak to threads that are not there.
fn start() -> Option<&'static ThreadPool> {
    let pool = ThreadPoolBuilder::new().thread_name(|i| format!("reticent-{i}")).build().ok()?;
    Some(Box::leak(Box::new(pool)))
}

/// Takes a lock that is only ever held for a moment; none if it stays taken, as one does that
/// another thread of the parent held when this process was forked.
pub fn lock_briefly<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let since = Instant::now();
    loop {
        match mutex.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(held)) => return Some(held.into_inner()),
            Err(TryLockError::WouldBlock) if since.elapsed() > BRIEFLY => return None,
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
}

/// How long a thread without work stays awake. A pause this long ends its watch: the method has
/// little to share, or waits itself. It must be short: a thread that watches while it waits, inside
/// a part of `work` that it took before its watch began, keeps `work` waiting for as long.
const PATIENCE: Duration = Duration::from_millis(10);

/// Rounds of looking for work between two looks at the clock.
const LOOKS: usize = 64;

/// Runs `work` in the pool and keeps its threads awake; right here if there is no pool.
pub(crate) fn run(pool: Option<&ThreadPool>, work: &mut (dyn FnMut() + Send)) {
    match pool {
        None => work(),
        Some(pool) if pool.current_num_threads() == 1 || pool.current_thread_index().is_some() => {
            pool.install(work);
        }
        Some(pool) => pool.install(|| awake(work)),
    }
}

/// Runs `work` on this thread of a pool while the others look out for its parts.
fn awake(work: &mut (dyn FnMut() + Send)) {
    let ended = AtomicBool::new(false);
    let here = rayon::current_thread_index();
    rayon::scope(|scope| {
        // Each thread has a watch of its own that no other can take over: were this one to do so
        // while it waits for a part of `work`, `work` would wait for the watch and the watch for
        // `work`.
        scope.spawn_broadcast(|_, thread| {
            if Some(thread.index()) != here {
                watch(&ended);
            }
        });
        let _end = End(&ended);
        work();
    });
}

/// Ends all watches when it goes, also when `work` panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Does what there is to do until `work` has ended, or until there was nothing for a while.
fn watch(ended: &AtomicBool) {
    let mut since = Instant::now();
    while since.elapsed() <= PATIENCE {
        for _ in 0..LOOKS {
            if ended.load(Ordering::Acquire) {
                return;
            }
            match rayon::yield_now() {
                Some(Yield::Executed) => since = Instant::now(),
                Some(Yield::Idle) => spin_loop(),
                None => return,
            }
        }
        thread::yield_now(); // there may be more threads than cores
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn shared_work_runs_in_one_pool_and_a_pool_of_another_process_is_replaced() {
        let count = || shared(|| (0..100_u64).into_par_iter().sum::<u64>());
        assert_eq!(count(), 4950);
        let first = of_this_process().unwrap();
        assert!(std::ptr::eq(first, of_this_process().unwrap()));
        let elsewhere = thread::spawn(|| of_this_process().unwrap()).join().unwrap();
        assert!(std::ptr::eq(first, elsewhere), "all threads share it");
        // As it is in a child, for anyone who looks here and for anyone who looks there.
        let strange = Some((std::process::id().wrapping_add(1), first));
        KNOWN.set(strange);
        *lock_briefly(&SHARED).unwrap() = strange;
        let own = of_this_process().unwrap();
        assert!(!std::ptr::eq(first, own), "the other process's threads are not here");
        assert_eq!(count(), 4950);
    }

    #[test]
    fn a_lock_that_stays_taken_is_given_up() {
        let lock = Mutex::new(1);
        let held = lock.lock().unwrap();
        assert!(lock_briefly(&lock).is_none());
        drop(held);
        assert_eq!(lock_briefly(&lock).map(|held| *held), Some(1));
    }

    #[test]
    fn work_is_done_once_and_ends_at_once_in_any_pool() {
        for threads in [None, Some(1), Some(2), Some(5)] {
            let pool = threads.map(|n| ThreadPoolBuilder::new().num_threads(n).build().unwrap());
            let mut sums = Vec::new();
            for step in 0..200_u64 {
                run(pool.as_ref(), &mut || {
                    // Nested calls are part of the same work.
                    run(pool.as_ref(), &mut || {
                        sums.push((0..64_u64).into_par_iter().map(|i| i * step).sum::<u64>());
                    });
                });
            }
            assert!(sums.iter().zip(0..).all(|(sum, step)| *sum == 2016 * step));
            assert_eq!(sums.len(), 200);
        }
    }

    #[test]
    fn a_panic_comes_through_and_the_pool_goes_on() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let broken = catch_unwind(AssertUnwindSafe(|| {
            run(Some(&pool), &mut || panic!("on purpose"));
        }));
        assert!(broken.is_err());
        let mut done = false;
        run(Some(&pool), &mut || done = true);
        assert!(done);
    }
}
