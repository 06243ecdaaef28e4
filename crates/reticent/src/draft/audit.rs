//! The auditor against a whole draft: the output of [`Draft::release`] on two neighbouring tables
//! of the worst kind, judged by [`judge`] as the algorithms are. A sound draft stays below its
//! claim, and a copy with too little noise is caught: half of the noise that is paid for, but where
//! a test says less.
//!
//! Copies are broken by a changed number of the written plan. Each audit errs with odds of at most
//! 1e-4, and the noise is seeded; there are 12 audits of sound drafts, so over seeds one of them
//! would cry wolf in one of 800 runs.

use reticent_noise::Source;
use reticent_optim::draft::DraftPlan;
use reticent_privacy::audit::{Audit, judge};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, epsilon_upper};
use reticent_problem::declaration::{Skeleton, SkeletonColumn, SkeletonType};

use super::{Draft, DraftCounts, grid};

const CONFIDENCE: f64 = 0.9999;
const DELTA: f64 = 1e-2;
const RUNS: usize = 8_000;

/// Columns of a table, all alike: a row moves them together.
const COLUMNS: usize = 4;

const ADJACENCIES: [Adjacency; 3] =
    [Adjacency::ReplaceOne, Adjacency::AddRemoveOne, Adjacency::ZeroOut];

/// A table as the cells of its rows, each in every column.
type Cells = Vec<String>;

fn rows(cell: &str, times: usize) -> Cells {
    vec![cell.to_owned(); times]
}

/// A draft of columns that are all like one.
fn draft(column: &SkeletonColumn, adjacency: Adjacency, (epsilon, delta): (f64, f64)) -> Draft {
    let columns = (0..COLUMNS).map(|i| SkeletonColumn { name: format!("c{i}"), ..column.clone() });
    let skeleton = Skeleton { columns: columns.collect(), ..Skeleton::default() };
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    Draft::plan(skeleton, 0, 200, Budget { epsilon, delta, adjacency }).unwrap()
}

/// The neighbour of a table whose first row holds another cell, is absent or empty.
fn neighbour(table: &Cells, other: &str, adjacency: Adjacency) -> Cells {
    let mut table = table.clone();
    match adjacency {
        Adjacency::AddRemoveOne => _ = table.remove(0),
        Adjacency::ZeroOut => table[0].clear(),
        _ => other.clone_into(&mut table[0]),
    }
    table
}

fn counts(draft: &Draft, table: &Cells) -> DraftCounts {
    let mut counting = draft.counting();
    for cell in table {
        counting.row(&[cell.as_bytes(); COLUMNS], false);
    }
    counting.sealed()
}

/// The audit of the released columns, each scored, on both tables.
fn judged(draft: &Draft, tables: [&Cells; 2], score: &dyn Fn(&SkeletonColumn) -> f64) -> Audit {
    let [with, without] = [0, 1].map(|i| {
        let (counts, source) = (counts(draft, tables[i]), Source::seeded_not_private(i as u64));
        let run = |_| {
            let (schema, ..) = draft.clone().release(counts.clone(), &source, None).unwrap();
            schema.columns.iter().map(score).sum()
        };
        (0..RUNS).map(run).collect::<Vec<f64>>()
    });
    judge(&with, &without, DELTA, CONFIDENCE).unwrap()
}

/// A cell of the grid and the one above it: a number in each, and the bound that is drawn for it.
fn two_cells() -> [(f64, f64); 2] {
    let grid = grid();
    let first = grid.partition_point(|g| *g <= 10.0) - 1;
    [first, first + 1].map(|cell| (0.5 * (grid[cell] + grid[cell + 1]), grid[cell - 1]))
}

/// The edge of a rank: so many numbers as the rank lie in one cell, and a row moves one of them
/// out. The upper ends are public.
#[test]
fn a_rank_on_the_edge_keeps_the_claim_and_half_the_noise_is_caught() {
    let mut column = SkeletonColumn::new("", Some(SkeletonType::Real));
    column.ends[1] = Some(1000.0);
    let [(low, drawn_low), (high, drawn_high)] = two_cells();
    let score = |column: &SkeletonColumn| match column.ends[0] {
        Some(end) if end == drawn_low => 1.0,
        Some(end) if end == drawn_high => -1.0,
        _ => 0.0,
    };
    for adjacency in ADJACENCIES {
        let sound = draft(&column, adjacency, (2.0, DELTA));
        let claim = epsilon_upper(&sound.plan.event, DELTA).unwrap();
        let attack = |draft: &Draft| {
            let rank = draft.plan.off().ceil() as usize;
            let table = [rows(&low.to_string(), rank), rows(&high.to_string(), 4 * rank)].concat();
            let other = neighbour(&table, &high.to_string(), adjacency);
            judged(draft, [&table, &other], &score)
        };
        let found = attack(&sound);
        assert!((0.3..=1.0).contains(&(found.epsilon_lower / claim)), "{adjacency}: {found:?}");
        let mut broken = sound.clone();
        broken.plan.rank_epsilon *= 2.0;
        let caught = attack(&broken);
        assert!(caught.epsilon_lower > claim, "{adjacency}: {caught:?} of {claim}");
    }
}

/// Two names about as frequent as the threshold asks, and a row that holds one or the other.
#[test]
fn names_at_the_threshold_keep_the_claim_and_half_the_noise_is_caught() {
    let column = SkeletonColumn::new("", Some(SkeletonType::Categorical));
    let score = |column: &SkeletonColumn| {
        let shown = |name: &str| {
            let names = column.categories.iter().flatten();
            f64::from(u8::from(names.into_iter().any(|known| known == name)))
        };
        shown("z") - shown("w")
    };
    for adjacency in ADJACENCIES {
        let sound = draft(&column, adjacency, (2.0, DELTA));
        let claim = epsilon_upper(&sound.plan.event, DELTA).unwrap();
        let attack = |draft: &Draft| {
            let count = draft.plan.threshold().unwrap().round() as usize;
            let table = [rows("z", count), rows("w", count - 1)].concat();
            let other = neighbour(&table, "w", adjacency);
            judged(draft, [&table, &other], &score)
        };
        let found = attack(&sound);
        assert!((0.3..=1.0).contains(&(gaussian(&found) / claim)), "{adjacency}: {found:?}");
        let mut broken = sound.clone();
        broken.plan.name_multiplier *= 0.5;
        let caught = attack(&broken);
        assert!(gaussian(&caught) > claim, "{adjacency}: {caught:?} of {claim}");
    }
}

/// A name of one row: it is shown with the chance that delta pays for, and with a threshold for a
/// larger delta than what is paid the profile is exceeded.
#[test]
fn a_lone_name_keeps_the_claim_and_a_lower_threshold_is_caught() {
    let column = SkeletonColumn::new("", Some(SkeletonType::Categorical));
    let score = |column: &SkeletonColumn| {
        let shown = column.categories.iter().flatten().any(|name| name == "z");
        f64::from(u8::from(shown))
    };
    for adjacency in ADJACENCIES {
        let sound = draft(&column, adjacency, (0.5, DELTA));
        let table = [rows("z", 1), rows("a", 150)].concat();
        let other = neighbour(&table, "a", adjacency);
        let found = judged(&sound, [&table, &other], &score);
        assert!(found.delta_lower(0.5) <= DELTA, "{adjacency}: {found:?}");
        let mut broken = sound.clone();
        broken.plan.budget.delta = Delta::new(0.99).unwrap();
        let caught = judged(&broken, [&table, &other], &score);
        assert!(caught.delta_lower(0.5) > DELTA, "{adjacency}: {caught:?}");
    }
}

/// As many numbers as texts: a row decides the type of the columns. The claim is the vote's own
/// event, which is Gaussian. Half the noise is caught where a row is replaced; where it is added, a
/// quarter.
#[test]
fn a_vote_on_the_edge_keeps_the_claim_and_too_little_noise_is_caught() {
    let column = SkeletonColumn::new("", None);
    let score = |column: &SkeletonColumn| {
        f64::from(u8::from(column.kind != Some(SkeletonType::Categorical)))
    };
    for adjacency in ADJACENCIES {
        let sound = draft(&column, adjacency, (8.0, DELTA));
        let claim = epsilon_upper(&vote(&sound.plan), DELTA).unwrap();
        let attack = |draft: &Draft| {
            // Noise of other numbers counts where it is positive: 0.4 of its deviation on average.
            let bias = (0.4 * draft.plan.type_deviation().unwrap()).round() as usize;
            let table = [rows("7", 60), rows("seven", 60 + bias)].concat();
            let other = neighbour(&table, "seven", adjacency);
            judged(draft, [&table, &other], &score)
        };
        let found = attack(&sound);
        // A row that is added moves one of the two counts, whose noise is that of both.
        let (share, left) = match adjacency {
            Adjacency::ReplaceOne => (0.2, 0.5),
            _ => (0.05, 0.25),
        };
        assert!((share..=1.0).contains(&(gaussian(&found) / claim)), "{adjacency}: {found:?}");
        let mut broken = sound.clone();
        broken.plan.type_multiplier *= left;
        let caught = attack(&broken);
        assert!(gaussian(&caught) > claim, "{adjacency}: {caught:?} of {claim}");
    }
}

/// The lower bound on epsilon for a claim of Gaussian noise: no trade-off curve lies above that of
/// two normal laws.
fn gaussian(audit: &Audit) -> f64 {
    audit.epsilon_lower.max(audit.epsilon_lower_gdp)
}

/// The privacy cost of the counts of types alone.
fn vote(plan: &DraftPlan) -> Event {
    match &plan.event {
        Event::Composed(parts) => parts[0].clone(),
        other => other.clone(),
    }
}
