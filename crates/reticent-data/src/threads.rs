//! Threads that stay awake between the steps of an iterative method.
//!
//! A step of a fraction of a millisecond has several parts that all threads share, with short parts in between that one does alone. A
//! thread that has slept meanwhile must be woken through the system, which takes as long as its share of the work. So while a
//! method runs, its threads look for work again and again, and go to sleep only after [`PATIENCE`] without any.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, Yield};

/// How long a thread without work stays awake. A pause this long ends its watch: the method has little to share, or waits itself.
const PATIENCE: Duration = Duration::from_millis(10);

/// Rounds of looking for work between two looks at the clock.
const LOOKS: usize = 64;

/// Runs `work` in the pool, or in the common one, and keeps the other threads awake; at once if this thread is one of a pool.
pub(crate) fn run(pool: Option<&ThreadPool>, work: &mut (dyn FnMut() + Send)) {
    match pool {
        _ if rayon::current_thread_index().is_some() && pool.is_none() => work(),
        Some(pool) if pool.current_thread_index().is_some() => work(),
        Some(pool) => pool.install(|| awake(work)),
        None => rayon::scope(|_| awake(work)),
    }
}

/// Runs `work` on this thread of a pool while the others look out for its parts.
fn awake(work: &mut (dyn FnMut() + Send)) {
    let running = AtomicBool::new(true);
    let here = rayon::current_thread_index();
    rayon::scope(|scope| {
        // Each thread has a watch of its own that no other can take over: were this one to do so while it waits for a part of `work`,
        // `work` would wait for the watch and the watch for `work`.
        scope.spawn_broadcast(|_, thread| {
            if Some(thread.index()) != here {
                watch(&running);
            }
        });
        work();
        running.store(false, Ordering::Release);
    });
}

/// Does what there is to do until `running` ends, or until there was nothing for a while.
fn watch(running: &AtomicBool) {
    let mut since = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if !running.load(Ordering::Acquire) {
                return;
            }
            match rayon::yield_now() {
                Some(Yield::Executed) => since = Instant::now(),
                Some(Yield::Idle) => spin_loop(),
                None => return,
            }
        }
        if since.elapsed() > PATIENCE {
            return;
        }
    }
}
