// JSON whose objects keep the order of their fields. `JSON.parse` does not: it moves keys such as "2" to the front, and the order of a
// question's options counts. An object is a Map here, and a number is a Num.

const DEEPEST = 64;

export class Num {
  constructor(raw) {
    this.raw = raw;
  }

  get isInteger() {
    return /^-?\d+$/.test(this.raw);
  }
}

/** Parses JSON. Throws a SyntaxError if the text is not JSON, or is nested deeper than a document may be (or than `deepest` levels). */
export function parse(text, deepest = DEEPEST) {
  // The built-in parser finds every fault of the syntax, so the one below may assume that there is none.
  JSON.parse(text);
  const tokens = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(true|false|null))/gy;
  const next = () => tokens.exec(text);
  function value(token, depth) {
    if (token[2]) return JSON.parse(token[2]);
    if (token[3]) {
      if (!Number.isFinite(Number(token[3]))) throw new SyntaxError(`the number ${token[3].slice(0, 20)} is out of range`);
      return new Num(token[3]);
    }
    if (token[4]) return { true: true, false: false, null: null }[token[4]];
    if (depth === deepest) throw new SyntaxError(`it is nested deeper than ${deepest} levels`);
    if (token[1] === "[") {
      const list = [];
      for (let one = next(); one[1] !== "]"; one = next()) if (one[1] !== ",") list.push(value(one, depth + 1));
      return list;
    }
    const fields = new Map();
    for (let one = next(); one[1] !== "}"; one = next()) {
      if (one[1] === ",") continue;
      const key = JSON.parse(one[2]);
      next();
      if (fields.has(key)) fields.hasTwice = true;
      fields.set(key, value(next(), depth + 1));
    }
    return fields;
  }
  return value(next(), 0);
}

/** Compact JSON, with numbers as askbox writes them. */
export function stringify(value) {
  if (value instanceof Map) return `{${[...value].map(([key, one]) => `${JSON.stringify(key)}:${stringify(one)}`).join(",")}}`;
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  if (value instanceof Num) return value.isInteger ? value.raw : shortest(Number(value.raw));
  return JSON.stringify(value);
}

/** The sign, the shortest digits, and where the decimal point stands among them. */
function digitsOf(number) {
  const [, sign, whole, fraction, exponent] = /^(-?)(\d)(?:\.(\d+))?e(.+)$/.exec(number.toExponential());
  return [sign, whole + (fraction ?? ""), Number(exponent) + 1];
}

/** A number in the form of the protocol: with a decimal point or an exponent, in the fewest digits that keep it. */
export function shortest(number) {
  if (number === 0) return "0.0";
  const [sign, digits, point] = digitsOf(number);
  if (point > 0 && point <= 16) return `${sign}${digits.slice(0, point).padEnd(point, "0")}.${digits.slice(point) || "0"}`;
  if (point > -5 && point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return `${sign}${digits[0]}${digits.length > 1 ? "." : ""}${digits.slice(1)}e${point - 1}`;
}

/** A number without an exponent, and without a fraction that is zero. */
export function plain(number) {
  if (number === 0) return "0";
  const [sign, digits, point] = digitsOf(number);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return `${sign}${digits.slice(0, point).padEnd(point, "0")}${digits.slice(point) ? `.${digits.slice(point)}` : ""}`;
}
