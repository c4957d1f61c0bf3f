//! The words of a line of shell: read loosely, so that no command is overlooked, and read with its quotes.

/// How deep command substitutions within one another are followed.
const DEPTH: usize = 8;
/// How many here-documents without an end are looked for in a line.
const SEARCHES: usize = 16;

/// True for white space between words. For a shell, other white space is a letter.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}

/// True for a character that ends a word outside of quotes.
fn ends_word(c: char) -> bool {
    is_blank(c) || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

/// The words of a text, as a shell separates them.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_blank).filter(|word| !word.is_empty())
}

/// True for a text of more than one word.
pub(super) fn are_several(text: &str) -> bool {
    split(text).nth(1).is_some()
}

/// The words of each simple command in the line, without quotes and redirections. Operators within quotes end a command too, and a
/// here-string begins one, because a shell may read it.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut line = line.replace("\\\n", "").replace("$\"", "");
    line.retain(|c| !matches!(c, '\'' | '"' | '\\'));
    let mut commands = vec![Vec::new()];
    let (mut word, mut is_target) = (String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_command = matches!(c, ';' | '&' | '|' | '\n' | '(' | ')' | '`');
        let redirects = matches!(c, '<' | '>');
        if !ends_command && !redirects && !is_blank(c) {
            word.push(c);
            continue;
        }
        // A pattern such as `@(sh|x)` is a word that only the shell knows.
        if c == '(' && word.ends_with(['?', '*', '+', '@', '!']) && word.len() > 1 {
            word.push('*');
        }
        // The number of a redirection, as in `2>`, is not a word.
        let is_number = redirects && word.chars().all(|c| c.is_ascii_digit());
        if !word.is_empty() && !is_number && !std::mem::take(&mut is_target) {
            commands.last_mut().into_iter().for_each(|command: &mut Vec<String>| command.push(word.clone()));
        }
        word.clear();
        let mut operator = 1;
        if redirects {
            while chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|')).is_some() {
                operator += 1;
            }
            is_target = true;
        }
        // A here-string passed to a shell contains commands, and so does a brace group.
        let begins_command = operator > 2 || commands.last().is_some_and(|command| command.last().is_some_and(|word| word == "{"));
        if ends_command || begins_command {
            is_target = false;
            commands.push(Vec::new());
        }
    }
    if !word.is_empty() && !is_target {
        commands.last_mut().into_iter().for_each(|command| command.push(word.clone()));
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// The words of each simple command with their quotes read as a shell reads them: a quoted text is one word. Files of redirections are
/// left out. Here-strings and here-documents are the last words of their command. A substitution's source stays in the word, and its
/// commands follow as commands of their own.
pub(super) fn quoted(line: &str) -> Vec<Vec<String>> {
    read_quoted(line, DEPTH)
}

fn read_quoted(line: &str, depth: usize) -> Vec<Vec<String>> {
    let mut reader = Reader { line, at: 0, depth, commands: Vec::new(), texts: Vec::new(), documents: Vec::new(), searches: SEARCHES };
    reader.read(false);
    for (command, text) in reader.texts {
        reader.commands[command].push(text);
    }
    reader.commands.retain(|command| !command.is_empty());
    reader.commands
}

/// The meaning of a word.
#[derive(Clone, Copy)]
enum Role {
    Argument,
    File,
    HereString,
}

struct Reader<'a> {
    line: &'a str,
    at: usize,
    /// How many levels of substitutions are opened from here.
    depth: usize,
    commands: Vec<Vec<String>>,
    /// Here-strings and here-documents, with their commands.
    texts: Vec<(usize, String)>,
    /// Here-documents that begin at the next line: the command, and the line behind the document.
    documents: Vec<(usize, String)>,
    /// How many more documents without an end are looked for.
    searches: usize,
}

impl Reader<'_> {
    fn next_if(&mut self, is_it: impl Fn(char) -> bool) -> Option<char> {
        let c = self.line[self.at..].chars().next().filter(|c| is_it(*c))?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads commands to the end of the line or of the substitution.
    fn read(&mut self, is_substitution: bool) {
        let begin = self.begin_command();
        let (mut command, mut word, mut role) = (begin, None::<String>, Role::Argument);
        // How many parentheses are open, how many of them around arithmetic, and how many braces of parameters.
        let (mut groups, mut arithmetic, mut braces) = (0_usize, 0, 0_usize);
        loop {
            let next = self.next_if(|_| true);
            let c = next.unwrap_or('\n');
            match c {
                '#' if word.is_none() && braces == 0 => while self.next_if(|c| c != '\n').is_some() {},
                '\\' if self.next_if(|c| c == '\n').is_some() => {}
                '\'' | '"' | '\\' | '`' => self.quote(c, word.get_or_insert_default()),
                '$' | '<' | '>' if self.opens() => self.substitute(c, word.get_or_insert_default()),
                c if !ends_word(c) => {
                    let word = word.get_or_insert_default();
                    braces += usize::from(c == '{' && word.ends_with('$'));
                    braces -= usize::from(c == '}' && braces > 0);
                    word.push(c);
                }
                '<' | '>' => {
                    // The number of a redirection, as in `2>`, is not a word.
                    let word = word.take().filter(|word| word.is_empty() || word.contains(|c: char| !c.is_ascii_digit()));
                    self.end_word(command, word, &mut role);
                    role = self.redirection(c, command, arithmetic > 0);
                }
                c => {
                    self.end_word(command, word.take(), &mut role);
                    match c {
                        ' ' | '\t' => continue,
                        '\n' => self.read_documents(),
                        '(' => {
                            groups += 1;
                            let is_arithmetic = arithmetic == 0 && self.line[..self.at].ends_with("((");
                            arithmetic = if is_arithmetic { groups } else { arithmetic };
                        }
                        ')' if groups > 0 => {
                            groups -= 1;
                            arithmetic = if groups < arithmetic { 0 } else { arithmetic };
                        }
                        ')' if is_substitution && !self.is_in_case(begin) => return,
                        _ => {}
                    }
                    if next.is_none() {
                        return;
                    }
                    (command, role) = (self.begin_command(), Role::Argument);
                }
            }
        }
    }

    fn end_word(&mut self, command: usize, word: Option<String>, role: &mut Role) {
        let Some(word) = word else { return };
        match std::mem::replace(role, Role::Argument) {
            Role::Argument => self.commands[command].push(word),
            Role::HereString => self.texts.push((command, word)),
            Role::File => {}
        }
    }

    /// Reads the rest of an operator. Returns the meaning of the next word.
    fn redirection(&mut self, sign: char, command: usize, is_arithmetic: bool) -> Role {
        let is_double = self.next_if(|c| c == sign).is_some();
        if sign == '<' && is_double && self.next_if(|c| c == '<').is_some() {
            return Role::HereString;
        }
        if sign == '<' && is_double && !is_arithmetic {
            let end = self.delimiter();
            self.documents.push((command, end));
            return Role::Argument;
        }
        self.next_if(|c| matches!(c, '&' | '|' | '>'));
        Role::File
    }

    /// True if a `)` ends a pattern of `case`.
    fn is_in_case(&self, begin: usize) -> bool {
        let count = |word: &str| self.commands[begin..].iter().filter(|command| command.first().is_some_and(|first| first == word)).count();
        count("case") > count("esac")
    }

    fn begin_command(&mut self) -> usize {
        self.commands.push(Vec::new());
        self.commands.len() - 1
    }

    /// Reads the rest of a quote.
    fn quote(&mut self, open: char, word: &mut String) {
        if open == '\\' {
            return word.extend(self.next_if(|_| true));
        }
        let has_escapes = open != '\'' || word.ends_with('$');
        let mut source = String::new();
        while let Some(c) = self.next_if(|c| c != open) {
            match c {
                '\\' if has_escapes => {
                    let next = self.next_if(|_| true);
                    // Only these lose their backslash. Another program may read the others.
                    let is_escaped = open == '\'' || next.is_none_or(|c| matches!(c, '"' | '\\' | '$' | '`' | '\n'));
                    source.extend(Some('\\').filter(|_| !is_escaped));
                    source.extend(next.filter(|c| *c != '\n'));
                }
                '`' if open == '"' => self.quote(c, &mut source),
                '$' if open == '"' && self.opens() => self.substitute(c, &mut source),
                c => source.push(c),
            }
        }
        self.next_if(|c| c == open);
        if open == '`' {
            self.read_within(&source);
            word.push('`');
        }
        *word += &source;
    }

    /// Reads the commands of another line.
    fn read_within(&mut self, line: &str) {
        if let Some(depth) = self.depth.checked_sub(1) {
            self.commands.extend(read_quoted(line, depth));
        }
    }

    /// True if a substitution begins here.
    fn opens(&self) -> bool {
        self.depth > 0 && self.line[self.at..].starts_with('(')
    }

    /// Reads a substitution from its parenthesis on.
    fn substitute(&mut self, sign: char, word: &mut String) {
        let begin = self.at;
        self.at += 1;
        self.depth -= 1;
        self.read(true);
        self.depth += 1;
        word.push(sign);
        *word += &self.line[begin..self.at];
    }

    /// The line that ends a here-document.
    fn delimiter(&mut self) -> String {
        self.next_if(|c| c == '-');
        while self.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        while let Some(c) = self.next_if(|c| !ends_word(c)) {
            match c {
                '\'' | '"' | '\\' => self.quote(c, &mut end),
                c => end.push(c),
            }
        }
        end
    }

    /// Reads the here-documents that begin here. One without an end is read as commands.
    fn read_documents(&mut self) {
        for (command, end) in std::mem::take(&mut self.documents) {
            let rest = if self.searches > 0 { &self.line[self.at..] } else { "" };
            let mut lines = rest.split_inclusive('\n');
            let body: usize =
                lines.by_ref().map_while(|line| (line.trim_start_matches('\t').trim_end_matches('\n') != end).then_some(line.len())).sum();
            if body == rest.len() {
                self.searches = self.searches.saturating_sub(1);
                continue;
            }
            let text = &rest[..body];
            self.at += body;
            while self.next_if(|c| c != '\n').is_some() {}
            self.next_if(|_| true);
            self.texts.push((command, text.to_owned()));
            self.read_within(&format!(": \"{}\"", text.replace('"', " ")));
        }
    }
}

/// True if one program's output becomes another one's input, or the file that the other one reads.
pub(super) fn has_pipe(line: &str) -> bool {
    line.replace("||", "").contains('|') || line.contains("<(") || line.contains(">(")
}

/// The words of the line in the sense of a text: letters, digits, `_` and `-`. Quotes are removed first. A backslash before `n`, `r` or `t`
/// is read in both ways, as a quote and as white space.
pub(super) fn tokens(line: &str) -> [Vec<String>; 2] {
    let line = line.replace("\\\n", "");
    let spaced = ["\\n", "\\r", "\\t"].iter().fold(line.clone(), |line, escape| line.replace(escape, " "));
    [line, spaced].map(|mut line| {
        line.retain(|c| !matches!(c, '\'' | '"' | '\\'));
        let is_separator = |c: char| is_blank(c) || !(c.is_alphanumeric() || c.is_whitespace() || matches!(c, '_' | '-'));
        line.split(is_separator).filter(|token| !token.is_empty()).map(str::to_owned).collect()
    })
}
