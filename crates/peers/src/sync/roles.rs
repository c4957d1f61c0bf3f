//! The statements that make the roles of hosts and of people. They are printed, for the administrator to read and to run.

use askbox_mailbox::{Error, HostName, Result};

/// The longest name of a role, in bytes: PostgreSQL would cut a longer one.
const LONGEST: usize = 63;

const HOSTS: &str = "askbox_host";

/// The statements for these roles.
///
/// # Errors
/// If a name cannot be the name of a role.
pub fn statements(hosts: &[String], people: &[String]) -> Result<String> {
    let mut out = String::new();
    for (names, group) in [(hosts, HOSTS), (people, "askbox_person")] {
        for name in names {
            if group == HOSTS {
                let wrong =
                    |e: Error| Error::usage(format!("`{}` is no name of a host", askbox_mailbox::text::excerpt(name, 60)), e.hint());
                name.parse::<HostName>().map_err(wrong)?;
            }
            let name = quoted(name)?;
            out.push_str(&format!("CREATE ROLE {name} LOGIN INHERIT NOCREATEDB NOCREATEROLE NOSUPERUSER;\n"));
            out.push_str(&format!("GRANT {group} TO {name};\n"));
        }
    }
    Ok(out)
}

fn quoted(name: &str) -> Result<String> {
    let reserved = name.starts_with("pg_") || ["askbox_host", "askbox_person", "public", "none"].contains(&name);
    if name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) || reserved {
        let hint = "choose another name, such as laptop";
        return Err(Error::usage(format!("`{}` is no name of a role", askbox_mailbox::text::excerpt(name, 60)), hint));
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_no_rights_and_a_name_cannot_leave_its_quotes() {
        let made = statements(&["laptop".into()], &["o\"hara".into()]).unwrap();
        assert!(made.contains("GRANT askbox_host TO \"laptop\";") && made.contains("GRANT askbox_person TO \"o\"\"hara\";"), "{made}");
        for name in ["A.B", "pg_monitor", ""] {
            assert!(matches!(statements(&[name.to_owned()], &[]), Err(Error::Usage { .. })), "{name}");
        }
        for name in ["", "pg_monitor", "askbox_host", "a\nb", &"x".repeat(64)] {
            assert!(statements(&[name.to_owned()], &[]).is_err(), "{name}");
        }
    }
}
