//! A form of an MCP server, or of an agent that speaks ACP, as a question of the mailbox, and an answer as the form's content.
//!
//! A form is a JSON Schema of an object with simple fields. A form that holds anything else is not understood, and then no person is
//! asked: content that the server did not ask for would be an invented decision.

use serde_json::{Map, Value};

use askbox_agent::stream::{Asker, Elicitation};
use askbox_mailbox::documents::checks::check_question::MAX_PARTS;
use askbox_mailbox::{AnswerValue, Choice, Kind, Options, Part, Question, Range, WorkflowId, text};

/// The answer that leaves an optional field of the form out.
const LEFT_OUT: &str = "leave-out";

/// The request of a server.
pub(crate) enum Form {
    /// To open an address.
    Address(String),
    /// To fill in these fields.
    Fields(Vec<Field>),
}

pub(crate) struct Field {
    name: String,
    text: String,
    required: bool,
    kind: FieldKind,
}

enum FieldKind {
    /// A text, with the smallest and largest number of characters.
    Text {
        least: Option<f64>,
        most: Option<f64>,
    },
    Number {
        whole: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
    YesNo,
    One {
        of: Vec<Choice>,
        /// True if the user's own words are an answer too.
        or_own_words: bool,
    },
    Several {
        of: Vec<Choice>,
        least: Option<f64>,
        most: Option<f64>,
    },
}

impl Form {
    /// The form of a request, or why the form is not understood.
    pub(crate) fn of_elicitation(asked: &Elicitation) -> Result<Self, String> {
        if let Some(url) = &asked.url {
            return Ok(Self::Address(url.raw().to_owned()));
        }
        let fields = asked.schema["properties"].as_object().ok_or("its form is missing, too large or no form")?;
        let required: Vec<_> = strings(&asked.schema["required"]);
        let ordered = strings(&asked.order);
        let in_order = ordered.iter().filter(|name| fields.contains_key(*name)).collect::<Vec<_>>();
        let names = if in_order.len() == fields.len() { in_order } else { fields.keys().collect() };
        if names.len() > MAX_PARTS {
            return Err(format!("its form has more than {MAX_PARTS} fields"));
        }
        names
            .into_iter()
            .map(|name| Field::of_schema(name, &fields[name.as_str()], required.contains(name), asked.own_words.contains(name)))
            .collect::<Result<_, _>>()
            .map(Self::Fields)
    }

    /// The question to the user. `asker` is the name of the asker. `remark` says why the question is asked again.
    pub(crate) fn question(&self, workflow: &WorkflowId, asker: &str, asked: &Elicitation, remark: Option<&str>) -> Question {
        let mut lead = asks(asker, &asked.asker);
        let message = asked.message.printable();
        if !message.is_empty() {
            lead.push_str(&format!(" {message}"));
        }
        if let Some(remark) = remark {
            lead.push_str(&format!("\n{remark}"));
        }
        let mut question = Question::new(workflow.clone(), lead);
        question.elicited_by = Some(asker.to_owned());
        let choose = |question: &mut Question, key: &str, description: &str| {
            question.options = Options(vec![choice(key, description)]);
            question.free_text = Some(false);
        };
        match self {
            Self::Address(url) => {
                question.question.push_str(&format!("\nAddress, which nobody has opened yet: {url}"));
                choose(&mut question, "done", "I have opened the address and finished there");
            }
            Self::Fields(fields) => match &fields[..] {
                [] => choose(&mut question, "accept", "yes, go on"),
                [one] => {
                    let part = one.part();
                    question.question.push_str(&format!("\n{}", part.question));
                    (question.kind, question.options, question.free_text, question.range) =
                        (part.kind, part.options, part.free_text, part.range);
                }
                several => question.questions = several.iter().map(Field::part).collect(),
            },
        }
        question
    }

    /// The form's content according to this answer, or what does not fit the form.
    pub(crate) fn content(&self, answer: &AnswerValue) -> Result<Value, String> {
        let Self::Fields(fields) = self else { return Ok(Value::Object(Map::new())) };
        let mut content = Map::new();
        for field in fields {
            let value = match answer {
                AnswerValue::Batch(map) => {
                    let value = map.get(&field.name).cloned().ok_or_else(|| format!("`{}` is missing", field.name))?;
                    AnswerValue::from_json(value).map_err(str::to_owned)?
                }
                value => value.clone(),
            };
            if let Some(value) = field.value(&value).map_err(|problem| format!("`{}` {problem}", field.name))? {
                content.insert(field.name.clone(), value);
            }
        }
        Ok(Value::Object(content))
    }
}

/// The words in front of the asker's own words.
fn asks(name: &str, asker: &Asker) -> String {
    match asker {
        Asker::Server(_) => format!("The MCP server `{name}` asks:"),
        Asker::Agent => format!("The agent `{name}` asks:"),
        Asker::AgentOrServer => format!("The agent `{name}` asks, for itself or for an MCP server:"),
    }
}

impl Field {
    fn of_schema(name: &str, schema: &Value, required: bool, or_own_words: bool) -> Result<Self, String> {
        let not_understood = || format!("its form has the field `{}`, which is not understood", text::excerpt(name, 60));
        let kind = match schema["type"].as_str() {
            _ if schema["enum"].is_array() || schema["oneOf"].is_array() => {
                FieldKind::One { of: choices(schema, "oneOf").ok_or_else(not_understood)?, or_own_words }
            }
            // A schema may write a whole number as 3.0. A bound that is too large for any text is valid too.
            Some("string") => FieldKind::Text { least: schema["minLength"].as_f64(), most: schema["maxLength"].as_f64() },
            Some(number @ ("number" | "integer")) => {
                FieldKind::Number { whole: number == "integer", least: schema["minimum"].as_f64(), most: schema["maximum"].as_f64() }
            }
            Some("boolean") => FieldKind::YesNo,
            Some("array") => FieldKind::Several {
                of: choices(&schema["items"], "anyOf").ok_or_else(not_understood)?,
                least: schema["minItems"].as_f64(),
                most: schema["maxItems"].as_f64(),
            },
            _ => return Err(not_understood()),
        };
        let mut text = schema["title"].as_str().unwrap_or(name).to_owned();
        if let Some(about) = schema["description"].as_str() {
            text.push_str(&format!(": {about}"));
        }
        let mut remarks = if kind.range(required).is_some() { Vec::new() } else { kind.bounds() };
        remarks.extend(schema["format"].as_str().map(|format| format!("format {format}")));
        if !schema["default"].is_null() {
            remarks.push(format!("the server suggests {}", schema["default"]));
        }
        if !required {
            remarks.push(format!("`{LEFT_OUT}` leaves it out"));
        }
        if !remarks.is_empty() {
            text.push_str(&format!(" ({})", remarks.join("; ")));
        }
        Ok(Self { name: name.to_owned(), text, required, kind })
    }

    fn part(&self) -> Part {
        let left_out = (!self.required).then(|| choice(LEFT_OUT, "leave it out"));
        let with = |choices: &[Choice]| Options(choices.iter().cloned().chain(left_out.clone()).collect());
        let (kind, options) = match &self.kind {
            FieldKind::YesNo if !self.required => (Kind::Choice, with(&[choice("yes", ""), choice("no", "")])),
            FieldKind::YesNo => (Kind::YesNo, Options::default()),
            FieldKind::One { of, .. } => (Kind::Choice, with(of)),
            FieldKind::Several { of, .. } => (Kind::MultiChoice, with(of)),
            FieldKind::Number { .. } if self.required => (Kind::Number, Options::default()),
            FieldKind::Number { .. } | FieldKind::Text { .. } => (Kind::Text, Options::default()),
        };
        Part {
            id: Some(self.name.clone()),
            question: self.text.clone(),
            header: None,
            kind: Some(kind),
            multi_select: false,
            free_text: (!options.is_empty()).then_some(matches!(self.kind, FieldKind::One { or_own_words: true, .. })),
            range: self.kind.range(self.required),
            options,
        }
    }

    /// The field's value; `None` if the answer leaves the field out.
    fn value(&self, answer: &AnswerValue) -> Result<Option<Value>, String> {
        let words = answer.to_texts();
        if !self.required && matches!(&words[..], [word] if word.trim() == LEFT_OUT) {
            return Ok(None);
        }
        let word = words.join(", ");
        let is_one_of = |of: &[Choice], word: &String| of.iter().any(|choice| choice.key == *word);
        Ok(Some(match &self.kind {
            FieldKind::Text { least, most } => {
                within(word.chars().count() as f64, *least, *most, " characters")?;
                Value::from(word)
            }
            FieldKind::Number { whole, least, most } => {
                let word = word.trim();
                let exact = word.parse::<i64>().ok().or_else(|| word.parse::<f64>().ok()?.to_string().parse().ok()).map(Value::from);
                let number = exact
                    .clone()
                    .filter(|_| *whole)
                    .or_else(|| if *whole { None } else { exact.or_else(|| word.parse::<f64>().ok().map(Value::from)) });
                let number =
                    number.filter(Value::is_number).ok_or(if *whole { "has to be a whole number" } else { "has to be a number" })?;
                within(number.as_f64().unwrap_or(f64::NAN), *least, *most, "")?;
                number
            }
            FieldKind::YesNo => match word.trim() {
                "yes" => Value::Bool(true),
                "no" => Value::Bool(false),
                _ => return Err("has to be yes or no".into()),
            },
            FieldKind::One { of, or_own_words } if *or_own_words || is_one_of(of, &word) => Value::from(word),
            FieldKind::Several { of, least, most } if words.iter().all(|word| is_one_of(of, word)) => {
                within(words.len() as f64, *least, *most, " options")?;
                Value::from(words)
            }
            FieldKind::One { .. } | FieldKind::Several { .. } => return Err("has to be one of the options".into()),
        }))
    }
}

impl FieldKind {
    /// The bounds of a field that is a number in the mailbox. A number that may be left out is a text there, without bounds.
    fn range(&self, required: bool) -> Option<Range> {
        match self {
            Self::Number { whole, least, most } if required => {
                // Steps are counted from the smallest number, which need not be a whole one.
                let min = if *whole { least.map(f64::ceil) } else { *least };
                Some(Range { min, max: *most, step: whole.then_some(1.0), unit: None })
            }
            _ => None,
        }
    }

    /// The bounds in words.
    fn bounds(&self) -> Vec<String> {
        let said = |word: &str, bound: Option<f64>, unit: &str| bound.map(|bound| format!("{word} {bound}{unit}"));
        let both = |least, most, unit: &str| [said("at least", least, unit), said("at most", most, unit)].into_iter().flatten().collect();
        match self {
            Self::Text { least, most } => both(*least, *most, " characters"),
            Self::Number { whole, least, most } => {
                let mut words: Vec<_> = both(*least, *most, "");
                words.extend(whole.then(|| "a whole number".to_owned()));
                words
            }
            Self::Several { least, most, .. } => both(*least, *most, " options"),
            Self::YesNo | Self::One { .. } => Vec::new(),
        }
    }
}

fn within(value: f64, least: Option<f64>, most: Option<f64>, unit: &str) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if value < least => Err(format!("has to be at least {least}{unit}")),
        (_, Some(most)) if value > most => Err(format!("has to be at most {most}{unit}")),
        _ => Ok(()),
    }
}

/// The options of a field: `enum` with `enumNames`, or a list of `{const, title}`.
fn choices(schema: &Value, titled: &str) -> Option<Vec<Choice>> {
    let choices: Option<Vec<_>> = match (&schema["enum"], &schema[titled]) {
        (Value::Array(keys), _) => {
            let names = strings(&schema["enumNames"]);
            keys.iter().enumerate().map(|(n, key)| Some(choice(key.as_str()?, names.get(n).map_or("", String::as_str)))).collect()
        }
        (_, Value::Array(list)) => list.iter().map(titled_choice).collect(),
        _ => None,
    };
    // An option that reads like the word for "left out" could not be chosen.
    choices.filter(|choices| !choices.is_empty() && choices.iter().all(|choice| choice.key != LEFT_OUT))
}

/// An option with its title and its description. A title that repeats the key says nothing more.
fn titled_choice(one: &Value) -> Option<Choice> {
    let key = one["const"].as_str()?;
    let words = [&one["title"], &one["description"]].map(|words| words.as_str().filter(|words| !words.is_empty() && *words != key));
    Some(choice(key, &words.into_iter().flatten().collect::<Vec<_>>().join(": ")))
}

fn choice(key: &str, description: &str) -> Choice {
    Choice { key: key.to_owned(), description: description.to_owned(), preview: None }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// A form that is understood.
pub struct Elicited {
    form: Form,
    /// The question to the user.
    pub question: Question,
}

impl Elicited {
    /// Reads a form. `remark` says why its question is asked again.
    ///
    /// # Errors
    /// Why it is not understood.
    pub fn of_elicitation(asked: &Elicitation, workflow: &WorkflowId, remark: Option<&str>) -> Result<Self, String> {
        let form = Form::of_elicitation(asked)?;
        let name = match &asked.asker {
            Asker::Server(name) => name.excerpt(60),
            Asker::Agent | Asker::AgentOrServer => "agent".into(),
        };
        Ok(Self { question: form.question(workflow, &name, asked, remark), form })
    }

    /// Reads the form of this server, from the input of Claude Code's hook `Elicitation`. `remark` says why it is asked again.
    ///
    /// # Errors
    /// Why it is not understood.
    pub fn of_hook(workflow: &WorkflowId, server: &str, input: &Map<String, Value>, remark: Option<&str>) -> Result<Self, String> {
        let word = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        let asked = Elicitation {
            request_id: "".into(),
            asker: Asker::Server(server.into()),
            message: word("message").into(),
            url: None,
            schema: input.get("requested_schema").cloned().unwrap_or_default(),
            order: Value::Null,
            own_words: Vec::new(),
        };
        Self::of_elicitation(&asked, workflow, remark)
    }

    /// The content that the server is sent.
    ///
    /// # Errors
    /// Why the answer does not fit the form.
    pub fn content(&self, answer: &AnswerValue) -> Result<Value, String> {
        self.form.content(answer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(schema: Value) -> Elicitation {
        let (request_id, asker, message) = ("r".into(), Asker::Server("s".into()), "m".into());
        Elicitation { request_id, asker, message, url: None, schema, order: Value::Null, own_words: Vec::new() }
    }

    fn form(schema: Value) -> Result<Form, String> {
        Form::of_elicitation(&asked(schema))
    }

    fn content(field: Value, required: bool, answer: &str) -> Result<Value, String> {
        let required = if required { json!(["f"]) } else { json!([]) };
        form(json!({"type": "object", "properties": {"f": field}, "required": required}))?.content(&AnswerValue::Text(answer.into()))
    }

    #[test]
    fn an_answer_becomes_content_of_the_types_of_the_form() {
        assert_eq!(content(json!({"type": "integer"}), true, "7"), Ok(json!({"f": 7})));
        assert_eq!(
            ["+5", "5.", "5.0", "5e0"].map(|five| content(json!({"type": "integer"}), true, five)),
            [(); 4].map(|()| Ok(json!({"f": 5})))
        );
        assert_eq!(content(json!({"type": "number"}), true, "0.5"), Ok(json!({"f": 0.5})));
        assert_eq!(content(json!({"type": "boolean"}), true, "no"), Ok(json!({"f": false})));
        assert_eq!(content(json!({"type": "string"}), true, "leave-out"), Ok(json!({"f": "leave-out"})));
        assert_eq!(content(json!({"type": "string"}), false, "leave-out"), Ok(json!({})));
        assert_eq!(content(json!({"type": "string", "enum": ["a", "b"]}), true, "b"), Ok(json!({"f": "b"})));
        let several = json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1});
        assert_eq!(content(several, true, "a"), Ok(json!({"f": ["a"]})));
    }

    #[test]
    fn an_answer_outside_the_form_is_none() {
        for (field, answer, problem) in [
            (json!({"type": "integer", "maximum": 9}), "10", "`f` has to be at most 9"),
            (json!({"type": "string", "minLength": 3.0}), "ab", "`f` has to be at least 3 characters"),
            (json!({"type": "string", "minLength": 1e20}), "ab", "`f` has to be at least 100000000000000000000 characters"),
            (json!({"type": "integer"}), "1.5", "`f` has to be a whole number"),
            (json!({"type": "number"}), "NaN", "`f` has to be a number"),
            (json!({"type": "string", "minLength": 3}), "ab", "`f` has to be at least 3 characters"),
            (json!({"type": "string", "enum": ["a"]}), "c", "`f` has to be one of the options"),
        ] {
            assert_eq!(content(field, true, answer), Err(problem.into()));
        }
    }

    #[test]
    fn a_form_that_is_not_understood_is_refused_whole() {
        for field in [
            json!({"type": "object"}),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"enum": [1]}),
            json!({"enum": ["leave-out"]}),
            json!(1),
        ] {
            assert!(form(json!({"properties": {"good": {"type": "string"}, "f": field}})).is_err());
        }
        assert!(form(Value::Null).is_err());
    }
}
