// The end of a program as its runner expects it.

import { AskboxError, Waiting } from "./errors.js";

/** Awaits `main`. If it rejects with an AskboxError, the process ends with its exit status, and says the error and its hint. */
export async function exits(main) {
  try {
    return await main();
  } catch (error) {
    if (!(error instanceof AskboxError)) throw error;
    // Both in one line: askbox shows the last one.
    console.error(error instanceof Waiting ? error.message : `error: ${error.message}; hint: ${error.hint}`);
    return process.exit(error.exitStatus);
  }
}
