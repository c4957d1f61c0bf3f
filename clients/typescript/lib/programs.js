// Starting askbox's programs: a list of words, never a shell, and never without a limit.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { errorOf, Failed, ProgramMissing, TimedOut } from "./errors.js";

/** The path of a program; undefined if it is not installed. */
export function find(name, folder) {
  const folders = folder === undefined ? (process.env.PATH ?? "").split(path.delimiter) : [folder];
  return folders
    .filter(Boolean)
    .map((one) => path.join(one, name))
    .find((file) => {
      try {
        fs.accessSync(file, fs.constants.X_OK);
        return fs.statSync(file).isFile();
      } catch {
        return false;
      }
    });
}

/** Runs a program with `--json` and resolves to what it printed, as text. Rejects with the error that it reports. */
export async function call(name, words, { folder, mailbox, limit, stdin = "", signal }) {
  const file = find(name, folder);
  if (!file)
    throw new ProgramMissing(
      `the program ${name} is not on PATH`,
      "install askbox, or name the folder of its programs: new Mailbox(path, { programs })",
    );
  signal?.throwIfAborted();
  const ended = await run(file, words, { mailbox, limit, stdin, signal });
  const text = ended.stdout.trim();
  if (ended.status === 0) return text;
  let said;
  try {
    said = JSON.parse(text);
  } catch {
    said = undefined;
  }
  if (said?.error !== undefined) throw errorOf(ended.status, String(said.error), String(said.hint ?? ""), said.kind);
  if (said && ended.status === 4) return text;
  const line = (word) =>
    ended.stderr
      .split("\n")
      .find((one) => one.startsWith(word))
      ?.slice(word.length);
  if (ended.status === null) throw new Failed(`${name} was ended by ${ended.signal}`, "look at the round before you repeat the call");
  throw errorOf(
    ended.status,
    line("error: ") ?? `${name} ended with status ${ended.status}`,
    line("hint: ") ?? "try the same command in a shell",
  );
}

function run(file, words, { mailbox, limit, stdin, signal }) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, { stdio: "pipe", env: { ...process.env, ASKBOX_DIR: mailbox } });
    const outputs = { stdout: [], stderr: [] };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (bytes) => outputs[name].push(bytes));
    let why;
    const end = (reason) => {
      why ??= reason;
      child.kill("SIGKILL");
    };
    // Node fires a timer beyond this at once.
    const timer = setTimeout(
      () =>
        end(
          new TimedOut(
            `${path.basename(file)} did not end within ${limit / 1000} s`,
            "look at the round before you repeat the call; new Mailbox(path, { limit }) sets the limit",
          ),
        ),
      Math.min(limit, 2 ** 31 - 1),
    );
    const aborted = () => end(signal.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
    };
    child.on("error", (error) => {
      over();
      reject(why ?? new Failed(`cannot start ${file}: ${error.code ?? error.message}`, "install askbox again"));
    });
    child.on("close", (status, bySignal) => {
      over();
      if (why) reject(why);
      else
        resolve({
          status,
          signal: bySignal,
          stdout: Buffer.concat(outputs.stdout).toString(),
          stderr: Buffer.concat(outputs.stderr).toString(),
        });
    });
    // A program that refuses its arguments does not read.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
  });
}
