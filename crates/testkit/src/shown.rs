//! The blocks of a page, the commands that a text shows, and what it says that they print.

use crate::root;

/// A block of a page: fenced, or behind an empty line and indented by four spaces.
#[derive(Debug)]
pub struct Block {
    /// The word behind the fence.
    pub language: String,
    pub text: String,
}

impl Block {
    pub fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

/// The blocks of a page. An empty line ends an indented one, unless what its command prints goes on behind it.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut fenced, mut indent, mut behind_empty) = (false, None, true);
    for line in text.lines() {
        let words = line.trim_start();
        let depth = line.len() - words.len();
        if let Some(language) = words.strip_prefix("```") {
            if !fenced {
                blocks.push(Block { language: language.to_owned(), text: String::new() });
            }
            (fenced, indent) = (!fenced, None);
        } else if fenced {
            blocks.last_mut().expect("a block").text.extend([line, "\n"]);
        } else if words.is_empty() {
            let is_prompted = || blocks.last().is_some_and(|block| block.text.starts_with("$ "));
            indent = indent.filter(|_| is_prompted());
            if indent.is_some() {
                blocks.last_mut().expect("a block").text.push('\n');
            }
        } else if depth < 4 {
            indent = None;
        } else if indent.is_some() || behind_empty {
            if indent.is_none() || (behind_empty && words.starts_with("$ ")) {
                blocks.push(Block { language: String::new(), text: String::new() });
            }
            let indent = *indent.get_or_insert(depth);
            blocks.last_mut().expect("a block").text.extend([line.get(indent..).unwrap_or(words), "\n"]);
        }
        behind_empty = words.is_empty();
    }
    blocks
}

/// A command, or several lines of them, as a text shows them.
#[derive(Debug)]
pub struct Shown {
    pub typed: String,
    /// The lines that the text shows as its output.
    pub printed: Vec<String>,
}

/// A page of the repository.
pub fn page(below: &str) -> String {
    let path = root().join(below);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The blocks that are fenced as `bash`, each with the plain block behind it. Blocks for scripts are fenced as `sh`.
pub fn fenced(text: &str) -> Vec<Shown> {
    enum In {
        Prose { behind_bash: bool },
        Bash,
        Printed,
        Other,
    }
    let (mut shown, mut place): (Vec<Shown>, In) = (Vec::new(), In::Prose { behind_bash: false });
    for line in text.lines() {
        place = match (place, line) {
            (In::Prose { .. }, "```bash") => {
                shown.push(Shown { typed: String::new(), printed: Vec::new() });
                In::Bash
            }
            (In::Prose { behind_bash: true }, "```") => In::Printed,
            (In::Prose { .. }, line) if line.starts_with("```") => In::Other,
            (In::Prose { behind_bash }, line) => In::Prose { behind_bash: behind_bash && line.is_empty() },
            (In::Bash, "```") => In::Prose { behind_bash: true },
            (In::Printed | In::Other, "```") => In::Prose { behind_bash: false },
            (In::Bash, line) => {
                let typed = &mut shown.last_mut().expect("a block").typed;
                typed.extend([line, "\n"]);
                In::Bash
            }
            (In::Printed, line) => {
                shown.last_mut().expect("a block").printed.push(line.to_owned());
                In::Printed
            }
            (In::Other, _) => In::Other,
        };
    }
    shown
}

/// The commands behind a `$ `, each with the indented lines below it. The lines below one that begins "In a script" are left out.
pub fn prompted(text: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let (mut in_a_script, mut prints, mut continues) = (false, false, false);
    for line in text.lines() {
        let words = line.trim_start();
        let is_heading = line == words;
        if is_heading && !line.is_empty() {
            in_a_script = line.starts_with("In a script");
        }
        if is_heading || in_a_script {
            (prints, continues) = (false, false);
        } else if continues {
            let typed = &mut shown.last_mut().expect("a command").typed;
            typed.extend(["\n", line]);
            continues = goes_on(words);
        } else if let Some(command) = words.strip_prefix("$ ") {
            shown.push(Shown { typed: command.to_owned(), printed: Vec::new() });
            (prints, continues) = (true, goes_on(command));
        } else if prints {
            shown.last_mut().expect("a command").printed.push(words.to_owned());
        }
    }
    shown
}

fn goes_on(line: &str) -> bool {
    line.ends_with('\\') || line.ends_with('|')
}

/// The commands in backticks that a text for an agent names: a program with arguments.
pub fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).filter(|command| is_for_agents(command)).map(str::to_owned).collect()
}

/// The commands that the hints and warnings of programs name.
pub fn hinted(said: &str) -> Vec<String> {
    let lines = said.lines().filter(|line| line.starts_with("hint: ") || line.starts_with("warning: "));
    let pieces = lines.flat_map(|line| line.split("; ")).filter_map(|piece| piece.split(": ").last());
    pieces.filter(|command| is_for_agents(command)).map(str::to_owned).collect()
}

fn is_for_agents(command: &str) -> bool {
    command.starts_with("ask-post ") || command.starts_with("checkpoint ")
}
