// Numbers as they were written, read exactly: a whole numerator over a whole denominator above 0, both BigInt.

const LONGEST_TEXT = 1000;
const NUMBER = /^([+-]?)(?:(\d+)\/(\d+)|(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?)$/;

/** A mistake in what was typed: the key of a sentence in the string table, and what to fill into it. */
class Fault extends Error {
  constructor(key, parts = {}) {
    super(key);
    this.key = key;
    this.parts = parts;
  }
}

/** The rational number that a word was written as: "0.1" is 1/10, "1/3" a third. */
function readNumber(word) {
  if (word.length > LONGEST_TEXT) throw new Fault("fault_too_long", { length: word.length });
  if (/^[+-]?(nan|inf|infinity)$/i.test(word)) throw new Fault("fault_not_finite", { found: word });
  const [, sign, top, bottom, whole = "", decimals = "", exponent = "0"] = word.match(NUMBER) ?? [];
  const isFraction = bottom !== undefined && /[1-9]/.test(bottom);
  if (!isFraction && (bottom !== undefined || whole + decimals === "")) {
    throw new Fault("fault_not_a_number", { found: word });
  }
  const number = isFraction
    ? { top: BigInt(top), bottom: BigInt(bottom) }
    : fromDecimal(whole + decimals, Number(exponent) - decimals.length);
  if (sign === "-") number.top = -number.top;
  const nearest = toDouble(number.top, number.bottom);
  if (!Number.isFinite(nearest)) throw new Fault("fault_beyond_float64", { found: word });
  if (nearest === 0 && number.top !== 0n) throw new Fault("fault_below_float64", { found: word });
  return number;
}

function fromDecimal(digits, exponent) {
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? { top: BigInt(digits), bottom: power } : { top: BigInt(digits) * power, bottom: 1n };
}

/** Rational numbers as whole multiples of one common unit 1/scale. */
function onCommonScale(numbers) {
  const scale = numbers.reduce((common, { bottom }) => (common / gcd(common, bottom)) * bottom, 1n);
  return { scale, multiples: numbers.map(({ top, bottom }) => top * (scale / bottom)) };
}

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** The double nearest to top/bottom, ties to even; infinite where no double is near. */
function toDouble(top, bottom) {
  if (top < 0n) return -toDouble(-top, bottom);
  if (top === 0n) return 0;
  // The quotient in units of 2^unit has at least two bits more than a double, the last one set if anything is left.
  const unit = Math.max(bits(top) - bits(bottom) - 55, -1076);
  const [dividend, divisor] = unit < 0 ? [top << BigInt(-unit), bottom] : [top, bottom << BigInt(unit)];
  const quotient = (dividend / divisor) | (dividend % divisor ? 1n : 0n);
  if (unit === -1076 && bits(quotient) <= 55) {
    const [kept, dropped] = [quotient >> 2n, quotient & 3n];
    return Number(dropped > 2n || (dropped === 2n && kept & 1n) ? kept + 1n : kept) * Number.MIN_VALUE;
  }
  const half = Math.trunc(unit / 2); // in two steps, for 2^-1076 is no double
  return Number(quotient) * 2 ** half * 2 ** (unit - half);
}

function bits(whole) {
  const digits = whole.toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

const largest = (values) => values.reduce((most, value) => (value > most ? value : most));
const total = (values) => values.reduce((sum, value) => sum + value, 0n);
