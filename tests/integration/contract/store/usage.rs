//! Token usage of model servers.

use std::sync::Arc;

use recall_domain::{Day, DayUsage, MessageId, ModelOperation, Spending, TokenCount};
use recall_ports::{Store, UsageTotals};

use super::given::{World, at, fresh};

fn tokens(input: u64, output: u64) -> TokenCount {
    TokenCount { input, output }
}

pub(super) async fn token_usage_is_counted_by_day_and_message(store: Arc<dyn Store>) {
    // Days unique to this test, because the total covers all users of the store.
    let today = Day(30_000 + i32::try_from(fresh().as_u128() % 1_000_000).unwrap() * 10);
    let w = World::new(&store);
    let (kept, gone) = (w.session().await, w.session().await);
    let (a, b) = (w.note(kept, "a").await.id, w.note(gone, "b").await.id);
    let never = MessageId(fresh());
    use ModelOperation::{Answer, Extract};
    for (day, operation, used, messages) in [
        (today.before(1), Extract, tokens(1, 2), vec![(a, tokens(1, 2))]),
        (today, Extract, tokens(10, 20), vec![(a, tokens(5, 10)), (b, tokens(5, 10))]),
        (today, Extract, tokens(100, 200), vec![(never, tokens(100, 200))]),
        (today, Answer, tokens(1_000, 2_000), vec![(a, tokens(1_000, 2_000))]),
    ] {
        store.spend(&w.caller, day, &Spending { operation, tokens: used, messages }).await.unwrap();
    }
    let day = |day, operation, requests, tokens| DayUsage { day, operation, requests, tokens };
    let of_today = [day(today, Answer, 1, tokens(1_000, 2_000)), day(today, Extract, 2, tokens(110, 220))];
    let before = day(today.before(1), Extract, 1, tokens(1, 2));
    assert_eq!(store.usage_since(&w.caller, today).await.unwrap(), of_today);
    assert_eq!(store.usage_since(&w.caller, today.before(5)).await.unwrap(), [&of_today[..], std::slice::from_ref(&before)].concat());
    assert_eq!(store.spent(&w.caller, today).await.unwrap(), UsageTotals { own: 3_330, visitors: 0, all: 3_330 });
    assert_eq!(store.spent(&w.caller, today.before(2)).await.unwrap(), UsageTotals::default());
    let mut of_messages = store.usage_of_messages(&w.caller, &[a, b, never]).await.unwrap();
    of_messages.sort_by_key(|(_, t)| t.input);
    assert_eq!(of_messages, [(b, tokens(5, 10)), (a, tokens(1_006, 2_012))]);

    // Somebody of whom nothing is stored yet, such as in a temporary chat.
    let stranger = World::new(&store);
    let spending = Spending { operation: Answer, tokens: tokens(1, 2), messages: vec![] };
    store.spend(&stranger.caller, today, &spending).await.unwrap();
    assert_eq!(store.spent(&stranger.caller, today).await.unwrap(), UsageTotals { own: 3, visitors: 0, all: 3_333 });

    // A deletion of messages does not change the usage of the day.
    store.delete_session(&w.caller, gone, at(9), &|_, _| None).await.unwrap();
    assert_eq!(store.usage_of_messages(&w.caller, &[a, b]).await.unwrap(), [(a, tokens(1_006, 2_012))]);
    assert_eq!(store.usage_since(&w.caller, today).await.unwrap(), of_today);
}
