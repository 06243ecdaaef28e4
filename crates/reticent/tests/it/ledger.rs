//! The ledger itself: the charges that it admits, and that a record stays as it was written.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

use std::fmt::Write as _;
use std::path::Path;

use reticent::ledger::{Cost, Filter, Ledger, Room};
use reticent::privacy::{
    Adjacency, Budget, Delta, Epsilon, Event, ObjectiveClass, delta_upper, epsilon_upper,
};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

const ADJACENCY: Adjacency = Adjacency::ReplaceOne;

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: ADJACENCY,
    }
}

/// Some events of all sizes and kinds, without pattern.
fn event(i: u64) -> Event {
    let size = 0.02 + 0.08 * ((i * 37 % 11) as f64 / 11.0);
    match i % 4 {
        0 => Event::Gdp { mu: size, adjacency: ADJACENCY },
        1 => Event::PureDp { epsilon: size, adjacency: ADJACENCY },
        2 => Event::ApproxDp { epsilon: size, delta: 1e-9, adjacency: ADJACENCY },
        _ => Event::PoissonGaussian {
            sample_rate: 0.01,
            noise_multiplier: 1.0 / size.sqrt(),
            steps: 20,
            adjacency: ADJACENCY,
        },
    }
}

#[test]
fn what_was_let_through_never_exceeds_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    for (k, filter) in [Filter::Auto, Filter::Gaussian, Filter::Basic].into_iter().enumerate() {
        let path = folder.path().join(format!("{k}.ledger"));
        let budget = budget(1.0, 1e-6);
        let ledger = Ledger::create(&path, budget, filter).unwrap();
        let mut refused = 0;
        for i in 0..40 {
            refused += u32::from(ledger.charge_event("one", &event(i + k as u64), 1e-9).is_err());
        }
        let standing = ledger.standing().unwrap();
        assert!(refused > 0 && standing.charges.len() > 3, "{filter:?}: {refused}");
        // The first was fixed in advance; the others never take more than was left then.
        let first = &standing.charges[0];
        assert_eq!(first.cost, Cost::Planned);
        let (mut sum, mut leaked) = (0.0, 0.0);
        for line in &standing.charges[1..] {
            let leak = match line.cost {
                Cost::Gaussian { mu, leak } => {
                    sum += mu * mu;
                    leak
                }
                Cost::Basic { epsilon, leak } => {
                    sum += epsilon;
                    leak
                }
                Cost::Planned => panic!("{line:?}"),
            };
            leaked += leak;
        }
        let event = &first.item.event;
        let beside =
            |further| delta_upper(&Event::Composed(vec![event.clone(), further]), 1.0).unwrap();
        let (leak, delta) = match standing.room.unwrap() {
            Room::Gaussian { mu, leak } => {
                assert!(sum <= mu * mu);
                (leak, beside(Event::Gdp { mu, adjacency: ADJACENCY }))
            }
            Room::Basic { epsilon, leak } => {
                assert!(sum <= epsilon * (1.0 + 1e-12));
                let first = epsilon_upper(event, 1e-6 - leak).unwrap();
                let by_sum = first + epsilon <= 1.0 + 1e-12;
                let delta = beside(Event::PureDp { epsilon, adjacency: ADJACENCY });
                (leak, if by_sum { 1e-6 - leak } else { delta })
            }
        };
        assert!(leaked <= leak);
        assert!(leak + delta <= 1e-6 * (1.0 + 1e-12));
        // So the product of pairs is within it too.
        assert!(standing.tight.unwrap() <= 1.0, "{filter:?}: {:?}", standing.tight);
    }
}

#[test]
fn a_budget_that_is_used_up_pays_for_no_leak() {
    let folder = tempfile::tempdir().unwrap();
    for (k, filter) in [Filter::Auto, Filter::Gaussian, Filter::Basic].into_iter().enumerate() {
        let path = folder.path().join(format!("{k}.ledger"));
        let ledger = Ledger::create(&path, budget(1.0, 1e-6), filter).unwrap();
        let whole = Event::ApproxDp { epsilon: 1.0, delta: 1e-6, adjacency: ADJACENCY };
        ledger.charge_event("all of it", &whole, 1e-6).unwrap();
        // It costs nothing but a chance of telling all, and that is spent.
        let leak = Event::ApproxDp { epsilon: 0.0, delta: 2e-7, adjacency: ADJACENCY };
        assert!(ledger.charge_event("a leak", &leak, 2e-7).is_err(), "{filter:?}");
        let other = Event::PureDp { epsilon: 0.1, adjacency: Adjacency::AddRemoveOne };
        assert!(ledger.charge_event("another adjacency", &other, 0.0).is_err());
    }
}

#[test]
fn what_was_done_elsewhere_cannot_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("elsewhere.ledger");
    let ledger = Ledger::create(&path, budget(1.0, 1e-6), Filter::Auto).unwrap();
    let number = ledger.charge_event("done", &event(0), 1e-9).unwrap();
    assert!(ledger.refund(number).is_err());
    assert!(ledger.standing().unwrap().room.is_some());
}

#[test]
fn pure_budgets_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pure.ledger");
    let ledger = Ledger::create(&path, budget(0.3, 0.0), Filter::Auto).unwrap();
    let tenth = Event::PureDp { epsilon: 0.1, adjacency: ADJACENCY };
    for _ in 0..3 {
        ledger.charge_event("a tenth", &tenth, 0.0).unwrap();
    }
    assert!(ledger.charge_event("a tenth", &tenth, 0.0).is_err());
    let noise = Event::Gdp { mu: 0.01, adjacency: ADJACENCY };
    assert!(ledger.charge_event("Gaussian", &noise, 0.0).is_err());
}

fn with_charges(path: &Path) -> Ledger {
    let ledger = Ledger::create(path, budget(1.0, 1e-6), Filter::Auto).unwrap();
    for i in 0..3 {
        ledger.charge_event("one", &event(i), 1e-9).unwrap();
    }
    ledger
}

#[test]
fn an_altered_record_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    with_charges(&path);
    let connection = Connection::open(&path).unwrap();
    assert!(connection.execute("UPDATE records SET body = '{}' WHERE number = 2", []).is_err());
    assert!(connection.execute("DELETE FROM records WHERE number = 2", []).is_err());
    connection.execute_batch("DROP TRIGGER keep_records; DROP TRIGGER keep_all_records").unwrap();
    let kept = std::fs::read(&path).unwrap();
    for change in [
        "UPDATE records SET body = replace(body, 'begun', 'claimed') WHERE number = 4",
        "UPDATE records SET time = '2020-01-01T00:00:00Z' WHERE number = 2",
        "DELETE FROM records WHERE number = 3",
        "UPDATE records SET number = 99 WHERE number = 5",
        "DELETE FROM secret",
        "DROP TABLE records",
    ] {
        std::fs::write(&path, &kept).unwrap();
        Ledger::open(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        assert!(Ledger::open(&path).is_err(), "{change}");
    }
}

/// Writes the chain of hashes again, as somebody would who alters a record and knows how it is
/// made.
fn forge(path: &Path, alter: impl Fn(&str) -> String) {
    let connection = Connection::open(path).unwrap();
    let read = || -> Vec<(i64, String, String)> {
        let mut query = connection.prepare("SELECT number, time, body FROM records").unwrap();
        let rows = query.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let kept: String = connection
        .query_row("SELECT sql FROM sqlite_master WHERE name = 'keep_records'", [], |r| r.get(0))
        .unwrap();
    connection.execute_batch("DROP TRIGGER keep_records").unwrap();
    let mut hash = String::new();
    for (number, time, body) in read() {
        let body = alter(&body);
        let text = format!("{hash}\n{number}\n{time}\n{body}");
        hash = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        });
        let change = "UPDATE records SET body = ?1, hash = ?2 WHERE number = ?3";
        connection.execute(change, (&body, &hash, number)).unwrap();
    }
    connection.execute_batch(&kept).unwrap();
}

#[test]
fn a_check_computes_what_the_records_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    let ledger = with_charges(&path);
    let checked = ledger.check().unwrap();
    assert_eq!((checked.charges, checked.records), (3, ledger.history().unwrap().len()));
    let whole = std::fs::read(&path).unwrap();
    forge(&path, str::to_owned);
    assert_eq!(ledger.check().unwrap().last_hash, checked.last_hash);
    // A chain that holds, and costs that do not.
    for (from, to) in [("\"mu\":0.0", "\"mu\":0.00"), ("\"mu\":0.2", "\"mu\":0.9")] {
        std::fs::write(&path, &whole).unwrap();
        forge(&path, |body| body.replace(from, to));
        let altered = Ledger::open(&path).unwrap();
        assert_ne!(altered.history().unwrap(), checked_history(&whole, &folder), "{from}");
        let why = altered.check().unwrap_err().to_string();
        assert!(why.contains("does not follow") && why.contains("restore a copy"), "{why}");
    }
    std::fs::write(&path, &whole).unwrap();
    Connection::open(&path).unwrap().execute_batch("DROP TRIGGER keep_all_records").unwrap();
    assert!(ledger.check().unwrap_err().to_string().contains("triggers"));
}

/// The history of a file with these contents.
fn checked_history(contents: &[u8], folder: &tempfile::TempDir) -> Vec<reticent::ledger::Record> {
    let path = folder.path().join("whole");
    std::fs::write(&path, contents).unwrap();
    Ledger::open(&path).unwrap().history().unwrap()
}

#[test]
fn a_damaged_file_is_never_answered_with_a_new_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    with_charges(&path);
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 50, 100, 512, 4096, 5000, 8192, 12000] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let why = Ledger::open(&path).unwrap_err().to_string();
        assert!(why.contains("restore a copy") && !why.contains("init"), "{length}: {why}");
    }
    let why = Ledger::open(&folder.path().join("absent")).unwrap_err().to_string();
    assert!(why.contains("is not there") && why.contains("`reticent ledger init`"), "{why}");
}

#[test]
fn a_refusal_in_the_wrong_units_says_what_would_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    let ledger = Ledger::create(&path, budget(5.0, 1e-6), Filter::Gaussian).unwrap();
    ledger.charge_event("first", &Event::Gdp { mu: 0.02, adjacency: ADJACENCY }, 1e-7).unwrap();
    let pure = Event::ApproxDp { epsilon: 4.9, delta: 5e-7, adjacency: ADJACENCY };
    let why = ledger.charge_event("large", &pure, 5e-7).unwrap_err().to_string();
    assert!(why.contains("Gaussian units") && why.contains("--filter basic"), "{why}");
}

#[test]
fn the_key_stays_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    let ledger = with_charges(&path);
    let key: Vec<u8> = Connection::open(&path)
        .unwrap()
        .query_row("SELECT key FROM secret", [], |r| r.get(0))
        .unwrap();
    assert_eq!(key.len(), 32);
    let hex = key.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert!(!ledger.export().unwrap().to_string().contains(&hex));
}

#[test]
fn what_is_no_charge_is_refused_and_leaves_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    let ledger = Ledger::create(&path, budget(1.0, 1e-6), Filter::Auto).unwrap();
    let approx = |epsilon, delta| Event::ApproxDp { epsilon, delta, adjacency: ADJACENCY };
    let endless = Event::PureDp { epsilon: f64::INFINITY, adjacency: ADJACENCY };
    for (event, delta, word) in [
        (approx(f64::INFINITY, 0.0), 0.0, "`epsilon`"),
        (approx(f64::NAN, 0.0), 0.0, "`epsilon`"),
        (approx(-1.0, 0.0), 0.0, "`epsilon`"),
        (approx(0.1, f64::NAN), 0.0, "`delta`"),
        (approx(0.1, f64::INFINITY), 0.0, "`delta`"),
        (approx(0.1, -1e-9), 0.0, "`delta`"),
        (approx(0.1, 0.0), f64::NAN, "`delta`"),
        (approx(0.1, 0.0), f64::INFINITY, "`delta`"),
        (approx(0.1, 0.0), -1e-9, "`delta`"),
        // At this delta it has no bound.
        (approx(0.1, 1e-7), 0.0, "`epsilon`"),
        (endless.clone(), 0.0, "`epsilon`"),
        (Event::Composed(vec![approx(0.1, 0.0), endless]), 1e-9, "`epsilon`"),
        (Event::NotPrivate, 1e-9, "`epsilon`"),
        // Nothing to charge.
        (approx(0.0, 0.0), 0.0, "leave it out"),
        (Event::None, 0.0, "leave it out"),
    ] {
        let message = ledger.charge_event("one", &event, delta).unwrap_err().to_string();
        assert!(message.contains(word), "{event:?} {delta}: {message}");
        assert_eq!(ledger.history().unwrap().len(), 1, "{event:?} {delta}");
    }
    Ledger::open(&path).unwrap().charge_event("one", &approx(0.1, 1e-9), 1e-9).unwrap();
}

#[test]
fn a_chance_of_telling_all_takes_its_chance_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    for (k, filter) in [Filter::Auto, Filter::Gaussian, Filter::Basic].into_iter().enumerate() {
        let path = folder.path().join(format!("{k}.ledger"));
        let ledger = Ledger::create(&path, budget(1.0, 1e-6), filter).unwrap();
        let leak = Event::ApproxDp { epsilon: 0.0, delta: 1e-9, adjacency: ADJACENCY };
        ledger.charge_event("a leak", &leak, 1e-9).unwrap();
        let standing = ledger.standing().unwrap();
        assert!(standing.left_epsilon > 0.95, "{filter:?}: {}", standing.left_epsilon);
        let noise = Event::Gdp { mu: 0.05, adjacency: ADJACENCY };
        ledger.charge_event("a release after it", &noise, 1e-7).unwrap();
        assert!(ledger.standing().unwrap().tight.is_some_and(|epsilon| epsilon < 1.0));
    }
}

#[test]
fn what_is_dear_at_no_leak_is_tried_at_others() {
    // Its loss without a leak is finite and more than all that is left; a leak of a fourth of what
    // there is makes it small.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    let ledger = Ledger::create(&path, budget(1.0, 1e-5), Filter::Basic).unwrap();
    let objective = Event::ObjectivePerturbation {
        class: ObjectiveClass::Monotone,
        epsilon_det: 0.01,
        slope: 0.02,
        output_mu: 0.0,
        adjacency: ADJACENCY,
    };
    ledger.charge_event("first", &objective, 1e-7).unwrap();
    ledger.charge_event("second", &objective, 1e-7).unwrap();
    // Two parts, of which one is expensive: together their loss has a bound, and it is too much.
    let mixed = Event::Composed(vec![
        Event::Shuffled { epsilon0: 3.0, delta0: 0.0, rows: 100_000, adjacency: ADJACENCY },
        Event::PureDp { epsilon: 0.01, adjacency: ADJACENCY },
    ]);
    let number = ledger.charge_event("third", &mixed, 1e-7).unwrap();
    let cost = ledger.standing().unwrap().charges[number as usize - 1].cost;
    assert!(
        matches!(cost, Cost::Basic { leak, epsilon } if leak > 0.0 && epsilon < 1.0),
        "{cost:?}"
    );
}

#[test]
fn a_budget_without_delta_admits_no_gaussian_noise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.ledger");
    let ledger = Ledger::create(&path, budget(1.0, 0.0), Filter::Auto).unwrap();
    let adjacency = ADJACENCY;
    for event in [
        Event::PoissonGaussian { sample_rate: 0.5, noise_multiplier: 100.0, steps: 1, adjacency },
        Event::FixedSizeGaussian {
            batch: 1,
            rows: 2,
            noise_multiplier: 200.0,
            steps: 1,
            adjacency,
        },
        Event::Gaussian { noise_multiplier: 200.0, adjacency },
    ] {
        assert!(ledger.charge_event("noise", &event, 0.0).is_err(), "{event:?}");
    }
    ledger.charge_event("pure", &Event::PureDp { epsilon: 1.0, adjacency }, 0.0).unwrap();
}

#[test]
fn a_label_is_one_line_of_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.ledger");
    let ledger = Ledger::create(&path, budget(1.0, 1e-6), Filter::Auto).unwrap();
    for label in [
        "a\nb",
        "a\r",
        "\t",
        "\u{1b}[2Jcleared",
        "\0",
        "\u{85}",
        "\u{7f}",
        "\u{202e}ab",
        "a\u{2028}",
    ] {
        let message = ledger.charge_event(label, &event(0), 1e-9).unwrap_err().to_string();
        assert!(message.starts_with("`label` must be one line"), "{label:?}: {message}");
        assert_eq!(ledger.history().unwrap().len(), 1, "{label:?}");
    }
    ledger.charge_event("Zählung Nr. 2 – später", &event(0), 1e-9).unwrap();
}
