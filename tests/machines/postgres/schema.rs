//! Migrations, versions, pruning, and how the database is reached.

use std::sync::Arc;

use super::certificate::certify;
use super::cluster::{Cluster, Database};
use super::host::{Host, Person};
use crate::support::{World, in_parallel, needs};

fn shared() -> Arc<Cluster> {
    Database::new().cluster
}

#[test]
fn versions_that_do_not_fit_refuse_each_other_by_name() {
    needs!("postgres");
    let database = Database::empty_in(shared());
    let host = Host::new(&database, "laptop");
    let says = |words: &str, code: i32| {
        let out = host.once(&[]);
        assert!(out.code() == code && out.stderr.contains(words), "{words}: {}", out.words());
    };
    says("askbox sync migrate", 1);
    let address = database.address("owner");
    let migrate = ["sync", "migrate", "--database", &address];
    host.world.ok("askbox", &migrate);
    host.sync();
    let owner = |statement: &str| database.connect("owner").batch_execute(statement).expect("the owner may");
    // A later file of the same major version only adds.
    owner(
        "INSERT INTO askbox.migration (major, number, name, sha256) VALUES (1, 2, 'more', 'x'); ALTER TABLE askbox.question ADD note text",
    );
    host.sync();
    owner("INSERT INTO askbox.migration (major, number, name, sha256) VALUES (2, 1, 'anew', 'x')");
    says("has 2.001_anew, and askbox", 4);
    let out = host.world.run("askbox", &migrate);
    assert!(out.code() == 4 && out.stderr.contains("has 2.001_anew"), "{}", out.words());
    owner("DELETE FROM askbox.migration WHERE major = 2; UPDATE askbox.migration SET sha256 = 'other' WHERE number = 1");
    says("another 1.001_questions_and_offers", 4);
    owner("DELETE FROM askbox.migration");
    says("lacks 1.001_questions_and_offers", 1);
}

#[test]
fn a_database_without_all_characters_is_refused() {
    needs!("postgres");
    let cluster = shared();
    let make = "CREATE DATABASE latin_refused ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    cluster.connect("owner", "postgres").expect("a connection").batch_execute(make).expect("a database");
    let database = Database { cluster, name: "latin_refused".into() };
    let out = World::new().run("askbox", &["sync", "migrate", "--database", &database.address("owner")]);
    assert!(out.code() == 4 && out.stderr.contains("keeps texts as LATIN1") && out.stderr.contains("ENCODING 'UTF8'"), "{}", out.words());
    assert_eq!(database.value("SELECT to_regclass('askbox.migration')::text"), None);
}

#[test]
fn a_week_goes_with_its_partition_and_what_is_open_stays() {
    needs!("postgres");
    let database = Database::new();
    let host = Host::new(&database, "laptop");
    let (open, over) = (host.ask("open"), host.ask("over"));
    host.world.ok("ask-answer", &["cancel", "over"]);
    host.ask("later");
    host.sync();
    let mut ann = Person::new(&database, "ann");
    let offer = ann.offer("laptop", "later", "a");
    host.sync();
    let partitions = || database.value("SELECT count(*)::text FROM pg_inherits WHERE inhparent = 'askbox.question'::regclass");
    assert_eq!(partitions().as_deref(), Some("11"), "ten weeks and the other ids");
    // Rounds of a year ago, in a week that holds nothing else, and one with an open question.
    let year_ago = |workflow: &str, rank: i16, week: u64| {
        let millis = std::time::UNIX_EPOCH.elapsed().expect("now").as_millis() - u128::from(week) * 7 * 86_400_000;
        let id = uuid::Uuid::from_u128((millis << 80) | (uuid::Uuid::now_v7().as_u128() & ((1 << 80) - 1)));
        let from = uuid::Uuid::from_u128((millis - 1000) << 80);
        let to = uuid::Uuid::from_u128((millis + 1000) << 80);
        let at = chrono::DateTime::<chrono::Utc>::from_timestamp_millis(i64::try_from(millis).expect("a time")).expect("a time");
        let name = at.format("question_%Gw%V");
        let mut owner = database.connect("owner");
        let _there =
            owner.batch_execute(&format!("CREATE TABLE askbox.{name} PARTITION OF askbox.question FOR VALUES FROM ('{from}') TO ('{to}')"));
        owner
            .batch_execute(&format!(
                "INSERT INTO askbox.question VALUES ('laptop', '{id}', '{workflow}', 0, {rank}, 'x', '{id}', '', NULL, 1, '{at}')"
            ))
            .expect("a row");
    };
    year_ago("old-over", 2, 60);
    year_ago("old-open", 0, 52);
    let world = &host.world;
    let address = database.address("owner");
    let refused = world.run("askbox", &["sync", "prune", "--database", &database.address("laptop")]);
    assert_eq!(refused.code(), 1, "{}", refused.words());
    assert_eq!(world.ok("askbox", &["sync", "prune", "--keep", "30d", "--database", &address]), "removed 1 partitions and 0 rows\n");
    let left = database.value("SELECT string_agg(workflow_id, ' ' ORDER BY workflow_id) FROM askbox.question");
    assert_eq!(left.as_deref(), Some("later old-open open"), "{open} {over}");
    assert_eq!(ann.told(&offer).expect("a verdict").outcome, "accepted");
    // The host learns that the old question is not its own, and says that it is gone.
    host.sync();
    ann.sees_state("laptop", "old-open", "gone");
}

#[test]
fn wrong_address_role_and_password_file_are_told_in_words() {
    needs!("postgres");
    let database = Database::new();
    let host = Host::new(&database, "laptop");
    let try_at = |address: &str| host.world.run("askbox", &["sync", "run", "--once", "--database", address]);
    for (address, code, words) in [
        ("postgresql://laptop:secret@localhost/x", 5, "holds a password"),
        ("postgresql://laptop@localhost/x?sslmode=disable", 5, "asks for no TLS"),
        (
            &format!("host={} user=nobody-here dbname={}", database.cluster.socket(), database.name),
            1,
            "role \"nobody-here\" does not exist",
        ),
        (&format!("host={} user=laptop dbname=missing", database.cluster.socket()), 1, "database \"missing\" does not exist"),
        ("host=/nowhere user=laptop dbname=x", 1, "hint: no server has the socket /nowhere/.s.PGSQL.5432: start PostgreSQL, or "),
    ] {
        let out = try_at(address);
        assert!(out.code() == code && out.stderr.contains(words), "{address}: {}", out.words());
        assert!(out.stderr.contains("hint: "), "{}", out.stderr);
    }
    let wrong = host.world.run("askbox", &["sync", "roles", "--host", "A.B"]);
    assert!(wrong.code() == 2 && wrong.stderr.contains("`A.B` is no name of a host"), "{wrong:?}");
    // Everything from the variables of libpq.
    let mut command = host.world.command("askbox");
    command.args(["sync", "run", "--once", "--database", ""]);
    command.env("PGHOST", database.cluster.socket()).env("PGUSER", "laptop").env("PGDATABASE", &database.name);
    crate::support::output(&mut command).ok();
    let passwords = host.world.home().join(".pgpass");
    std::fs::write(&passwords, "*:*:*:*:secret\n").unwrap();
    std::fs::set_permissions(&passwords, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let out = host.once(&[]);
    assert!(out.code() == 1 && out.stderr.contains("can be read by others") && out.stderr.contains("chmod 0600"), "{}", out.words());
    std::fs::set_permissions(&passwords, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    host.sync();
}

#[test]
fn over_a_network_the_servers_certificate_is_verified() {
    needs!("postgres", "openssl");
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
    let world = World::new();
    let cluster = Cluster::with_tls(port, |data| certify(&world, data, "DNS:localhost"));
    let migrate = |host: &str, authority: &str| {
        let mut command = world.command("askbox");
        let address = format!("postgresql://owner@{host}:{port}/postgres?sslmode=verify-full");
        crate::support::output(command.args(["sync", "migrate", "--database", &address]).env("PGSSLROOTCERT", authority))
    };
    let authority = world.path("ca.pem");
    let authority = authority.to_str().expect("a path");
    migrate("localhost", authority).ok();
    assert!(cluster.connect("owner", "postgres").expect("a socket").query_one("SELECT count(*) FROM askbox.migration", &[]).is_ok());
    let out = migrate("127.0.0.1", authority);
    assert!(out.code() == 1 && out.stderr.contains("not valid for name"), "{}", out.words());
    let out = migrate("localhost", "");
    assert!(out.code() == 1 && out.stderr.contains("invalid peer certificate"), "{}", out.words());
    let out = migrate("localhost", "/nowhere.pem");
    assert!(out.code() == 1 && out.stderr.contains("/nowhere.pem"), "{}", out.words());
}

mod promises {
    use super::*;

    #[test]
    fn many_migrations_at_once_are_one() {
        needs!("postgres");
        let database = Database::empty_in(shared());
        let world = World::new();
        in_parallel(6, &[(); 6], |()| {
            world.ok("askbox", &["sync", "migrate", "--database", &database.address("owner")]);
        });
        assert_eq!(database.value("SELECT count(*)::text FROM askbox.migration").as_deref(), Some("1"));
        let printed = world.ok("askbox", &["sync", "migrate", "--print"]);
        let sha256 = database.value("SELECT sha256 FROM askbox.migration").expect("a hash");
        assert!(printed.contains(&format!("-- 1.001_questions_and_offers, SHA-256 {sha256}")), "{printed}");
    }
}
