//! codex's choices with a note. A form of codex has a second field beside such a choice, for an answer that is none of the options. A
//! person is shown one choice, which takes their own words too.

use serde_json::{Map, Value};

/// The option of codex that says: the answer is in the note.
const OTHER: &str = "None of the above";

/// A choice and its note.
#[derive(Debug)]
struct Noted {
    choice: String,
    note: String,
    options: Vec<String>,
}

/// The choices of a form that have a note.
#[derive(Debug, Default)]
pub(super) struct OwnWords(Vec<Noted>);

impl OwnWords {
    /// Takes the notes out of a form. A field for a secret becomes one that cannot be shown, because an answer stays in the mailbox.
    pub(super) fn take_from(schema: &mut Value) -> Self {
        let required: Vec<String> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return Self::default() };
        fields.values_mut().filter(|field| field["_meta"]["codex"]["isSecret"] == true).for_each(|field| *field = Value::Null);
        let notes: Vec<(String, String)> = fields.iter().filter_map(|(name, field)| Some((name.clone(), choice_of_note(field)?))).collect();
        let noted = |(note, choice): (String, String)| {
            let options = (!required.contains(&note)).then(|| take_other(fields, &choice)).flatten()?;
            fields.shift_remove(&note);
            Some(Noted { choice, note, options })
        };
        Self(notes.into_iter().filter_map(noted).collect())
    }

    /// The names of the choices.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|noted| noted.choice.clone()).collect()
    }

    /// The content of the form as the agent knows it.
    pub(super) fn put_into(&self, content: &Value) -> Value {
        let mut content = content.clone();
        let Some(fields) = content.as_object_mut() else { return content };
        for Noted { choice, note, options } in &self.0 {
            if let Some(said) = fields.get(choice).and_then(Value::as_str).filter(|said| options.iter().all(|option| option != said)) {
                fields.insert(note.clone(), said.into());
                fields.insert(choice.clone(), OTHER.into());
            }
        }
        content
    }
}

/// The name of the choice, if this field is a note beside one.
fn choice_of_note(field: &Value) -> Option<String> {
    let codex = field.get("_meta")?.get("codex")?;
    let is_note = codex.get("role")? == "user_note" && field["type"] == "string";
    codex.get("questionId")?.as_str().filter(|_| is_note).map(str::to_owned)
}

/// Takes the option [`OTHER`] out of a choice. Returns the options that are left; `None` if the field is not such a choice.
fn take_other(fields: &mut Map<String, Value>, choice: &str) -> Option<Vec<String>> {
    let options = fields.get_mut(choice)?.get_mut("oneOf")?.as_array_mut()?;
    let at = options.iter().position(|option| option["const"] == OTHER).filter(|_| options.len() > 1)?;
    options.remove(at);
    Some(options.iter().filter_map(|option| option["const"].as_str()).map(str::to_owned).collect())
}
