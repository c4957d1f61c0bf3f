export { answerHash, derivedId, ofItsMachine, questionHash, seen, shown } from "./hashes.js";
