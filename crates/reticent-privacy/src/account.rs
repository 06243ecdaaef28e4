//! From an event to what accountants work with: pairs where there are pairs, curves where there are
//! not.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use crate::{
    Adjacency, Event, PrivacyError, Relation, Trials,
    mixture::HitLaw,
    objective::Objective,
    pair::{Pair, PairTable},
    pld::Composition,
    query, rdp, shuffle,
    tuning::Shift,
};

/// An event taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    /// Dominating pairs (the removal direction), with counts.
    pub(crate) pairs: Vec<(Pair, u64)>,
    /// Events known only by a curve `δ(ε)` or `r(α)`, with counts.
    pub(crate) curves: Vec<(&'a Event, u64)>,
    /// The total variation by which samplers are off.
    pub(crate) variation: f64,
    /// Whether something was released without any guarantee.
    pub(crate) exposed: bool,
}

/// Points in a table.
const POINTS: u32 = 160;

/// Tables that are kept for the thread.
const KEPT_TABLES: usize = 8;

/// A table, with the event, the size of `δ` and the count that it was made for.
type KeptTable = (Event, f64, f64, Pair);

thread_local! {
    /// The last tables that were made: searches ask for the same ones over and over.
    static TABLES: RefCell<VecDeque<KeptTable>> = const { RefCell::new(VecDeque::new()) };

    /// The last shift that was searched for, with its event: curves ask for it at every point.
    static SHIFT: RefCell<Option<(Event, Option<Shift>)>> = const { RefCell::new(None) };
}

/// `δ` at `ε`, in both directions.
type Delta = Box<dyn Fn(f64) -> f64>;

/// `δ` at each of several `ε` that ascend.
type Deltas = Box<dyn Fn(&[f64]) -> Vec<f64>>;

/// The same, for two readers.
type SharedDeltas = dyn Fn(&[f64]) -> Vec<f64>;

/// A proven curve, valid in both directions.
pub(crate) struct Curve {
    delta: Delta,
    /// Where many at once cost less than each alone.
    deltas: Option<Deltas>,
    epsilon: Option<Box<dyn Fn(f64) -> f64>>,
}

/// The table of one of `count` curves, for `δ` of the size of `scale`.
pub(crate) fn table(event: &Event, scale: f64, count: f64) -> Result<Pair, PrivacyError> {
    let known = TABLES.with_borrow(|tables| {
        let same = |t: &&KeptTable| t.1 == scale && t.2 == count && t.0 == *event;
        tables.iter().find(same).map(|known| known.3.clone())
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let made = Curve::of(event, scale)?.table(1e-4 * scale / count);
    TABLES.with_borrow_mut(|tables| {
        tables.truncate(KEPT_TABLES - 1);
        tables.push_front((event.clone(), scale, count, made.clone()));
    });
    Ok(made)
}

/// Take a checked `event` apart.
pub(crate) fn parts(event: &Event) -> Result<Parts<'_>, PrivacyError> {
    let mut parts = Parts::default();
    collect(event, 1, &mut parts)?;
    Ok(parts)
}

fn collect<'a>(event: &'a Event, times: u64, to: &mut Parts<'a>) -> Result<(), PrivacyError> {
    if times == 0 {
        return Ok(());
    }
    let mut pair = |pair: Pair, count: u64| {
        to.pairs.push((pair, count.saturating_mul(times)));
        Ok(())
    };
    match event {
        Event::None => Ok(()),
        Event::NotPrivate => {
            to.exposed = true;
            Ok(())
        }
        Event::Gaussian { noise_multiplier, .. } => {
            pair(Pair::Gaussian { mu: 1.0 / noise_multiplier }, 1)
        }
        Event::Gdp { mu, .. } => pair(Pair::Gaussian { mu: *mu }, 1),
        Event::Laplace { noise_multiplier, .. } => {
            pair(Pair::Laplace { epsilon: 1.0 / noise_multiplier }, 1)
        }
        Event::L2Laplace { epsilon, .. } | Event::PureDp { epsilon, .. } => {
            pair(Pair::Response { epsilon: *epsilon }, 1)
        }
        Event::BoundedRange { epsilon, .. } => pair(Pair::BoundedRange { epsilon: *epsilon }, 1),
        Event::ApproxDp { epsilon, delta, .. } => {
            pair(Pair::Approx { epsilon: *epsilon, delta: *delta }, 1)
        }
        Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency } => {
            let (rate, mu) = (*sample_rate, 1.0 / noise_multiplier);
            match adjacency.relation() {
                Relation::Replace => pair(Pair::PoissonReplace { rate, mu }, *steps),
                Relation::AddRemove | Relation::ZeroOut => {
                    pair(Pair::PoissonRemove { rate, mu }, *steps)
                }
            }
        }
        Event::FixedSizeGaussian { batch, rows, noise_multiplier, steps, adjacency } => {
            pair(fixed(*batch as f64 / *rows as f64, *noise_multiplier, *adjacency), *steps)
        }
        Event::SingleIndexGaussian { rows, noise_multiplier, steps, adjacency } => {
            pair(fixed(1.0 / *rows as f64, *noise_multiplier, *adjacency), *steps)
        }
        Event::EpochPartitionGaussian { passes, noise_multiplier, adjacency } => {
            refuse_add_remove(event, *adjacency)?;
            pair(Pair::Gaussian { mu: adjacency.sum_sensitivity() / noise_multiplier }, *passes)
        }
        Event::LastIterate { .. } => pair(Pair::Gaussian { mu: last_iterate_mu(event)? }, 1),
        Event::Repeated { event, times: more } => repeated(event, times, *more, to),
        Event::RandomStop { event: base, rounds } => {
            if stopped(event).is_none() {
                // The longest run is the worst.
                return repeated(base, times, rounds - 1, to);
            }
            to.variation += (times * (rounds - 1)) as f64 * parts(base)?.variation;
            to.curves.push((event, times));
            Ok(())
        }
        Event::Composed(events) => events.iter().try_for_each(|e| collect(e, times, to)),
        Event::Approximated { inner, total_variation } => {
            to.variation += times as f64 * total_variation;
            collect(inner, times, to)
        }
        Event::Group { base, size: 1 } => collect(base, times, to),
        Event::Disjoint { parts, .. } | Event::OneOf(parts) if parts.len() == 1 => {
            collect(&parts[0], times, to)
        }
        Event::Zcdp { .. }
        | Event::HitMixture { .. }
        | Event::ObjectivePerturbation { .. }
        | Event::Shuffled { .. }
        | Event::ShuffledGdp { .. }
        | Event::Disjoint { .. }
        | Event::OneOf(_)
        | Event::Tuned { .. }
        | Event::Group { .. } => {
            to.curves.push((event, times));
            Ok(())
        }
    }
}

fn repeated<'a>(
    event: &'a Event,
    times: u64,
    more: u64,
    to: &mut Parts<'a>,
) -> Result<(), PrivacyError> {
    let total = times.saturating_mul(more);
    crate::error::check(total <= crate::MAX_STEPS, "times", "be at most 1e9 in all", total as f64)?;
    collect(event, total, to)
}

/// The mean over a random stop, where one round is one pair.
pub(crate) fn stopped(event: &Event) -> Option<Composition> {
    let Event::RandomStop { event: base, rounds } = event else { return None };
    let one = parts(base).ok()?;
    if !one.curves.is_empty() || one.exposed || *rounds < 2 {
        return None;
    }
    match Composition::new(one.pairs).terms() {
        [(pair, 1)] => Some(Composition::stopped(pair.clone(), *rounds)),
        _ => None,
    }
}

/// The `mu` of the last of several iterates, rounded up; infinite for any other event.
pub(crate) fn last_iterate_mu(event: &Event) -> Result<f64, PrivacyError> {
    let &Event::LastIterate { steps, contraction, noise_multiplier, diameter, .. } = event else {
        return Ok(f64::INFINITY);
    };
    crate::last_iterate::mu_upper(steps, contraction, noise_multiplier, diameter)
}

fn fixed(rate: f64, noise_multiplier: f64, adjacency: Adjacency) -> Pair {
    let mu = 2.0 / noise_multiplier;
    match adjacency.relation() {
        Relation::AddRemove => Pair::PoissonRemove { rate, mu },
        Relation::Replace | Relation::ZeroOut => Pair::FixedReplace { rate, mu },
    }
}

/// A row added or removed moves the borders of all later batches.
pub(crate) fn refuse_add_remove(event: &Event, adjacency: Adjacency) -> Result<(), PrivacyError> {
    if !adjacency.records_are_public() {
        return Err(PrivacyError::Adjacency {
            event: event.name(),
            adjacency,
            reason: "the number of rows decides what the others do; use zero-out or replace-one",
        });
    }
    Ok(())
}

/// A replaced row may move to another part, which costs a removal here and an addition there.
pub(crate) fn refuse_moving_rows(event: &Event) -> Result<(), PrivacyError> {
    if let Event::Disjoint { fixed_partition: false, .. } = event
        && let Some(adjacency) = event.adjacency()?.filter(|adjacency| adjacency.replaces())
    {
        return Err(PrivacyError::Adjacency {
            event: event.name(),
            adjacency,
            reason: "a replaced row may change its part; fix the partition by row identifiers",
        });
    }
    Ok(())
}

/// The event for a group of `size` rows, where it has the same form: `mu → k·mu`, `rho → k²·rho`,
/// `ε → k·ε`.
pub(crate) fn scaled_for_group(event: &Event, size: u64) -> Option<Event> {
    let k = size as f64;
    Some(match event {
        Event::None => Event::None,
        Event::NotPrivate => Event::NotPrivate,
        Event::Gaussian { noise_multiplier, adjacency } => {
            Event::Gaussian { noise_multiplier: noise_multiplier / k, adjacency: *adjacency }
        }
        Event::Gdp { mu, adjacency } => Event::Gdp { mu: k * mu, adjacency: *adjacency },
        Event::EpochPartitionGaussian { passes, noise_multiplier, adjacency } => {
            Event::EpochPartitionGaussian {
                passes: *passes,
                noise_multiplier: noise_multiplier / k,
                adjacency: *adjacency,
            }
        }
        // On the way from one table to the other a step is moved once for each row.
        Event::LastIterate { steps, contraction, noise_multiplier, diameter, adjacency } => {
            Event::LastIterate {
                steps: *steps,
                contraction: *contraction,
                noise_multiplier: noise_multiplier / k,
                diameter: *diameter,
                adjacency: *adjacency,
            }
        }
        Event::Laplace { noise_multiplier, adjacency } => {
            Event::Laplace { noise_multiplier: noise_multiplier / k, adjacency: *adjacency }
        }
        Event::L2Laplace { epsilon, adjacency } | Event::PureDp { epsilon, adjacency } => {
            Event::PureDp { epsilon: k * epsilon, adjacency: *adjacency }
        }
        Event::Zcdp { rho, adjacency } => Event::Zcdp { rho: k * k * rho, adjacency: *adjacency },
        Event::Repeated { event, times } => {
            Event::Repeated { event: Box::new(scaled_for_group(event, size)?), times: *times }
        }
        Event::Composed(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(|e| scaled_for_group(e, size)).collect();
            Event::Composed(parts?)
        }
        _ => return None,
    })
}

impl Curve {
    fn by(delta: impl Fn(f64) -> f64 + 'static) -> Self {
        Self { delta: Box::new(delta), deltas: None, epsilon: None }
    }

    /// The best of the Rényi orders.
    fn by_orders(curve: impl Fn(f64) -> f64 + 'static) -> Self {
        let curve = Rc::new(curve);
        let copy = Rc::clone(&curve);
        Self {
            delta: Box::new(move |e| rdp::delta_of_curve(|a| curve(a), e).0),
            deltas: None,
            epsilon: Some(Box::new(move |d| rdp::epsilon_of_curve(|a| copy(a), d).0)),
        }
    }

    /// The curve of an event that has no pair; `scale` is the size of `δ` that matters.
    pub(crate) fn of(event: &Event, scale: f64) -> Result<Self, PrivacyError> {
        let or_one = |r: Result<f64, PrivacyError>| r.unwrap_or(1.0);
        match event {
            Event::HitMixture { hits, shift, drift, cap, adjacency } => {
                if !adjacency.replaces() {
                    return Err(PrivacyError::Adjacency {
                        event: event.name(),
                        adjacency: *adjacency,
                        reason: "the theorem couples two data sets of the same size; use replace-one",
                    });
                }
                let law = HitLaw::new(*hits, (1e-9 * scale).max(1e-60))?;
                let (shift, drift, cap) = (*shift, *drift, *cap);
                Ok(Self::by(move |e| law.delta_upper(e, shift, drift, cap)))
            }
            Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu, adjacency } => {
                let objective = Objective {
                    class: *class,
                    epsilon_det: *epsilon_det,
                    slope: *slope,
                    output_mu: *output_mu,
                    adjacency: *adjacency,
                };
                objective.delta_upper(1.0)?;
                Ok(Self::by(move |e| or_one(objective.delta_upper(e))))
            }
            Event::Shuffled { epsilon0, delta0, rows, adjacency } => {
                refuse_add_remove(event, *adjacency)?;
                let (epsilon0, delta0, rows) = (*epsilon0, *delta0, *rows);
                Ok(Self::by(move |e| {
                    // The local guarantee holds without the shuffle, too.
                    let local = crate::pair::randomized_response_delta(e, epsilon0, delta0);
                    or_one(shuffle::shuffle_total_delta(e, epsilon0, delta0, rows)).min(local)
                }))
            }
            Event::ShuffledGdp { local_mu, rows, adjacency } => {
                refuse_add_remove(event, *adjacency)?;
                let (mu, rows) = (*local_mu, *rows);
                if mu == 0.0 {
                    return Ok(Self::by(|_| 0.0));
                }
                Ok(Self::by(move |e| or_one(shuffle::shuffle_gdp_delta(e, mu, rows))))
            }
            Event::RandomStop { .. } => {
                let Some(mean) = stopped(event) else { return Self::unsupported(event) };
                let (copy, again) = (mean.clone(), mean.clone());
                Ok(Self {
                    delta: Box::new(move |e| query::delta_upper_of(&mean, e)),
                    deltas: Some(Box::new(move |e| query::deltas_upper_of(&again, e))),
                    epsilon: Some(Box::new(move |d| query::epsilon_upper_of(&copy, d))),
                })
            }
            // Of a draw that is told, δ is the mean of the parts' own.
            Event::Disjoint { parts, .. } | Event::OneOf(parts) => disjoint(event, parts),
            Event::Group { base, size } => {
                if let Some(scaled) = scaled_for_group(base, *size) {
                    crate::delta_upper(&scaled, 1.0)?;
                    let (copy, again) = (scaled.clone(), scaled.clone());
                    return Ok(Self {
                        delta: Box::new(move |e| or_one(crate::delta_upper(&scaled, e))),
                        deltas: Some(Box::new(move |e| or_ones(&again, e))),
                        epsilon: Some(Box::new(move |d| {
                            crate::epsilon_upper(&copy, d).unwrap_or(f64::INFINITY)
                        })),
                    });
                }
                crate::delta_upper(base, 1.0)?;
                let (base, size) = (base.as_ref().clone(), *size);
                Ok(Self::by(move |e| {
                    let one = e / size as f64;
                    crate::composition::group(one, or_one(crate::delta_upper(&base, one)), size).1
                }))
            }
            Event::Zcdp { rho: 0.0, .. } => Ok(Self::by(|_| 0.0)),
            Event::Zcdp { .. } => Ok(Self::by_orders(rdp::event_curve(event)?)),
            Event::Tuned { base, trials } => tuned(event, base, *trials),
            _ => Self::unsupported(event),
        }
    }

    fn unsupported(event: &Event) -> Result<Self, PrivacyError> {
        Err(PrivacyError::Unsupported {
            accountant: "exact",
            event: event.name(),
            reason: "it has no curve of its own",
        })
    }

    /// `δ` at `epsilon`.
    pub(crate) fn delta_upper(&self, epsilon: f64) -> f64 {
        let d = (self.delta)(epsilon);
        if d.is_nan() { 1.0 } else { d.clamp(0.0, 1.0) }
    }

    /// `δ` at each of these, which ascend.
    pub(crate) fn deltas_upper(&self, epsilons: &[f64]) -> Vec<f64> {
        let Some(deltas) = &self.deltas else {
            return epsilons.iter().map(|&epsilon| self.delta_upper(epsilon)).collect();
        };
        let bound = |d: f64| if d.is_nan() { 1.0 } else { d.clamp(0.0, 1.0) };
        deltas(epsilons).into_iter().map(bound).collect()
    }

    /// The least `ε` with `δ(ε) <= delta`, from above.
    pub(crate) fn epsilon_upper(&self, delta: f64) -> f64 {
        if let Some(epsilon) = &self.epsilon {
            return epsilon(delta);
        }
        let ok = |e: f64| self.delta_upper(e) <= delta;
        if ok(0.0) {
            return 0.0;
        }
        let mut high = 1e-3;
        while !ok(high) {
            high *= 2.0;
            if high > 1e12 {
                return f64::INFINITY;
            }
        }
        let (mut bad, mut good) = (if high > 1e-3 { 0.5 * high } else { 0.0 }, high);
        while good - bad > 1e-10 * good {
            let middle = 0.5 * (bad + good);
            if ok(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    }

    /// A symmetric pair through points of the curve, down to `δ` about `tail`, and where it is
    /// zero.
    pub(crate) fn table(&self, tail: f64) -> Pair {
        let end = self.epsilon.as_ref().map(|epsilon| epsilon(tail));
        let is_above = |e: f64| end.map_or_else(|| self.delta_upper(e) > tail, |end| e < end);
        let mut high = 1e-2;
        while is_above(high) && high < 600.0 {
            high *= 1.5;
        }
        let place = |i: u32| high * (f64::from(i) / f64::from(POINTS)).powf(1.5);
        let epsilons: Vec<f64> = (0..=POINTS).map(place).collect();
        let points = epsilons.iter().copied().zip(self.deltas_upper(&epsilons));
        // Where the loss ends, if it does: the points may stop before.
        let end = self.epsilon_upper(0.0);
        Pair::Table(PairTable::new(points.chain([(end, 0.0)])))
    }
}

/// The shift of a choice, searched for once.
fn shift(event: &Event, base: &Event, trials: Trials) -> Result<Option<Shift>, PrivacyError> {
    let known = SHIFT.with_borrow(|kept| {
        kept.as_ref().filter(|(known, _)| known == event).map(|(_, shift)| *shift)
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let found = Shift::of(trials, |e| query::deltas_upper(base, e))?;
    SHIFT.with_borrow_mut(|kept| *kept = Some((event.clone(), found)));
    Ok(found)
}

/// The best of several runs: by the base's profile and by its Rényi curve, if it has one.
fn tuned(event: &Event, base: &Event, trials: Trials) -> Result<Curve, PrivacyError> {
    let orders = rdp::event_curve(event).map(Curve::by_orders);
    let profile = shift(event, base, trials);
    // A base that is refused has no profile, and one that tells all has none that is of use.
    let Ok(Some(shift)) = profile else { return orders };
    let orders = orders.ok().map(Rc::new);
    let (of_deltas, of_epsilon) = (orders.clone(), orders);
    let (base, copy) = (Rc::new(base.clone()), Rc::new(base.clone()));
    let deltas: Rc<SharedDeltas> = Rc::new(move |epsilons: &[f64]| {
        let inner: Vec<f64> = epsilons.iter().filter_map(|&e| shift.base(e)).collect();
        let known = or_ones(&base, &inner).into_iter().map(|d| shift.delta(d));
        // An epsilon below the shift has no bound here; the list ascends.
        let none = std::iter::repeat_n(1.0, epsilons.len() - inner.len());
        let by_orders = |e: f64| of_deltas.as_ref().map_or(1.0, |orders| orders.delta_upper(e));
        none.chain(known).zip(epsilons).map(|(d, &e)| f64::min(d, by_orders(e))).collect()
    });
    let one = Rc::clone(&deltas);
    let epsilon = move |delta: f64| {
        let base = crate::epsilon_upper(&copy, shift.base_delta(delta)).unwrap_or(f64::INFINITY);
        let by_orders = of_epsilon.as_ref().map_or(f64::INFINITY, |o| o.epsilon_upper(delta));
        shift.epsilon(base).min(by_orders)
    };
    Ok(Curve {
        delta: Box::new(move |e| one(&[e])[0]),
        deltas: Some(Box::new(move |e| deltas(e))),
        epsilon: Some(Box::new(epsilon)),
    })
}

/// Disjoint parts: the worst part, and for rows that may move, the worst removal from one with
/// addition to another.
fn disjoint(event: &Event, parts: &[Event]) -> Result<Curve, PrivacyError> {
    let events: Vec<Event> = parts.to_vec();
    for part in &events {
        crate::delta_upper(part, 1.0)?;
    }
    let stays = !matches!(event, Event::Disjoint { fixed_partition: false, .. });
    let moves = match event.adjacency()?.map(Adjacency::relation) {
        Some(Relation::Replace) if !stays => moving(event, parts)?,
        Some(Relation::Replace | Relation::AddRemove | Relation::ZeroOut) | None => Vec::new(),
    };
    let (copy, moves_too) = (events.clone(), moves.clone());
    let (again, moves_again) = (events.clone(), moves.clone());
    let deltas = move |e: &[f64]| {
        let stay = again.iter().map(|part| or_ones(part, e));
        let all = stay.chain(moves_again.iter().map(|moving| moving.deltas_upper(e)));
        all.fold(vec![0.0; e.len()], |most, part| {
            most.into_iter().zip(part).map(|(most, d)| f64::max(most, d)).collect()
        })
    };
    let delta = move |e: f64| {
        let stay = events.iter().map(|p| crate::delta_upper(p, e).unwrap_or(1.0));
        stay.chain(moves.iter().map(|m| m.delta_upper(e))).fold(0.0, f64::max)
    };
    let epsilon = move |d: f64| {
        let stay = copy.iter().map(|p| crate::epsilon_upper(p, d).unwrap_or(f64::INFINITY));
        stay.chain(moves_too.iter().map(|m| m.epsilon_upper(d))).fold(0.0, f64::max)
    };
    Ok(Curve {
        delta: Box::new(delta),
        deltas: Some(Box::new(deltas)),
        epsilon: Some(Box::new(epsilon)),
    })
}

/// The bounds of [`query::deltas_upper`], and 1 where it refuses.
fn or_ones(event: &Event, epsilons: &[f64]) -> Vec<f64> {
    query::deltas_upper(event, epsilons).unwrap_or_else(|_| vec![1.0; epsilons.len()])
}

/// One part's removal composed with another's addition, for all ordered pairs of parts.
fn moving(event: &Event, parts: &[Event]) -> Result<Vec<Composition>, PrivacyError> {
    let restated: Option<Vec<Event>> = parts.iter().map(as_add_remove).collect();
    let Some(restated) = restated else {
        refuse_moving_rows(event)?;
        return Ok(Vec::new());
    };
    let mut pairs = Vec::new();
    for part in &restated {
        pairs.push(self::parts(part)?.pairs);
    }
    let mut moves: Vec<Composition> = Vec::new();
    for (i, from) in pairs.iter().enumerate() {
        for (j, to) in pairs.iter().enumerate() {
            if i != j {
                let added = to.iter().map(|(pair, times)| (pair.reversed(), *times));
                let both = Composition::new(from.iter().cloned().chain(added));
                if !moves.contains(&both) {
                    moves.push(both);
                }
            }
        }
    }
    Ok(moves)
}

/// The event for a row added or removed, where its units allow it to be restated.
fn as_add_remove(event: &Event) -> Option<Event> {
    Some(match event {
        Event::None => Event::None,
        Event::PoissonGaussian { sample_rate, noise_multiplier, steps, .. } => {
            Event::PoissonGaussian {
                sample_rate: *sample_rate,
                noise_multiplier: *noise_multiplier,
                steps: *steps,
                adjacency: Adjacency::AddRemoveOne,
            }
        }
        Event::Composed(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(as_add_remove).collect();
            Event::Composed(parts?)
        }
        Event::Repeated { event, times } => {
            Event::Repeated { event: Box::new(as_add_remove(event)?), times: *times }
        }
        _ => return None,
    })
}
