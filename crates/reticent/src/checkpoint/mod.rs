//! Long runs that survive an interruption, without spending twice.
//!
//! A checkpoint holds the digests of the plan and of the task, the seed of the task's random
//! features, and the state of the run: numbers that the event has paid for, because each step gets
//! noise of its own, so the file may lie where the model may. Weights mean something only for the
//! columns and features that they were trained on, so a run goes on with these and no others. The
//! sampling key and the noise are not in it: a resumed run draws fresh ones, because given the
//! state the steps that are left do not depend on the randomness of those before.
//!
//! The event is charged once as long as no step is *seen* twice. So
//!
//! - one process at a time holds a checkpoint, by a lock on a file beside it;
//! - a run that would start over an existing checkpoint is refused, since the steps in it are
//!   spent;
//! - the last state is written before the model, so that a run which dies in between gives the same
//!   model again;
//! - steps after the last checkpoint of a run that died were seen by nobody.
//!
//! A checkpoint is sealed under a key: of the ledger that paid, or, without one, of a file beside
//! it. An altered one is refused. With a ledger a copy is refused too: each run that goes on has a
//! random name, the ledger knows the last one, and a checkpoint that does not know it is old; and
//! it notes the last step that was kept, which an older copy of the same run is behind. The
//! checkpoint is told the name before the ledger is, so that anyone who dies in between can go on;
//! and a run that is paid for writes a checkpoint without a state before it begins, so that anyone
//! who dies before the first state is kept can go on, too. Without a ledger, anyone who goes on
//! from copies owes the steps twice.

mod guard;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use reticent_data::Oracle;
use reticent_noise::batch::SampleKey;
use reticent_noise::{Purpose, Randomness, Source};
use reticent_optim::{Plan, Progress, RunError, Standing};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::certificate::Certificate;
use crate::files::{Replace, read_text, write_over};
use crate::ledger::{Ledger, Payment, Resumption};
use crate::model::digest;
use crate::paths::{KEY, LOCK, beside};
use crate::task::check_alone;
use crate::{Error, Model, RandomnessUsed, Task, unique};

/// The format that this version writes and reads.
const FORMAT: &str = "reticent-checkpoint/2";

/// More runs than anybody resumes.
const MOST_RUNS: u64 = 100_000;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
    format: String,
    /// The digest of the plan.
    plan: String,
    /// The digest of the task.
    task: String,
    /// The seed of the task's random features, if it has any: drawn once, and kept for the runs
    /// that go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    map_seed: Option<u64>,
    /// Where the noise so far came from.
    randomness: RandomnessUsed,
    /// Runs that have written to it.
    runs: u64,
    /// The random name of the last run that the ledger let go on, if one paid; empty for the first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    run: String,
    /// The name of the run that is about to go on from it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    next: String,
    /// Which ledger paid, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payment: Option<Payment>,
    /// None if no run has kept a step.
    state: Option<Value>,
}

fn refusal(path: &Path, why: &str) -> Error {
    Error::Checkpoint { file: path.display().to_string(), why: why.to_owned() }
}

/// The text between a checkpoint and its seal.
const SEAL: &str = ",\"seal\":\"";

/// A checkpoint's text with its seal at the end.
fn sealed(key: &[u8], text: &str) -> String {
    let seal = guard::seal(key, text);
    format!("{}{SEAL}{seal}\"}}", text.strip_suffix('}').unwrap_or(text))
}

/// A file's checkpoint, the text that is sealed, and the seal.
fn read(path: &Path) -> Result<(Checkpoint, String, String), Error> {
    let not_one = || refusal(path, "it is not a checkpoint; name the file that the run wrote");
    let text = read_text(path)?;
    let parsed = unique::parse(&text).map_err(|_| not_one())?;
    if parsed.get("format").and_then(Value::as_str).is_some_and(|format| format != FORMAT) {
        return Err(refusal(path, "it was written by another version; go on with that one"));
    }
    let kept: Checkpoint = serde_json::from_value(parsed).map_err(|_| not_one())?;
    let (body, seal) = text.rsplit_once(SEAL).ok_or_else(not_one)?;
    let seal = seal.strip_suffix("\"}").ok_or_else(not_one)?;
    Ok((kept, format!("{body}}}"), seal.to_owned()))
}

/// A file's checkpoint, unaltered since the run that wrote it: its seal is checked under the key of
/// its ledger or of the file beside it.
fn read_sealed(path: &Path, ledger: Option<&Ledger>) -> Result<Checkpoint, Error> {
    let (kept, text, seal) = read(path)?;
    let key = match (&kept.payment, ledger) {
        (Some(_), None) => {
            return Err(Error::Arguments(
                "the checkpoint was charged to a ledger; name it with `--ledger` to go on",
            ));
        }
        (Some(payment), Some(ledger)) if ledger.name()? != payment.ledger => {
            return Err(ledger.refuse("the checkpoint was charged elsewhere; name the ledger and the settings of the run that wrote it"));
        }
        (Some(_), Some(ledger)) => ledger.checkpoint_key()?,
        (None, _) => guard::read_key(path)?.ok_or_else(|| {
            refusal(path, "no ledger paid for it and its key, the file with `.key` after its name, is not there; put that back, or remove the checkpoint and spend again")
        })?,
    };
    if !guard::is_sealed(&key, &text, &seal) {
        return Err(refusal(
            path,
            "it is not as the run wrote it; restore it as it was, or remove it and spend again",
        ));
    }
    if kept.runs > MOST_RUNS {
        return Err(refusal(path, "it was gone on from more than 100000 times; spend again"));
    }
    Ok(kept)
}

/// A run whose standing is kept in a file.
#[derive(Debug)]
pub struct KeptRun {
    path: PathBuf,
    every: u64,
    plan: Plan,
    /// Streams of noise that a run draws at most.
    noise_streams: usize,
    task: Task,
    /// The digests of the plan and of the task.
    digests: [String; 2],
    from: Option<Checkpoint>,
    payment: Option<Payment>,
    /// The random name of this run, if it goes on and a ledger paid.
    run: String,
    /// Of the ledger, if there is one; else of a file that is made when the run begins.
    key: Option<Vec<u8>>,
    /// The ledger that pays, if there is one: it is told how far the run is kept.
    ledger: Option<Ledger>,
    /// Held as long as this lives.
    _lock: File,
}

impl KeptRun {
    /// Opens a checkpoint for a run of `plan` for `task`: a new one, or one to `resume`. `ledger`
    /// is the one that pays.
    ///
    /// # Errors
    ///
    /// [`Error::Checkpoint`] if the plan's algorithm keeps none, if another process holds it, if it
    /// exists and is not to be resumed, if it was altered, or if it is another plan's or another
    /// task's; [`Error::File`].
    pub fn open(
        path: &Path,
        every: u64,
        resume: bool,
        plan: &Plan,
        task: &Task,
        ledger: Option<&Ledger>,
    ) -> Result<Self, Error> {
        check_alone(plan)?;
        let refuse = |why: &str| refusal(path, why);
        let noise_streams =
            plan.noise_streams().map_err(|why| refuse(&format!("{} {why}", plan.algorithm())))?;
        if every == 0 {
            return Err(refuse("`checkpoint_every` must be at least 1"));
        }
        let lock = guard::lock(path)?;
        let digests = [digest(&json!(plan)), digest(&json!(task))];
        let from = if resume {
            let kept = read_sealed(path, ledger)?;
            let is_of_plan = kept.state.as_ref().is_none_or(|state| plan.standing(state).is_some());
            if kept.plan != digests[0] || !is_of_plan {
                return Err(refuse("it belongs to another plan; give the settings it began with"));
            }
            if kept.task != digests[1] {
                return Err(refuse(
                    "it belongs to another task; give the schema, the encoding and the kernel it began with",
                ));
            }
            Some(kept)
        } else if fs::symlink_metadata(path).is_ok() {
            return Err(refuse(
                "it exists, and what is in it is spent; go on with `--resume`, or remove it and spend again",
            ));
        } else {
            // anyone who keeps another file there is told before anything is paid
            guard::read_key(path)?;
            None
        };
        let payment = from.as_ref().and_then(|kept| kept.payment.clone());
        let key = ledger.map(Ledger::checkpoint_key).transpose()?;
        let (path, plan, task) = (path.to_owned(), plan.clone(), task.clone());
        let (run, ledger) = (String::new(), ledger.cloned());
        Ok(Self {
            path,
            every,
            plan,
            noise_streams,
            task,
            digests,
            from,
            payment,
            run,
            key,
            ledger,
            _lock: lock,
        })
    }

    /// The seed of the random features of the run that is kept in a file, if it has any: a run that
    /// goes on needs the same.
    ///
    /// # Errors
    ///
    /// [`Error::Checkpoint`] if it is no checkpoint; [`Error::File`].
    pub fn map_seed(path: &Path) -> Result<Option<u64>, Error> {
        Ok(read(path)?.0.map_seed)
    }

    /// Lets the file tell of one run more, even if that ends before it keeps anything: no two runs
    /// draw the same numbers from a seed, and a ledger knows a copy of the file from the file, by
    /// the names of the last run that it let go on and of the one that is to. A new run that nobody
    /// paid for writes nothing yet.
    pub(crate) fn renew(
        &mut self,
        payment: Option<Payment>,
        [last, next]: [&str; 2],
        randomness: Randomness,
    ) -> Result<(), Error> {
        if self.key.is_none() {
            self.key = Some(guard::make_key(&self.path)?);
        }
        let is_new_payment = payment != self.payment;
        self.payment = payment;
        let renewed = match &self.from {
            Some(kept) if self.standing(kept.state.as_ref()).1 && !is_new_payment => {
                return Ok(());
            }
            Some(kept) => Checkpoint {
                runs: kept.runs + 1,
                run: last.to_owned(),
                next: next.to_owned(),
                payment: self.payment.clone(),
                ..kept.clone()
            },
            None if self.payment.is_none() => return Ok(()),
            None => self.checkpoint(randomness, 1, None),
        };
        self.write(&renewed)?;
        // The ledger is told how many runs there were before, and by which names it may know them.
        if let Some(kept) = &mut self.from {
            (kept.run, kept.next) = (renewed.run, renewed.next);
        }
        Ok(())
    }

    /// The run's name from here on.
    pub(crate) fn goes_by(&mut self, name: &str) {
        name.clone_into(&mut self.run);
    }

    fn checkpoint(&self, randomness: Randomness, runs: u64, state: Option<Value>) -> Checkpoint {
        let [plan, task] = self.digests.clone();
        Checkpoint {
            format: FORMAT.to_owned(),
            plan,
            task,
            map_seed: self.task.map.map(|law| law.seed),
            randomness: match randomness {
                Randomness::Secure => RandomnessUsed::Secure,
                Randomness::Seeded => RandomnessUsed::Seeded,
            },
            runs,
            run: self.run.clone(),
            next: String::new(),
            payment: self.payment.clone(),
            state,
        }
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let text = serde_json::to_string(checkpoint).unwrap_or_default();
        let key = self.key.as_deref().ok_or_else(|| {
            refusal(&self.path, "the run has not begun; begin it with `release::Charged::begin`")
        })?;
        let sealed = sealed(key, &text);
        write_over(&self.path, sealed.as_bytes(), Replace::Checkpoint)
    }

    /// How many steps were done in a state, and whether nothing is drawn after it.
    fn standing(&self, state: Option<&Value>) -> (u64, bool) {
        state.and_then(|state| self.plan.standing(state)).unwrap_or((0, false))
    }

    /// Which ledger has paid for the steps so far, if one has.
    pub fn payment(&self) -> Option<&Payment> {
        self.payment.as_ref()
    }

    /// The data that the paying ledger needs to resume as the run `next`; none if no ledger has
    /// paid.
    pub(crate) fn resumption<'a>(&'a self, next: &'a str) -> Option<Resumption<'a>> {
        let (kept, payment) = (self.from.as_ref()?, self.payment.as_ref()?);
        let (step, finished) = self.standing(kept.state.as_ref());
        Some(Resumption {
            payment,
            plan: kept.plan.clone(),
            names: [&kept.run, if kept.next.is_empty() { &kept.run } else { &kept.next }],
            next,
            runs: kept.runs,
            step,
            finished,
        })
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
        let seeded_before = |kept: &Checkpoint| kept.randomness == RandomnessUsed::Seeded;
        let randomness = if self.from.as_ref().is_some_and(seeded_before) {
            Randomness::Seeded
        } else {
            source.randomness()
        };
        if source.randomness() == Randomness::Seeded {
            // It would repeat itself: skip what earlier runs have drawn from it.
            for _ in 0..runs {
                for _ in 0..self.noise_streams {
                    let _ = source.stream(Purpose::Noise);
                }
                let _ = SampleKey::new(source);
            }
        }
        let mut keep = |at: &Standing<'_>| {
            if !at.step.is_multiple_of(self.every) && !at.ended {
                return Ok(());
            }
            let kept = self.checkpoint(randomness, runs + 1, Some(at.state()?));
            self.write(&kept).map_err(|e| RunError::NotKept { why: e.to_string() })?;
            // A ledger that cannot be written now sees less of old copies; the run is kept all the
            // same.
            if let Some((ledger, payment)) = self.ledger.as_ref().zip(self.payment.as_ref()) {
                _ = ledger.note_step(payment.charge, at.step);
            }
            Ok(())
        };
        let state = self.from.as_ref().and_then(|kept| kept.state.as_ref());
        let release = self.plan.go_on(state, oracle, source, progress, &mut keep)?;
        let certificate = Certificate::new(self.plan.clone(), &release, randomness)?;
        Ok(Model::of_release(self.task.clone(), &release, certificate))
    }

    /// Removes the checkpoint of a run whose model is saved.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn done(self) -> Result<(), Error> {
        let keyed = matches!(guard::read_key(&self.path), Ok(Some(_)));
        let key = keyed.then(|| beside(&self.path, KEY));
        let lock = beside(&self.path, LOCK);
        for file in [Some(self.path.clone()), key, Some(lock)].into_iter().flatten() {
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
