//! The packages as they are published: built here, installed in empty environments without a network, and their types.

use std::fs;
use std::process::Command;

use crate::clients::client::{Client, link_modules, project};
use crate::clients::sdks::Sdk;
use crate::support::{World, names, needs, output};

#[track_caller]
fn run(command: &mut Command) -> String {
    let outcome = output(command);
    assert!(outcome.status.success(), "{command:?}\n{}", outcome.words());
    outcome.stdout
}

#[test]
fn the_npm_package_installs_offline_in_an_empty_folder() {
    needs!("node", "npm");
    let world = World::new();
    let folder = world.path("app");
    fs::create_dir(&folder).unwrap();
    run(world.any_command("npm").args(["pack", "--pack-destination"]).arg(&folder).arg(Client::Node.sources()));
    let package = folder.join("askbox-client-0.1.0.tgz");
    let options = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
    run(world.any_command("npm").args(options).arg(&package).current_dir(&folder));
    let installed = names(&folder.join("node_modules/@askbox/client"));
    assert!(installed.contains(&"index.d.ts".into()) && installed.contains(&"LICENSE-MIT".into()), "{installed:?}");
    fs::copy(project().join("tests/clients/node/hashes.mjs"), folder.join("hashes.mjs")).unwrap();
    run(world.any_command("node").arg("hashes.mjs").arg(project().join("docs/vectors")).current_dir(&folder));
    // The helpers are there, and each lacks only its SDK, which npm does not install unasked.
    assert_eq!(names(&folder.join("node_modules")), ["@askbox"]);
    for (helper, sdk) in [("ai-sdk", "ai"), ("claude", "@anthropic-ai/claude-agent-sdk"), ("openai-agents", "@openai/agents")] {
        let import =
            format!("import('@askbox/client/{helper}').catch((error) => console.log(error.code, error.message.includes(\"'{sdk}'\")))");
        let lacking = run(world.any_command("node").args(["--input-type=module", "-e", &import]).current_dir(&folder));
        assert_eq!(lacking.trim(), "ERR_MODULE_NOT_FOUND true", "{helper}");
        assert!(installed.contains(&format!("{helper}.d.ts")), "{installed:?}");
    }
}

#[test]
fn the_types_of_the_helpers_fit_the_sdks() {
    needs!("node", "typescript", "node-sdks");
    let world = World::new();
    Client::Node.bring(&world, "uses_sdks.mts", &fs::read_to_string(project().join("tests/clients/node/uses_sdks.mts")).unwrap());
    link_modules(&world, &std::env::var("ASKBOX_TEST_NODE_SDKS").unwrap());
    let compiler = std::env::var("ASKBOX_TEST_TYPESCRIPT").unwrap();
    let options = ["--noEmit", "--strict", "--skipLibCheck", "--preserveSymlinks", "--module", "nodenext", "--target", "es2022"];
    let words = [&options[..], &["--lib", "es2022,dom", "uses_sdks.mts"]].concat();
    run(world.any_command("node").arg(compiler).args(words).current_dir(world.path("scripts")));
}

#[test]
fn the_guide_of_the_sdks_shows_the_hosts_that_are_tested() {
    let page = fs::read_to_string(project().join("docs/guide-sdks.md")).unwrap();
    for sdk in Sdk::ALL {
        let example = fs::read_to_string(project().join(sdk.example())).unwrap();
        assert!(page.contains(&format!("\n{example}```\n")) || page.contains(&format!("(../{})", sdk.example())), "{}", sdk.example());
        assert!(example.lines().count() <= 40 && example.lines().all(|line| line.len() <= 140), "{}", sdk.example());
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_wheel_installs_offline_in_an_empty_environment() {
        needs!("python3", "pip3");
        let world = World::new();
        let [one, two, environment] = ["one", "two", "environment"].map(|name| world.path(name));
        let backend = Client::Python.sources().join("build_backend.py");
        for folder in [&one, &two] {
            fs::create_dir(folder).unwrap();
            run(world.any_command("python3").arg("-B").arg(&backend).arg(folder));
        }
        let wheel = "askbox-0.1.0-py3-none-any.whl";
        assert_eq!(fs::read(one.join(wheel)).unwrap(), fs::read(two.join(wheel)).unwrap(), "the same sources give the same bytes");
        run(world.any_command("python3").args(["-m", "venv", "--without-pip"]).arg(&environment));
        let python = environment.join("bin/python3");
        let pip = ["-m", "pip", "--disable-pip-version-check", "--python"];
        run(world.any_command("python3").args(pip).arg(&python).args(["install", "--quiet", "--no-index"]).arg(one.join(wheel)));
        let script = project().join("tests/clients/python/hashes.py");
        let said = run(world.any_command(&python).arg(script).arg(project().join("docs/vectors")));
        assert_ne!(said.trim(), "0");
        let typed = "import askbox, os, sys; sys.exit(not os.path.exists(os.path.join(os.path.dirname(askbox.__file__), 'py.typed')))";
        run(world.any_command(&python).args(["-c", typed]));
        // The helpers are there, and each lacks only its SDK.
        for (helper, sdk) in [("claude_agent_sdk", "claude_agent_sdk"), ("openai_agents", "agents"), ("langgraph", "langgraph")] {
            let import =
                format!("import askbox.hosts\ntry:\n  import askbox.{helper}\nexcept ModuleNotFoundError as error:\n  print(error.name)");
            let lacking = run(world.any_command(&python).args(["-c", &import]));
            assert_eq!(lacking.trim().split('.').next(), Some(sdk));
        }
    }

    #[test]
    fn the_types_of_the_node_client_are_what_a_user_needs() {
        needs!("node", "typescript");
        let world = World::new();
        Client::Node.bring(&world, "uses.ts", &fs::read_to_string(project().join("tests/clients/node/uses.ts")).unwrap());
        let compiler = std::env::var("ASKBOX_TEST_TYPESCRIPT").unwrap();
        let options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "uses.ts"];
        run(world.any_command("node").arg(compiler).args(options).current_dir(world.path("scripts")));
    }
}
