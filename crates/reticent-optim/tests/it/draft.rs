//! The price of a draft.
use reticent_optim::draft::{DraftPlan, DraftShape};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, epsilon_upper};

/// Both bounds of a column that is looked at twice are paid for: two ranks for each such column
/// come on top of all others, in the event and in what each rank may spend.
#[test]
fn a_second_look_is_paid_for() {
    let plan = |refined| {
        let shape =
            DraftShape { unknown: 3, numbers: 5, categories: 1, knots: 2, ends: 1, refined };
        let (epsilon, delta) = (Epsilon::new(0.5).unwrap(), Delta::new(1e-6).unwrap());
        let budget = Budget { epsilon, delta, adjacency: Adjacency::ReplaceOne };
        DraftPlan::new(shape, budget).unwrap()
    };
    let times = |plan: &DraftPlan| {
        let Event::Composed(events) = &plan.event else { panic!("{:?}", plan.event) };
        let ranks = events.iter().find_map(|event| match event {
            Event::Repeated { times, .. } => Some(*times),
            _ => None,
        });
        ranks.unwrap()
    };
    let once = plan(0);
    assert_eq!(times(&once), 8 * 4 - 1);
    for refined in [1, 2, 7] {
        let twice = plan(refined);
        assert_eq!(times(&twice), times(&once) + 2 * refined as u64);
        assert!(twice.rank_epsilon < once.rank_epsilon);
        // At the price of one look, the draws of both are beyond the budget.
        let Event::Composed(mut events) = twice.event.clone() else { panic!() };
        for event in &mut events {
            if let Event::Repeated { event, .. } = event {
                let adjacency = Adjacency::ReplaceOne;
                **event = Event::BoundedRange { epsilon: once.rank_epsilon, adjacency };
            }
        }
        assert!(epsilon_upper(&Event::Composed(events), 1e-6).unwrap() > 0.5, "{refined}");
    }
}
