//! The state that the records add up to, and the decision whether one more item fits.

use std::cell::RefCell;

use reticent_privacy::composition::basic;
use reticent_privacy::filter::{basic_room, gaussian_cost, gaussian_room};
use reticent_privacy::{Budget, Event, PrivacyError, delta_upper, epsilon_upper, gaussian};
use serde::Serialize;

use super::record::{Cost, Entry, Filter, Item, Record, Room};

/// Budgets are compared up to what rounding does to a sum.
const ROUNDING: f64 = 1.0 + 1e-12;

/// The part of the budget's delta that later events may leak.
const LEAK: f64 = 0.25;

/// Where a charge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It waits for a run of its plan.
    Reserved,
    /// A run holds it and has drawn no noise.
    Charged,
    /// Noise may have been drawn.
    Begun,
    /// A model was handed over.
    Released,
    /// It was taken back; it counts no more.
    Refunded,
}

/// One charge and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeLine {
    /// Its number.
    pub charge: u64,
    /// When it was made.
    pub time: String,
    /// The item that was charged.
    pub item: Item,
    /// Its privacy cost.
    pub cost: Cost,
    /// Where it stands.
    pub state: State,
    /// The digest of the model that was handed over.
    pub model: Option<String>,
    /// The latest run, by number, that another went on from.
    pub resumed: u64,
    /// The random name of the run that may release the model; empty for the first.
    #[serde(skip)]
    pub(crate) run: String,
    /// Whether it was reserved before a run took it up.
    #[serde(skip)]
    pub(super) was_reserved: bool,
}

/// The state that follows from the records.
#[derive(Clone, Debug)]
pub(super) struct Book {
    pub(super) ledger: String,
    pub(super) budget: Budget,
    /// The column that tells the protected units apart.
    pub(super) unit: Option<String>,
    pub(super) filter: Filter,
    pub(super) fingerprints: Vec<String>,
    pub(super) lines: Vec<ChargeLine>,
    pub(super) refusals: usize,
    /// The total that later plans may spend, once a run has begun.
    pub(super) room: Option<Room>,
}

impl Book {
    /// Adds up records; the number of the first that makes no sense if one does not.
    pub(super) fn of(records: &[Record]) -> Result<Self, u64> {
        let Some((Record { entry: Entry::Opened { ledger, budget, filter, unit, .. }, .. }, rest)) =
            records.split_first()
        else {
            return Err(1);
        };
        let mut book = Self {
            ledger: ledger.clone(),
            budget: *budget,
            unit: unit.clone(),
            filter: *filter,
            fingerprints: Vec::new(),
            lines: Vec::new(),
            refusals: 0,
            room: None,
        };
        for record in rest {
            book.add(record).ok_or(record.number)?;
        }
        Ok(book)
    }

    /// The book after these entries, which it has just decided on.
    pub(super) fn after(&self, entries: &[Entry]) -> Self {
        let mut book = self.clone();
        for entry in entries {
            let (time, hash) = (String::new(), String::new());
            let known = book.add(&Record { number: 0, time, entry: entry.clone(), hash });
            debug_assert!(known.is_some(), "an entry follows from the book");
        }
        book
    }

    /// The charge of this number.
    pub(super) fn line(&self, charge: u64) -> Option<&ChargeLine> {
        self.lines.get(usize::try_from(charge).ok()?.checked_sub(1)?)
    }

    fn add(&mut self, record: &Record) -> Option<()> {
        use State::{Begun, Charged, Refunded, Released, Reserved};
        let mut step = |charge: u64, from: &[State], to: State| {
            let line = self.lines.get_mut(usize::try_from(charge).ok()?.checked_sub(1)?)?;
            from.contains(&line.state).then(|| line.state = to)
        };
        match &record.entry {
            Entry::Opened { .. } => None,
            Entry::Accepted { fingerprint } => {
                self.fingerprints.push(fingerprint.clone());
                Some(())
            }
            Entry::Charged { charge, item, cost, reserved } => {
                let next = self.lines.len() as u64 + 1 == *charge;
                next.then(|| {
                    self.lines.push(ChargeLine {
                        charge: *charge,
                        time: record.time.clone(),
                        item: item.clone(),
                        cost: *cost,
                        state: if *reserved { Reserved } else { Charged },
                        model: None,
                        resumed: 0,
                        run: String::new(),
                        was_reserved: *reserved,
                    });
                })
            }
            Entry::Claimed { charge } => step(*charge, &[Reserved], Charged),
            Entry::Unclaimed { charge } => {
                step(*charge, &[Charged], Reserved)?;
                self.lines[*charge as usize - 1].was_reserved = true;
                Some(())
            }
            Entry::Closed { room } => {
                let first = self.room.is_none();
                self.room = Some(*room);
                first.then_some(())
            }
            Entry::Begun { charge } => step(*charge, &[Charged], Begun),
            Entry::Resumed { charge, runs, run, .. } => {
                step(*charge, &[Begun], Begun)?;
                let line = &mut self.lines[*charge as usize - 1];
                line.run.clone_from(run);
                (*runs > line.resumed).then(|| line.resumed = *runs)
            }
            Entry::Released { charge, model } => {
                step(*charge, &[Begun], Released)?;
                self.lines[*charge as usize - 1].model = Some(model.clone());
                Some(())
            }
            Entry::Refunded { charge } => step(*charge, &[Reserved, Charged], Refunded),
            Entry::Refused { .. } => {
                self.refusals += 1;
                Some(())
            }
        }
    }

    /// The charges that count.
    pub(super) fn live(&self) -> impl Iterator<Item = &ChargeLine> {
        self.lines.iter().filter(|line| line.state != State::Refunded)
    }

    /// Everything charged, as one event.
    pub(super) fn together(&self) -> Event {
        Event::Composed(self.events())
    }

    /// The sums of epsilons and deltas.
    pub(super) fn sums(&self) -> (f64, f64) {
        let each: Vec<(f64, f64)> = self
            .live()
            .map(|line| (line.item.budget.epsilon.get(), line.item.budget.delta.get()))
            .collect();
        basic(&each)
    }

    /// The events that count; those that happened often are taken together, which the accountant
    /// does fast.
    fn events(&self) -> Vec<Event> {
        let mut each: Vec<(&Event, u64)> = Vec::new();
        for line in self.live() {
            match each.iter_mut().find(|(event, _)| **event == line.item.event) {
                Some((_, times)) => *times += 1,
                None => each.push((&line.item.event, 1)),
            }
        }
        let repeated = |(event, times): (&Event, u64)| match times {
            1 => event.clone(),
            _ => Event::Repeated { event: Box::new(event.clone()), times },
        };
        each.into_iter().map(repeated).collect()
    }

    /// The amount that later plans have spent: the sum of squares or of epsilons, and the leak.
    /// Sums are rounded up.
    fn spent_later(&self) -> (f64, f64) {
        let up = 1.0 + f64::EPSILON;
        self.live().fold((0.0, 0.0), |(sum, leaked), line| match line.cost {
            Cost::Gaussian { mu, leak } => ((sum + mu * mu) * up, (leaked + leak) * up),
            Cost::Basic { epsilon, leak } => ((sum + epsilon) * up, (leaked + leak) * up),
            Cost::Planned => (sum, leaked),
        })
    }

    /// The cost of `item`, or the reason why it does not fit. `known` are its costs as far as they
    /// were computed before.
    pub(super) fn admit(&self, item: &Item, known: &Costs) -> Result<Cost, String> {
        let (asked, allowed) = (item.budget, self.budget);
        self.check_unit(item)?;
        if asked.adjacency != allowed.adjacency {
            return Err(format!(
                "`adjacency` must be {}, the ledger's, got {}; plan for that, or keep another ledger",
                allowed.adjacency, asked.adjacency
            ));
        }
        if item.event.adjacency().is_ok_and(|own| own.is_some_and(|own| own != allowed.adjacency)) {
            return Err(format!(
                "`event` must be of {} adjacency, the ledger's; describe it under that",
                allowed.adjacency
            ));
        }
        let verdict = match self.room {
            None => self.admit_planned(item),
            Some(room) => self.admit_later(item, room, known),
        };
        verdict.map_err(|e| e.to_string())?.map_err(|left| {
            let left = if left < 1e-6 {
                let advice = self.advice(asked);
                format!("nothing is left for one like it; {advice}")
            } else {
                let left = down_to_three_digits(left);
                format!("about epsilon = {left} is left for one like it; ask for less")
            };
            format!(
                "`epsilon` = {} at delta = {:e} does not fit: of the ledger's epsilon = {} at delta = {:e} ({} adjacency) {left}",
                asked.epsilon,
                asked.delta.get(),
                allowed.epsilon,
                allowed.delta.get(),
                allowed.adjacency,
            )
        })
    }

    /// Whether `item` protects those whose budget this is. No bound leads from one to the other: a
    /// guarantee for rows publishes their number, which depends on how many a unit has, and a row
    /// that is replaced may change two units.
    fn check_unit(&self, item: &Item) -> Result<(), String> {
        match (&self.unit, &item.unit) {
            (None, None) => Ok(()),
            (Some(ours), Some(theirs)) if ours == theirs => Ok(()),
            (Some(ours), None) => Err(format!(
                "`unit` must be `{ours}`, the ledger's, got a guarantee for single rows: what protects one row protects the rows of one `{ours}` less, by a factor that their private number decides; plan with `--unit {ours}` and `--max-rows`"
            )),
            (None, Some(theirs)) => Err(format!(
                "this ledger's budget is for single rows, got a guarantee for units by `{theirs}`: a row that is replaced may change two units; keep a ledger of their own for them, made with `ledger init --unit {theirs}`"
            )),
            (Some(ours), Some(theirs)) => Err(format!(
                "`unit` must be `{ours}`, the ledger's, got `{theirs}`: who is protected by one is not by the other; plan with `--unit {ours}`, or keep another ledger"
            )),
        }
    }

    /// Advice for a plan of which nothing fits: the mechanisms that the ledger's units admit, if
    /// much is left in these units.
    fn advice(&self, asked: Budget) -> String {
        let left = self.left(asked.delta.get()).unwrap_or(0.0);
        match self.room {
            Some(Room::Gaussian { .. }) if left >= 0.1 * asked.epsilon.get() => format!(
                "its first run fixed that later plans are counted in Gaussian units, in which this one costs too much: epsilon = {} is left for Gaussian noise, so choose another algorithm (`clipped-sgd`, `output-sgd`), and for the next data set reserve such plans first or give `ledger init --filter basic`",
                down_to_three_digits(left)
            ),
            Some(Room::Basic { .. }) if left >= 0.1 * asked.epsilon.get() => format!(
                "its first run fixed that later plans are counted by the sum of their epsilons, in which this one costs too much: epsilon = {} is left for pure noise, so allow a larger `delta` or choose another algorithm",
                down_to_three_digits(left)
            ),
            _ => "ask for less, or for another algorithm".to_owned(),
        }
    }

    /// Whether everything fixed in advance fits together with `item`; if not, about what would.
    fn admit_planned(&self, item: &Item) -> Result<Result<Cost, f64>, PrivacyError> {
        let all = match self.live().count() {
            0 => item.event.clone(),
            _ => Event::Composed([self.events(), vec![item.event.clone()]].concat()),
        };
        // Three upper bounds, two of them on grids of their own: any proves it.
        let (epsilon, delta) = (self.budget.epsilon.get(), self.budget.delta.get());
        let asked = (item.budget.epsilon.get(), item.budget.delta.get());
        let sums = basic(&[self.sums(), asked]);
        let fits = sums.0 <= epsilon * ROUNDING && sums.1 <= delta * ROUNDING
            || epsilon_upper(&all, delta)? <= epsilon * ROUNDING
            || delta_upper(&all, epsilon)? <= delta * ROUNDING;
        if fits {
            return Ok(Ok(Cost::Planned));
        }
        Ok(Err(0.95 * self.left(asked.1)?.min(asked.0)))
    }

    /// Whether `item` fits into what was left for later plans; if not, about what would.
    fn admit_later(
        &self,
        item: &Item,
        room: Room,
        known: &Costs,
    ) -> Result<Result<Cost, f64>, PrivacyError> {
        let (spent, leaked) = self.spent_later();
        let (Room::Gaussian { leak: all, .. } | Room::Basic { leak: all, .. }) = room;
        let asked = item.budget.epsilon.get();
        // Each gets as little leak as it can do with: exact Gaussians and pure events get none.
        let left = (all - leaked).max(0.0);
        let mut most_left = 0.0f64;
        for leak in [0.0, left / 16.0, left / 4.0, left] {
            let Some(cost) = known.of(&item.event, leak, room)? else { continue };
            let (sum, most, share) = match (cost, room) {
                (Cost::Gaussian { mu, .. }, Room::Gaussian { mu: most, .. }) => {
                    let left = (most * most - spent).max(0.0).sqrt();
                    (spent + mu * mu, most * most, left / mu)
                }
                (Cost::Basic { epsilon, .. }, Room::Basic { epsilon: most, .. }) => {
                    (spent + epsilon, most * ROUNDING, (most - spent).max(0.0) / epsilon)
                }
                _ => continue,
            };
            if sum * (1.0 + f64::EPSILON) <= most {
                return Ok(Ok(cost));
            }
            // An item that is too expensive at this leak may fit at a larger one.
            most_left = most_left.max(0.95 * share.min(1.0) * asked);
        }
        Ok(Err(most_left))
    }

    /// The total that later plans may spend, fixed when the first noise is about to be drawn.
    pub(super) fn room_left_by_the_plan(&self) -> Result<Room, PrivacyError> {
        let (fixed, delta) = (self.events(), self.budget.delta.get());
        // Nothing may leak that the plans so far have not left: without this a budget that is used
        // up would still pay for events that cost nothing but their leak.
        let used = if fixed.is_empty() {
            0.0
        } else {
            delta_upper(&Event::Composed(fixed.clone()), self.budget.epsilon.get())?
        };
        let leak = if used <= (1.0 - LEAK) * delta { LEAK * delta } else { 0.0 };
        let basic = || -> Result<Room, PrivacyError> {
            Ok(Room::Basic { epsilon: basic_room(&fixed, self.budget, leak)?, leak })
        };
        let gaussian = || -> Result<Room, PrivacyError> {
            Ok(Room::Gaussian { mu: gaussian_room(&fixed, self.budget, leak)?, leak })
        };
        match self.filter {
            Filter::Basic => basic(),
            Filter::Gaussian => gaussian(),
            Filter::Auto if self.budget.delta.get() == 0.0 => basic(),
            Filter::Auto => {
                let (basic, gaussian) = (basic()?, gaussian()?);
                let more = |room| -> Result<f64, PrivacyError> {
                    let mut most = 0.0f64;
                    for leak in [0.0, leak / 16.0] {
                        let Some(first) = fixed.first() else { continue };
                        most = most.max(match (cost(first, leak, room)?, room) {
                            (Some(Cost::Gaussian { mu, .. }), Room::Gaussian { mu: all, .. }) => {
                                (all / mu).powi(2)
                            }
                            (
                                Some(Cost::Basic { epsilon, .. }),
                                Room::Basic { epsilon: all, .. },
                            ) => all / epsilon,
                            _ => 0.0,
                        });
                    }
                    Ok(most)
                };
                Ok(if more(basic)? > more(gaussian)? { basic } else { gaussian })
            }
        }
    }

    /// The largest epsilon that a single further Gaussian release at `delta` may have; zero if none
    /// fits.
    pub(super) fn left(&self, delta: f64) -> Result<f64, PrivacyError> {
        let mu = match self.room {
            None if self.budget.delta.get() == 0.0 => {
                return basic_room(&self.events(), self.budget, 0.0);
            }
            None => gaussian_room(&self.events(), self.budget, 0.0)?,
            Some(Room::Basic { epsilon, .. }) => {
                return Ok((epsilon - self.spent_later().0).max(0.0));
            }
            Some(Room::Gaussian { mu, .. }) => (mu * mu - self.spent_later().0).max(0.0).sqrt(),
        };
        if mu == 0.0 || delta == 0.0 { Ok(0.0) } else { gaussian::epsilon_upper(mu, delta) }
    }
}

/// The cost of one event as a later plan, computed once: another process may add a record while the
/// accountant works, and then the decision is taken again.
#[derive(Default)]
pub(super) struct Costs(RefCell<Vec<(f64, Room, Option<Cost>)>>);

impl Costs {
    fn of(&self, event: &Event, leak: f64, room: Room) -> Result<Option<Cost>, PrivacyError> {
        let same = |known: &&(f64, Room, Option<Cost>)| {
            known.0.to_bits() == leak.to_bits() && known.1 == room
        };
        if let Some((_, _, cost)) = self.0.borrow().iter().find(same) {
            return Ok(*cost);
        }
        let cost = cost(event, leak, room)?;
        self.0.borrow_mut().push((leak, room, cost));
        Ok(cost)
    }
}

/// The cost of an event as a later plan; none if no finite cost exists at this leak.
fn cost(event: &Event, leak: f64, room: Room) -> Result<Option<Cost>, PrivacyError> {
    match room {
        Room::Gaussian { .. } => match gaussian_cost(event, leak) {
            Ok(mu) => Ok(Some(Cost::Gaussian { mu, leak })),
            Err(PrivacyError::Unreachable { .. }) => Ok(None),
            Err(error) => Err(error),
        },
        Room::Basic { .. } => {
            let epsilon = epsilon_upper(event, leak)?;
            Ok(epsilon.is_finite().then_some(Cost::Basic { epsilon, leak }))
        }
    }
}

/// Rounds down, so that what is named fits.
fn down_to_three_digits(x: f64) -> f64 {
    let unit = 10f64.powf(x.log10().floor() - 2.0);
    let digits = (x / unit).floor();
    // through text, so that 0.28 does not print as 0.28000000000000003
    format!("{:.*}", (2.0 - x.log10().floor()).max(0.0) as usize, digits * unit)
        .parse()
        .unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_as_left_is_rounded_down() {
        for (x, want) in [(0.28991, 0.289), (1.999, 1.99), (12.345, 12.3), (0.00101, 0.00101)] {
            assert!((down_to_three_digits(x) - want).abs() < 1e-9, "{x}");
            assert!(down_to_three_digits(x) <= x);
        }
    }
}
