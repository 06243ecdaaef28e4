//! Threads that stay awake between the steps of an iterative method.
//!
//! A step of a fraction of a millisecond has several parts that all threads share, with short parts in between that one does alone. A
//! thread that has slept meanwhile must be woken through the system, which takes as long as its share of the work. So while a
//! method runs in a pool of its own, the threads look for work again and again, and go to sleep only after [`PATIENCE`] without
//! any. Threads that are shared with others (no pool is given) are left alone: a run would wait for whatever they take up.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, Yield};

/// How long a thread without work stays awake. A pause this long ends its watch: the method has little to share, or waits itself.
/// It must be short: a thread that watches while it waits, inside a part of `work` that it took before its watch began,
/// keeps `work` waiting for as long.
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
        // Each thread has a watch of its own that no other can take over: were this one to do so while it waits for a part of `work`,
        // `work` would wait for the watch and the watch for `work`.
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

    use rayon::ThreadPoolBuilder;
    use rayon::prelude::*;

    use super::*;

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
