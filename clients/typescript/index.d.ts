/**
 * askbox from Node: ask a person, end, and go on in a new process with the answer.
 *
 * Every call rejects with a kind of {@link AskboxError}.
 */

/** An answer: text, a list (`multi_choice`), or an object by the id of each part (a batch). */
export type Value = string | string[] | { [part: string]: string | string[] };

export type QuestionType = "choice" | "multi_choice" | "yes_no" | "text" | "number";

export interface Option {
  label: string;
  description?: string;
  preview?: string;
}

/** A list keeps its order. In an object, JavaScript moves keys that are integers; such an object is refused. */
export type Options = { [key: string]: string | null } | ReadonlyArray<string | Option>;

export interface Range {
  min?: number;
  max?: number;
  step?: number;
  unit?: string;
}

/** One question of a batch. */
export interface Part {
  id?: string;
  question: string;
  header?: string;
  type?: QuestionType;
  multiSelect?: boolean;
  options?: Options;
  free_text?: boolean;
  range?: Range;
}

/** A question as it is posted, with the names of `docs/dev/protocol.md`. Other fields are kept. */
export interface Question {
  workflow_id?: string;
  question?: string;
  options?: Options;
  type?: QuestionType;
  free_text?: boolean;
  range?: Range;
  questions?: Part[];
  context?: string;
  checkpoint?: string;
  asked_by?: string;
  expires_at?: string;
  on_expiry?: "keep" | "default" | "cancel";
  default?: unknown;
  remind_every?: string;
  priority?: number;
  until?: { file: string } | { at: string };
  session_id?: string;
  cwd?: string;
  parent?: string;
  /** The trace that asks, by W3C Trace Context. If it is missing: that of `TRACEPARENT` and `TRACESTATE`. */
  trace?: { traceparent: string; tracestate?: string };
  in_reply_to?: string;
  [field: string]: unknown;
}

/** Texts are as the person wrote them: escape control characters before you print them. */
export interface Answer {
  outcome: "answered" | "declined";
  /** The value in its final form; null if the person declined. */
  value: Value | null;
  by: string | null;
  /** Words beside the value, the reason of a refusal, or the question that the person asks back. */
  note: string | null;
  /** True if the person asks something before they decide: ask again, and say more. */
  asksBack: boolean;
  channel: string | null;
  through: string | null;
  at: string;
  /** All fields of the answer, also those that this version does not know. */
  fields: { [field: string]: unknown };
}

export type Folder = "pending" | "answered" | "running" | "parked" | "closed";
type End = "delivered" | "withdrawn" | "expired" | "superseded" | "dropped";
export type State = Exclude<Folder, "closed"> | "waiting" | End;
export type Outcome = "answered" | "declined" | End;

/** One question of a workflow and what became of it. */
export class Round {
  private constructor();
  readonly workflowId: string;
  readonly questionId: string;
  /** The folder that the document lies in. */
  readonly folder: Folder;
  /** The state as `relaunch status --json` says it, as far as the document shows it. */
  readonly state: State;
  readonly document: Question & { [field: string]: unknown };
  /** True if a post found that this very question already waited. */
  readonly repeated: boolean;
  readonly answer: Answer | null;
  /** The value of the answer; null while there is none, and if the person declined. */
  readonly value: Value | null;
  /** Null while a person is awaited. */
  readonly outcome: Outcome | null;
  /** The options in the asker's order. */
  readonly options: ReadonlyArray<{ key: string; description: string; preview?: string }>;
  /** The document as JSON, with its fields in order. */
  readonly text: string;
}

/** What a runner gives to the program that it starts. */
export interface Run {
  workflowId: string;
  questionId: string;
  /** The number of this attempt in the round, from 1. */
  attempt: number;
  why: "answer" | "task" | "children";
  round: Round;
  answer: Answer | null;
  value: Value | null;
  checkpoint: { [field: string]: unknown } | null;
  /** The end of the attempt before this one, as far as it is known. */
  earlier: { attempt?: number; why?: string; exit?: number; signal?: number } | null;
  /** The calls that were marked with `once` in this round. Each may have been made. */
  once: string[];
}

/** A call that did not succeed. `message` is one line; `hint` says what to do about it. */
export class AskboxError extends Error {
  static readonly exitStatus: number;
  constructor(message: string, hint?: string);
  /** The exit status of askbox's programs for this kind. */
  readonly exitStatus: number;
  readonly hint: string;
}
/** The disk or the system failed, or something else that no other type names. Status 1. */
export class Failed extends AskboxError {}
/** Another process keeps the lock of the workflow. Nothing was changed; the call may be repeated. Status 1. */
export class Held extends Failed {}
/** A program did not end within `limit` and was ended. Look at the round before you repeat the call. Status 1. */
export class TimedOut extends Failed {}
/** One of askbox's programs is not installed, and the call cannot be made without it. Status 1. */
export class ProgramMissing extends Failed {}
/** Wrong arguments, or a call that is only possible inside of a run. Status 2. */
export class Usage extends AskboxError {}
/** There is no such workflow, question, checkpoint, field or mailbox. Status 3. */
export class NotFound extends AskboxError {}
/** Another question is pending, somebody else was first, or no answer will come. Status 4. */
export class Conflict extends AskboxError {}
/** A document, a value or an id is not valid. The message names the field. Status 5. */
export class Invalid extends AskboxError {}
/** A person has not answered yet. A program that a runner started exits with this status. Status 6. */
export class Waiting extends AskboxError {}

/** What can end a wait early. Node's `AbortSignal` is one. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T : never;

export interface MailboxOptions {
  /** The folder of askbox's programs; without it they are looked up on `PATH`. */
  programs?: string;
  /** How many milliseconds one of the programs may take. 60,000 if missing. */
  limit?: number;
}

export interface PostOptions {
  /** Without it, `$WORKFLOW_ID` and `$ASKBOX_WORKFLOW_ID` are used, else a new id. */
  workflowId?: string;
  options?: Options;
  type?: QuestionType;
  context?: string;
  askedBy?: string;
  /** The absolute path of a checkpoint. */
  checkpoint?: string;
  /** Replace the question that waits. */
  supersede?: boolean;
  /** The paths of files that the person sees beside the question. */
  attach?: string[];
}

export interface Checkpoints {
  /** Saves the state of a workflow, durably, in place of the one before. Resolves to the path of the file. */
  save(workflowId: string, state: { [field: string]: unknown }): Promise<string>;
  /** Resolves to the whole state, or to one value such as `state_variables.page`. `otherwise` is for what is not there. */
  get(workflowId: string, field?: string, otherwise?: unknown): Promise<any>;
}

/** A mailbox: `path`, else `$ASKBOX_DIR`, else `~/.claude/questions`. */
export class Mailbox {
  constructor(path?: string, options?: MailboxOptions);
  readonly path: string;
  readonly checkpoint: Checkpoints;
  /** Asks a person. The question is on the disk when this resolves. The same question again resolves to the round that waits. */
  post(question: string | Question, options?: PostOptions): Promise<Round>;
  /** Resolves to a round: the one with this id, else the one that is not over yet, else the last one. Null if there is none. */
  round(workflowId: string, questionId?: string): Promise<Round | null>;
  /**
   * Waits for the answer and takes it: nothing is launched with it. Rejects with {@link Waiting} after `timeout` milliseconds, and with
   * {@link Conflict} if there will be no answer, or if a watcher was first. A refusal is an answer: look at `outcome`.
   */
  wait(workflowId: string, options?: { timeout?: number; signal?: Signal }): Promise<Round>;
  /** Withdraws the question that waits. Rejects with {@link Conflict} if somebody has answered it. */
  withdraw(workflowId: string, options?: { why?: string }): Promise<Round>;
  /** Marks a call before it is made. True for the first caller in the round; false if the call may have been made already. */
  once(call: string): Promise<boolean>;
  /** Resolves to the questions that wait, by priority and then by age. Files that are not valid questions are passed over. */
  pending(): Promise<Round[]>;
  /**
   * Yields each question that waits, then each new one, and each of these again whenever its state changes, until it is closed. It looks
   * every `interval` milliseconds (50 to 60,000; 1,000 if missing) and ends after `timeout` milliseconds.
   */
  watch(options?: { workflowId?: string; interval?: number; timeout?: number; signal?: Signal }): AsyncGenerator<Round, void, undefined>;
}

/** Resolves to what the runner gave to this program; null outside of a run. `source` is read if `$ASKBOX_ROUND` is missing. */
export function resumed(source?: AsyncIterable<string | Uint8Array>): Promise<Run | null>;

/**
 * Awaits `main`. If it rejects with an {@link AskboxError}, the process ends with its exit status, and says the error and its hint on
 * standard error. {@link Waiting} becomes the status 6, and {@link Invalid} the status 5, which parks the round.
 */
export function exits<T>(main: () => Promise<T>): Promise<T>;

/** The hashes of the protocol. A question is its text as JSON, which is exact, or an object. */
export namespace hashes {
  function questionHash(question: string | object): string;
  function derivedId(question: string | object, n: number): string;
  function seen(question: string | object): string;
  function ofItsMachine(question: string | object): string;
  function shown(question: string | object): string;
  function answerHash(question: string | object, answer: string | object): string;
}
