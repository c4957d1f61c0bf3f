// Starts a program of askbox from the package of this machine's processor. With Node.js 22.15 and later, the program takes the place of
// this process. With older versions this process waits, passes signals on, and ends as the program ends.
"use strict";

module.exports = function launch(program) {
  const name = `@askbox/${process.platform}-${process.arch}`;
  let file;
  try {
    file = require.resolve(`${name}/bin/${program}`);
  } catch {
    console.error(`error: the package ${name} is missing, which holds ${program} for this machine`);
    console.error(
      process.platform === "linux" && ["x64", "arm64"].includes(process.arch)
        ? "hint: install askbox again, without --omit=optional and without --no-optional"
        : "hint: there are packages for Linux on x64 and arm64; elsewhere build askbox with Rust: cargo install --locked --profile dist --path .",
    );
    process.exit(1);
  }
  const args = process.argv.slice(2);
  if (process.execve) {
    process.execve(file, [program, ...args], process.env);
  }
  wait(require("child_process").spawn(file, args, { argv0: program, stdio: "inherit" }), program);
};

function wait(child, program) {
  // A terminal sends its signals to the program as well, which must not hear them twice.
  const atTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const passOn = (signal) => child.kill(signal);
  const ignore = () => {};
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, atTerminal ? ignore : passOn);
  for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) process.on(signal, passOn);
  child.on("error", (error) => {
    console.error(`error: ${program} cannot be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // A signal whose default is not to end this process.
    setTimeout(() => process.exit(1), 1000);
  });
}
