//! The operator's program: the event is its last argument and its standard input.

use crate::document;
use crate::error::Result;
use crate::news::call::{Call, Errors};
use crate::news::message::Message;

pub(super) fn call(command: &[String], message: &Message) -> Result<Call> {
    let (program, args) = command.split_first().map_or((String::new(), Vec::new()), |(program, args)| (program.clone(), args.to_vec()));
    let about = message.about.as_ref();
    Ok(Call {
        program: program.into(),
        args: args.into_iter().chain([message.event.to_owned()]).map(Into::into).collect(),
        env: vec![
            ("ASKBOX_EVENT", message.event.to_owned()),
            ("ASKBOX_NEWS_ID", message.id.to_string()),
            ("ASKBOX_WORKFLOW_ID", about.map(|about| about.workflow_id.to_string()).unwrap_or_default()),
            ("ASKBOX_QUESTION", about.map_or_else(|| message.title.clone(), |about| about.question.clone())),
        ],
        input: document::to_json(message)?,
        errors: Errors::LastLine,
    })
}
