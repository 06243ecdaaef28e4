//! Long runs that survive an interruption, without spending twice.
//!
//! A checkpoint holds the digests of the plan and of the task, the seed of the task's random features, and a [`State`]:
//! numbers that the event has paid for, so the file may lie where the model may. Weights mean something only for the columns
//! and features that they were trained on, so a run goes on with these and no others. The sampling key and the noise are not
//! in it: a resumed run draws fresh ones, because given the state the steps that are left do not depend on the randomness of
//! those before.
//!
//! The event is charged once as long as no step is *seen* twice. So
//!
//! - one process at a time holds a checkpoint, by a lock on a file beside it;
//! - a run that would start over an existing checkpoint is refused, since the steps in it are spent;
//! - the last state is written before the model, so that a run which dies in between gives the same model again;
//! - steps after the last checkpoint of a run that died were seen by nobody.
//!
//! Whoever copies a checkpoint and goes on from both copies has left this guarantee and owes the steps twice.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use reticent_data::Oracle;
use reticent_noise::batch::SampleKey;
use reticent_noise::{Purpose, Randomness, Source};
use reticent_optim::clipped_sgd::{ClippedSgdPlan, NOISE_STREAMS, State};
use reticent_optim::{Plan, Progress, RunError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::certificate::Certificate;
use crate::files::read_text;
use crate::ledger::Payment;
use crate::model::digest;
use crate::{Error, Model, RandomnessUsed, Task, unique, write_atomically};

/// The format that this version writes and reads.
const FORMAT: &str = "reticent-checkpoint/1";

/// The most runs that a file may tell of: a run from a seed skips the streams of each.
const MOST_RUNS: u64 = 1_000_000;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
    format: String,
    /// The digest of the plan.
    plan: String,
    /// The digest of the task.
    task: String,
    /// The seed of the task's random features, if it has any: drawn once, and kept for the runs that go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    map_seed: Option<u64>,
    /// Where the noise so far came from.
    randomness: RandomnessUsed,
    /// Runs that have written to it.
    runs: u64,
    /// Which ledger paid, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payment: Option<Payment>,
    state: State,
}

fn refusal(path: &Path, why: &str) -> Error {
    Error::Checkpoint { file: path.display().to_string(), why: why.to_owned() }
}

/// What a file keeps.
fn read(path: &Path) -> Result<Checkpoint, Error> {
    let kept: Checkpoint = unique::parse(&read_text(path)?)
        .and_then(serde_json::from_value)
        .map_err(|_| refusal(path, "it is not a checkpoint; name the file that the run wrote"))?;
    if kept.format != FORMAT {
        return Err(refusal(path, "it was written by another version; go on with that one"));
    }
    if kept.runs > MOST_RUNS {
        return Err(refusal(
            path,
            "it tells of more runs than there can have been; name the file that the run wrote",
        ));
    }
    Ok(kept)
}

/// A run whose standing is kept in a file.
#[derive(Debug)]
pub struct KeptRun {
    path: PathBuf,
    every: u64,
    plan: ClippedSgdPlan,
    task: Task,
    from: Option<Checkpoint>,
    payment: Option<Payment>,
    /// Held as long as this lives.
    _lock: File,
}

impl KeptRun {
    /// Opens a checkpoint for a run of `plan` for `task`: a new one, or one to `resume`.
    ///
    /// # Errors
    ///
    /// [`Error::Checkpoint`] if the plan's algorithm keeps none, if another process holds it, if it exists and is not to
    /// be resumed, or if it is another plan's or another task's; [`Error::File`].
    pub fn open(
        path: &Path,
        every: u64,
        resume: bool,
        plan: &Plan,
        task: &Task,
    ) -> Result<Self, Error> {
        let refuse = |why: &str| refusal(path, why);
        let Plan::ClippedSgd(inner) = plan else {
            return Err(refuse("only clipped-sgd keeps one; leave `checkpoint` out"));
        };
        if every == 0 {
            return Err(refuse("`checkpoint_every` must be at least 1"));
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let lock = File::create(&beside).map_err(|e| Error::File {
            verb: "write",
            file: Path::new(&beside).display().to_string(),
            why: e.to_string(),
        })?;
        lock.try_lock().map_err(|_| refuse("another process holds it; wait for that to end"))?;
        let from = if resume {
            let kept = read(path)?;
            if kept.plan != digest(&json!(plan)) || !kept.state.belongs_to(inner) {
                return Err(refuse("it belongs to another plan; give the settings it began with"));
            }
            if kept.task != digest(&json!(task)) {
                return Err(refuse(
                    "it belongs to another task; give the schema, the encoding and the kernel it began with",
                ));
            }
            Some(kept)
        } else if path.exists() {
            return Err(refuse(
                "it exists, and what is in it is spent; go on with `--resume`, or remove it and spend again",
            ));
        } else {
            None
        };
        let payment = from.as_ref().and_then(|kept| kept.payment.clone());
        let (path, plan, task) = (path.to_owned(), inner.clone(), task.clone());
        Ok(Self { path, every, plan, task, from, payment, _lock: lock })
    }

    /// The seed of the random features of the run that is kept in a file, if it has any: a run that goes on needs the same.
    ///
    /// # Errors
    ///
    /// [`Error::Checkpoint`] if it is no checkpoint; [`Error::File`].
    pub fn map_seed(path: &Path) -> Result<Option<u64>, Error> {
        Ok(read(path)?.map_seed)
    }

    /// Lets the file tell of one run more, even if that ends before it keeps anything: no two runs draw the same numbers from
    /// a seed, and a ledger knows a copy of the file from the file. Call it before a run that goes on, once it is paid for.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn go_on(&self) -> Result<(), Error> {
        match self.from.as_ref().filter(|kept| !self.has_ended(&kept.state)) {
            Some(kept) => self.write(&Checkpoint { runs: kept.runs + 1, ..kept.clone() }),
            None => Ok(()),
        }
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let text = serde_json::to_string(checkpoint).unwrap_or_default();
        write_atomically(&self.path, text.as_bytes())
    }

    /// The step after which nothing is drawn.
    fn end(&self, state: &State) -> u64 {
        state.pick.unwrap_or(self.plan.output.noisy_steps(self.plan.outline.steps))
    }

    fn has_ended(&self, state: &State) -> bool {
        state.step >= self.end(state)
    }

    /// How many runs there have been, and whether the last one came to its end; none for a new run.
    pub fn goes_on(&self) -> Option<(u64, bool)> {
        self.from.as_ref().map(|kept| (kept.runs, self.has_ended(&kept.state)))
    }

    /// Which ledger has paid for the steps so far, if one has.
    pub fn payment(&self) -> Option<&Payment> {
        self.payment.as_ref()
    }

    /// The same run, paid by a ledger: a run that goes on from it is not charged again.
    #[must_use]
    pub fn paid(self, payment: Payment) -> Self {
        Self { payment: Some(payment), ..self }
    }

    /// Runs, or goes on, and hands over the model. Save it, then call [`Self::done`].
    ///
    /// # Errors
    ///
    /// As [`crate::fit`], and [`RunError::NotKept`].
    pub fn fit(
        &self,
        oracle: &dyn Oracle,
        source: &Source,
        progress: &dyn Progress,
    ) -> Result<Model, Error> {
        let runs = self.from.as_ref().map_or(0, |kept| kept.runs);
        // A source from a seed would repeat itself: skip what earlier runs have drawn from it. Others never do.
        let repeated = if source.randomness() == Randomness::Seeded { runs } else { 0 };
        for _ in 0..repeated {
            for _ in 0..NOISE_STREAMS {
                let _ = source.stream(Purpose::Noise);
            }
            let _ = SampleKey::new(source);
        }
        let seeded_before = |kept: &Checkpoint| kept.randomness == RandomnessUsed::Seeded;
        let randomness = if self.from.as_ref().is_some_and(seeded_before) {
            Randomness::Seeded
        } else {
            source.randomness()
        };
        let plan = Plan::ClippedSgd(self.plan.clone());
        let (of_plan, of_task) = (digest(&json!(plan)), digest(&json!(self.task)));
        let mut keep = |state: &State| {
            if !state.step.is_multiple_of(self.every) && !self.has_ended(state) {
                return Ok(());
            }
            let kept = Checkpoint {
                format: FORMAT.to_owned(),
                plan: of_plan.clone(),
                task: of_task.clone(),
                map_seed: self.task.map.map(|law| law.seed),
                randomness: match randomness {
                    Randomness::Secure => RandomnessUsed::Secure,
                    Randomness::Seeded => RandomnessUsed::Seeded,
                },
                runs: runs + 1,
                payment: self.payment.clone(),
                state: state.clone(),
            };
            self.write(&kept).map_err(|e| RunError::NotKept { why: e.to_string() })
        };
        let state = self.from.as_ref().map(|kept| kept.state.clone());
        let release = self.plan.run_from(state, oracle, source, progress, &mut keep)?;
        oracle.whole()?;
        let certificate = Certificate::new(plan, &release, randomness)?;
        Ok(Model::new(self.task.clone(), &release.weights, certificate))
    }

    /// Removes the checkpoint of a run whose model is saved.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn done(self) -> Result<(), Error> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".lock");
        for file in [self.path.clone(), beside.into()] {
            match fs::remove_file(&file) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::File {
                        verb: "remove",
                        file: file.display().to_string(),
                        why: e.to_string(),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
