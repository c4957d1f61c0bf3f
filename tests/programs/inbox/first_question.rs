//! The moving picture of README, from a question to its result: `ASKBOX_WRITE_DOCS=1 tests/run programs inbox::first_question::` draws it from
//! the cells of a terminal.

use crate::programs::inbox::cells::movie;
use crate::programs::inbox::pictures::folder;
use crate::support::{Terminal, World, needs};

/// The size of the terminal, in columns and rows.
const SIZE: (u16, u16) = (96, 18);

/// The screens so far, each with the seconds that it is shown for.
struct Film<'a> {
    world: &'a World,
    terminal: Terminal<'a>,
    screens: Vec<(String, f32)>,
}

impl Film<'_> {
    /// Waits until the screen shows some words, and takes it.
    #[track_caller]
    fn take(&mut self, words: &str, seconds: f32) {
        self.terminal.see(words);
        self.terminal.settle();
        let home = self.world.path("").display().to_string();
        let screen = self.terminal.with_colours().replace(home.trim_end_matches('/'), "/home/ann");
        assert!(!screen.contains("askbox-test"), "{screen}");
        self.screens.push((screen, seconds));
    }

    /// Types a line, shows it, and presses enter.
    #[track_caller]
    fn types(&mut self, line: &str, seconds: f32) {
        self.terminal.burst(&[line]);
        self.take(line, seconds);
        self.terminal.press(&["Enter"]);
    }
}

#[test]
fn the_moving_picture_of_the_first_question_can_be_drawn() {
    needs!("tmux");
    let world = World::at_home();
    world.reconfigure("fake", "claude");
    world.agent_does("docs-42", "echo \"guide.md is ready; the answer was: $(checkpoint get docs-42 user_answer)\"");
    std::fs::create_dir(world.path("shop")).unwrap();
    let _watcher = world.watch();
    let terminal = Terminal::running(&world, (SIZE.0.into(), SIZE.1.into()), &["PS1=$ "], &["sh", "-c", "cd shop && exec sh"]);
    terminal.see("$");
    let mut film = Film { world: &world, terminal, screens: Vec::new() };

    film.types("# An agent saves its state, asks, and ends:", 1.5);
    film.types("checkpoint save docs-42 --step review --next-action 'apply the choice'", 2.0);
    film.take("checkpoints/docs-42.json", 1.0);
    film.types("ask-post 'Two sections overlap. Merge them?' -w docs-42 -o merge='Into one' -o keep='Both'", 2.5);
    film.take("QUESTION_POSTED:docs-42", 1.5);
    film.types("# You answer, today or next week:", 1.5);
    film.types("ask-answer", 1.0);
    film.take("1 question is waiting", 2.0);
    film.terminal.press(&["Enter"]);
    film.take("1-9 choose", 1.5);
    film.terminal.press(&["1"]);
    film.take("> 1 merge", 1.5);
    film.terminal.press(&["Enter"]);
    film.take("docs-42: answered: merge", 2.0);
    // The watcher starts the agent with the answer.
    world.closed("docs-42", "delivered", 1);
    film.terminal.press(&["Tab"]);
    film.take("the answer was: merge", 5.0);

    let picture = movie(&film.screens, SIZE);
    assert_eq!(picture.matches("<g class=").count(), film.screens.len());
    std::fs::write(folder(&world).join("first-question.svg"), picture).unwrap();
}
