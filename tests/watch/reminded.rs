//! A question ends around the moment of its reminder.

use std::time::Duration;

use askbox::mailbox::{Caller, Mailbox, Question, WorkflowId, time};
use chrono::TimeDelta;

use crate::support::{World, until};

/// The number of questions, each with a moment of its own.
const MOMENTS: i64 = 200;

mod promises {
    use super::*;

    #[test]
    fn a_question_that_ends_around_its_reminder_leaves_no_timer() {
        let world = World::at_home();
        world.make_mailbox();
        world.sh("relaunch pause --why 'no agent is needed'");
        let mailbox = Mailbox::open(world.mailbox()).unwrap();
        let ann = Caller::person("ann", "test").unwrap();
        let _watcher = world.watch();
        let first = time::now() + TimeDelta::seconds(3);
        let due = |n: i64| first + TimeDelta::milliseconds(10 * n);
        let ids: Vec<_> = (0..MOMENTS).map(|n| format!("w{n}").parse::<WorkflowId>().unwrap()).collect();
        for (n, id) in (0..).zip(&ids) {
            let mut question = Question::new(id.clone(), "Which?").with_options([("a", "A")]);
            question.remind_every = Some(time::Span(Duration::from_secs(3600)));
            question.timestamp = Some(time::rfc3339(due(n) - TimeDelta::hours(1)));
            mailbox.post(question).unwrap();
        }
        for (n, id) in (0..).zip(&ids) {
            // From a millisecond before until a millisecond after.
            let moment = due(n) + TimeDelta::microseconds(10 * n - 1000);
            while time::now() < moment {
                std::hint::spin_loop();
            }
            if n % 2 == 0 {
                mailbox.answer(id).unwrap().by(&ann).value("a").unwrap();
            } else {
                mailbox.withdraw(id, "ann", None).unwrap();
            }
        }
        let now = time::rfc3339(time::now()).replace(['-', ':'], "");
        until("the watcher has looked at each date", || world.names("timers").iter().all(|name| *name > now));
        assert_eq!(world.names("timers"), [] as [&str; 0], "timers of questions that are over");
        world.sh("askbox gc --keep 0s");
        assert_eq!(world.names("timers"), [] as [&str; 0], "timers of pruned rounds");
        for id in &ids {
            let audit = world.audit(id.as_str());
            assert_ne!(audit.last().map(String::as_str), Some("reminded"), "{id}: {audit:?}");
        }
    }
}
