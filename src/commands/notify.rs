//! `askbox notify test`: sends a code to each target and asks the person for it. If a server accepts a message, that does not prove that
//! the message arrived.

use std::io::BufRead;

use askbox_cli::args::askbox_args::NotifyTest;
use askbox_cli::{Context, program};
use askbox_config::{self as config, Target};
use askbox_mailbox::{Error, Mailbox, Result};
use askbox_watch::news::arrivals::{self, Kind};

/// Tests the targets. Returns 1 if the arrival of a message was not confirmed.
///
/// # Errors
/// If the configuration cannot be read or does not name the target.
pub fn run(args: &NotifyTest, context: &Context) -> Result<u8> {
    let loaded = context.loaded()?;
    let all = config::targets(&loaded.config.target);
    if all.is_empty() {
        return Err(Error::not_found("the configuration names nobody to tell", "add a [target.NAME]: see docs/guide-news.md"));
    }
    if let Some(unknown) = args.targets.iter().find(|name| !all.contains_key(*name)) {
        let known: Vec<_> = all.keys().map(String::as_str).collect();
        return Err(Error::not_found(format!("there is no target `{unknown}`"), format!("targets: {}", known.join(", "))));
    }
    let mailbox = Mailbox::open_or_create(Mailbox::locate(args.mailbox.as_deref())?)?;
    let mut arrived = true;
    for (name, target) in all.iter().filter(|(name, _)| args.targets.is_empty() || args.targets.contains(name)) {
        let code = code();
        match arrivals::send_trial(&mailbox, &loaded.config.notify, name, target, &code) {
            Ok(()) => {
                arrivals::note(&mailbox, name, Kind::Sent, None)?;
                arrived &= args.send_only || confirm(&mailbox, name, target, &code)?;
            }
            Err(e) => {
                arrivals::note(&mailbox, name, Kind::Failed, Some(&e.to_string()))?;
                program::complain(&e);
                arrived = false;
            }
        }
    }
    Ok(u8::from(!arrived))
}

/// A random four-digit code. The person types it back to prove that the message arrived.
fn code() -> String {
    format!("{:04}", uuid::Uuid::new_v4().as_u128() % 10_000)
}

/// Asks for the code. After a wrong code, the person may type it again.
fn confirm(mailbox: &Mailbox, name: &str, target: &Target, code: &str) -> Result<bool> {
    let place = match target.means() {
        Some(config::Means::Exec(_)) => "your program",
        Some(config::Means::Desktop) => "your desktop",
        Some(config::Means::Webhook(_)) => "the webhook",
        _ => "your phone",
    };
    for _ in 0..3 {
        program::print(&format!("{name}: sent. Type the code that arrived at {place} (enter: nothing arrived): "))?;
        let mut typed = String::new();
        let read = std::io::stdin().lock().read_line(&mut typed);
        match typed.trim() {
            typed if typed == code => {
                arrivals::note(mailbox, name, Kind::Confirmed, None)?;
                program::print(&format!("{name}: confirmed\n"))?;
                return Ok(true);
            }
            // The input has ended: nobody is there to say if the message arrived.
            _ if !matches!(read, Ok(1..)) => {
                program::print(&format!("\n{name}: not confirmed: nobody typed the code\n"))?;
                return Ok(false);
            }
            "" => break,
            _ => program::print("That is not the code.\n")?,
        }
    }
    let problem = "nobody confirmed that the test arrived";
    arrivals::note(mailbox, name, Kind::Failed, Some(problem))?;
    program::print(&format!("\n{name}: {problem}\n"))?;
    Ok(false)
}
