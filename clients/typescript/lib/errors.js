// Errors as types. Each one has the exit status of askbox's programs and a hint that says what to do.

export class AskboxError extends Error {
  static exitStatus = 1;

  constructor(message, hint = "") {
    super(message);
    this.name = new.target.name;
    this.hint = hint;
  }

  get exitStatus() {
    return this.constructor.exitStatus;
  }
}

export class Failed extends AskboxError {}
export class Held extends Failed {}
export class TimedOut extends Failed {}
export class ProgramMissing extends Failed {}
export class Usage extends AskboxError {
  static exitStatus = 2;
}
export class NotFound extends AskboxError {
  static exitStatus = 3;
}
export class Conflict extends AskboxError {
  static exitStatus = 4;
}
export class Invalid extends AskboxError {
  static exitStatus = 5;
}
export class Waiting extends AskboxError {
  static exitStatus = 6;
}

const TYPES = { 2: Usage, 3: NotFound, 4: Conflict, 5: Invalid, 6: Waiting };

/** The error for the exit status of a program, its words, and the `kind` that it names in JSON. */
export function errorOf(status, message, hint, kind) {
  // A held lock has the status 1, and so has every other failure of the system.
  const Type = TYPES[status] ?? (kind === "held" ? Held : Failed);
  return new Type(message, hint.replace("--supersede", "post(…, { supersede: true })"));
}
