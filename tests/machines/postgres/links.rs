//! Three machines in three network namespaces: two hosts reach the database of the third over links that are cut and healed.

use std::sync::Arc;

use super::certificate::certify;
use super::cluster::{Cluster, Database};
use super::host::{Host, Person};
use crate::support::network::hub_for;
use crate::support::{Network, World, needs, output, until};

#[test]
fn each_host_goes_on_without_its_link_and_tells_later() {
    needs!("postgres", "openssl", "root", "network-namespace");
    let network = Network::new(2);
    let mut here = World::new();
    here.set_before(network.at_hub());
    let names = format!("IP:{},IP:{}", hub_for(0), hub_for(1));
    let cluster = Arc::new(Cluster::in_network(network.at_hub(), |data| certify(&here, data, &names)));
    let database = Database::in_cluster(cluster);
    let authority = here.path("ca.pem");
    let section = |role: &str, n: usize| format!("\"postgresql://{role}@{}/{}\"", hub_for(n), database.name);
    let host = |name: &'static str, n: usize| {
        let mut world = World::stepping("work");
        world.set_before(network.on(n));
        let host = Host::with(&database, name, world);
        let database = section(name, n);
        host.world.configure(&format!("[sync]\ndatabase = {database}\nroot_certificate = \"{}\"\npoll = \"200ms\"", authority.display()));
        host
    };
    let (laptop, build) = (host("laptop", 0), host("build", 1));
    here.configure(&format!("[peers.team]\npostgres = {}\n[sync]\nroot_certificate = \"{}\"\n", section("ann", 0), authority.display()));
    for workflow in ["docs", "mine"] {
        laptop.ask(workflow);
    }
    build.ask("site");
    let _processes = [laptop.serve(), build.serve()];
    until("all questions are seen", || {
        let listed = here.ok("ask-answer", &["list"]);
        ["laptop:docs", "laptop:mine", "build:site"].iter().all(|id| listed.contains(id))
    });
    network.cut(0, true);
    // The machine goes on alone, and the other one does not notice.
    let begun = std::time::Instant::now();
    laptop.world.ok("ask-answer", &["mine", "a", "--by", "bob"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "nothing waits for the link");
    let answered = here.run("ask-answer", &["build:site", "b"]);
    assert!(answered.code() == 0 && answered.stdout.contains("accepted by build") || answered.code() == 6, "{answered:?}");
    until("the answer is accepted", || build.world.in_mailbox("answered/site.json").exists());
    let mut ann = Person::new(&database, "ann");
    assert_eq!(ann.sees("laptop", "mine").expect("known").2, "pending", "nobody can know better");
    let late = ann.offer("laptop", "mine", "b");
    // An offer is sent, and no more, until the link is back.
    let told = std::thread::scope(|scope| {
        let sender = scope.spawn(|| here.run("ask-answer", &["laptop:docs", "b"]));
        let sent = "SELECT count(*)::text FROM askbox.offer WHERE host = 'laptop' AND workflow_id = 'docs' AND outcome IS NULL";
        until("the offer is in the database", || database.value(sent).as_deref() == Some("1"));
        assert!(laptop.world.in_mailbox("pending/docs.json").exists() && ann.told(&late).is_none());
        network.cut(0, false);
        sender.join().expect("the sender")
    });
    assert!(told.code() == 0 && told.stdout.contains("accepted by laptop") || told.code() == 6, "{told:?}");
    let lost = ann.hears(&late);
    assert!(lost.outcome == "lost" && lost.said.contains("answered by bob"), "{lost:?}");
    ann.sees_state("laptop", "docs", "answered");
    ann.sees_state("laptop", "mine", "answered");
    assert_eq!(laptop.world.document("answered/docs.json")["answer"]["by"], "ann");
    assert_eq!(laptop.world.audit("docs"), ["posted", "answered"]);
    // Without a link to the hub, nobody sends anything to it either.
    network.cut(1, true);
    let mut command = build.world.command("askbox");
    let refused = output(command.args(["sync", "run", "--once"]));
    assert_ne!(refused.code(), 0, "{refused:?}");
}
