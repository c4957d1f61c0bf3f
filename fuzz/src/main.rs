//! The long run of one target: see `fuzz/run`.
#![cfg_attr(feature = "libfuzzer", no_main)]

use askbox_fuzz::targets::{ALL, Target};

fn target(name: &str) -> &'static Target {
    let names = || ALL.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    ALL.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no target {name:?}; there are {}", names()))
}

#[cfg(feature = "libfuzzer")]
mod guided {
    use std::sync::OnceLock;

    use askbox_fuzz::targets::Target;

    static TARGET: OnceLock<&Target> = OnceLock::new();

    libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
        let of_environment = || super::target(&std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names the target"));
        (TARGET.get_or_init(of_environment).check)(bytes);
    });
}

/// Runs mutations of the corpus: `fuzz TARGET SECONDS [SEED]`.
#[cfg(not(feature = "libfuzzer"))]
fn main() {
    use std::time::{Duration, Instant};

    use askbox_fuzz::{corpus, mutate};

    let args: Vec<String> = std::env::args().collect();
    let number = |n: usize, otherwise| args.get(n).map_or(otherwise, |text| text.parse().expect("a number"));
    let (target, seconds, seed) = (target(args.get(1).map_or("", String::as_str)), number(2, 60), number(3, 1));
    let inputs = corpus::of(target.name);
    let (begun, mut cases, mut random) = (Instant::now(), 0_u64, mutate::Random::new(seed));
    while begun.elapsed() < Duration::from_secs(seconds) {
        let (file, input) = &inputs[random.below(inputs.len())];
        let bytes = mutate::mutated(input, &inputs[random.below(inputs.len())].1, &mut random);
        if std::panic::catch_unwind(|| (target.check)(&bytes)).is_err() {
            let found = format!("found-{}-{seed}-{cases}", target.name);
            std::fs::write(&found, &bytes).expect("a writable folder");
            eprintln!("after {cases} cases, a change of {}: see {found}", file.display());
            std::process::exit(1);
        }
        cases += 1;
    }
    println!("{}: {cases} cases in {} s, nothing found", target.name, begun.elapsed().as_secs());
}
