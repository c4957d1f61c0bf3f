//! The roles of a host and of a person have limits: the database refuses the rest, in whatever program the role is used.

use postgres::Client;

use super::cluster::Database;
use super::host::{Host, Person};
use crate::support::needs;

/// Runs a statement that must be refused for want of a right, or change nothing.
#[track_caller]
fn refused(client: &mut Client, statement: &str) {
    match client.execute(statement, &[]) {
        Ok(0) => {}
        Ok(n) => panic!("{n} rows: {statement}"),
        Err(e) => assert_eq!(e.code().map(postgres::error::SqlState::code), Some("42501"), "{statement}: {e:?}"),
    }
}

#[test]
fn a_host_attacks_others_and_the_schema_in_vain() {
    needs!("postgres");
    let database = Database::new();
    let (laptop, build) = (Host::new(&database, "laptop"), Host::new(&database, "build"));
    let rounds = [laptop.ask("docs"), build.ask("docs")];
    laptop.sync();
    build.sync();
    let mut ann = Person::new(&database, "ann");
    let offers = [ann.offer("laptop", "docs", "a"), ann.offer("build", "docs", "a")];
    let before = state(&database);
    let mut host = database.connect("laptop");
    let seen: i64 = host.query_one("SELECT count(*) FROM askbox.question WHERE host <> 'laptop'", &[]).expect("a look").get(0);
    assert_eq!(seen, 0, "a host sees no other host's questions");
    let seen: i64 = host.query_one("SELECT count(*) FROM askbox.offer WHERE host <> 'laptop'", &[]).expect("a look").get(0);
    assert_eq!(seen, 0, "a host sees no other host's offers");
    let (other, own) = (&offers[1], &offers[0]);
    for statement in [
        // Another host's rows.
        &format!("UPDATE askbox.question SET state = 'answered', rank = 1 WHERE question_id = '{}'", rounds[1]),
        &format!(
            "INSERT INTO askbox.question (host, question_id, workflow_id, turn, rank, state, question_hash, doc, change)
                VALUES ('build', '{}', 'docs', 9, 2, 'delivered', '{}', '', 1) ON CONFLICT (host, question_id) DO UPDATE SET rank = 2",
            rounds[1], rounds[1]
        ),
        &format!("UPDATE askbox.offer SET outcome = 'accepted' WHERE offer_id = '{other}'"),
        "UPDATE askbox.host SET token = gen_random_uuid() WHERE host = 'build'",
        "INSERT INTO askbox.host (host, token, program, clock_ms) VALUES ('tower', gen_random_uuid(), 'x', 0)",
        // Its own offers, but for the verdict; and offers in its own name.
        &format!("UPDATE askbox.offer SET doc = '{{}}' WHERE offer_id = '{own}'"),
        &format!("UPDATE askbox.offer SET host = 'build' WHERE offer_id = '{own}'"),
        &format!("UPDATE askbox.offer SET sent_by = 'bob' WHERE offer_id = '{own}'"),
        "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
            VALUES (gen_random_uuid(), 'build', 'docs', gen_random_uuid(), gen_random_uuid(), '{}')",
        "UPDATE askbox.question SET host = 'build'",
        "UPDATE askbox.question SET workflow_id = 'other'",
        // Deleting.
        "DELETE FROM askbox.question",
        "DELETE FROM askbox.offer",
        "DELETE FROM askbox.host",
        "DELETE FROM askbox.migration",
        "TRUNCATE askbox.question",
        "TRUNCATE askbox.offer",
        // The schema, and the way around the policies.
        "ALTER TABLE askbox.question DISABLE ROW LEVEL SECURITY",
        "DROP TABLE askbox.offer",
        "DROP POLICY host_own ON askbox.question",
        "CREATE POLICY all_mine ON askbox.question USING (true)",
        "CREATE TABLE askbox.mine (x int)",
        "CREATE FUNCTION askbox.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TRIGGER mine BEFORE INSERT ON askbox.offer EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "INSERT INTO askbox.migration (major, number, name, sha256) VALUES (2, 1, 'x', 'x')",
        "SELECT setval('askbox.change', 1)",
        "SELECT * FROM askbox.question_other",
        "INSERT INTO askbox.question_other SELECT * FROM askbox.question",
        "SET ROLE build",
        "SET ROLE owner",
        "SET SESSION AUTHORIZATION build",
        "GRANT askbox_person TO laptop",
        "CREATE ROLE mine",
        "COPY askbox.question TO PROGRAM 'true'",
        "SELECT pg_read_file('postgresql.conf')",
    ] {
        refused(&mut host, statement);
        assert_eq!(state(&database), before, "{statement}");
    }
    // What it may do: one verdict about its own offer, once.
    let verdict = |word: &str| format!("UPDATE askbox.offer SET outcome = '{word}', said = 'x' WHERE offer_id = '{own}'");
    assert_eq!(host.execute(&verdict("lost"), &[]).expect("its own"), 1);
    refused(&mut host, &verdict("accepted"));
    assert!(host.execute(&format!("UPDATE askbox.offer SET outcome = 'maybe' WHERE offer_id = '{own}'"), &[]).map_or(true, |n| n == 0));
    assert_eq!(ann.told(own).expect("a verdict").outcome, "lost");
}

/// All that a role might have changed.
fn state(database: &Database) -> Vec<Option<String>> {
    let tables = ["askbox.host", "askbox.question", "askbox.offer", "askbox.migration", "pg_policies", "pg_roles", "pg_auth_members"];
    let content = |table: &&str| {
        let table = if table.starts_with("pg_roles") { "(SELECT rolname, rolsuper, rolbypassrls FROM pg_roles)" } else { table };
        database.value(&format!("SELECT md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')) FROM {table} t"))
    };
    tables.iter().map(content).collect()
}

mod promises {
    use super::*;

    #[test]
    fn a_person_reads_and_offers_and_does_nothing_else() {
        needs!("postgres");
        let database = Database::new();
        let host = Host::new(&database, "laptop");
        let round = host.ask("docs");
        host.sync();
        let mut ann = Person::new(&database, "ann");
        let offer = ann.offer("laptop", "docs", "a");
        let before = state(&database);
        let insert = |columns: &str, values: &str| {
            format!(
                "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc{columns})
                VALUES (gen_random_uuid(), 'laptop', 'docs', '{round}', '{round}', '{{}}'{values})"
            )
        };
        for statement in [
            "UPDATE askbox.question SET rank = 2",
            "UPDATE askbox.host SET token = gen_random_uuid()",
            &format!("UPDATE askbox.offer SET outcome = 'accepted' WHERE offer_id = '{offer}'"),
            &format!("UPDATE askbox.offer SET doc = '' WHERE offer_id = '{offer}'"),
            &format!("DELETE FROM askbox.offer WHERE offer_id = '{offer}'"),
            "DELETE FROM askbox.question",
            "TRUNCATE askbox.offer",
            // An offer in another person's name, one that is decided beforehand, and one that comes before the others.
            &insert(", sent_by", ", 'bob'"),
            &insert(", outcome", ", 'accepted'"),
            &insert(", sent_at", ", 'epoch'"),
            "INSERT INTO askbox.question SELECT * FROM askbox.question",
            "INSERT INTO askbox.host (host, token, program, clock_ms) VALUES ('ann', gen_random_uuid(), 'x', 0)",
            "CREATE TABLE askbox.mine (x int)",
            "DROP SCHEMA askbox CASCADE",
            "SET ROLE laptop",
        ] {
            refused(&mut ann.client, statement);
            assert_eq!(state(&database), before, "{statement}");
        }
    }
}
