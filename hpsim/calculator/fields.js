// From the text of the five fields to a checked pipeline, or to one fault for each field that has one.

const FIELDS = ["tau", "d", "M", "rho", "T"];
const MOST_MICROBATCHES = 10n ** 300n;

/**
 * @param {Object<string, string>} texts the text of each field
 * @returns {{input: ?Object, faults: Object<string, Fault>}} input: tau, d (lists of rationals), M (BigInt), rho, T
 */
function readFields(texts) {
  const faults = {};
  const attempt = (field, read) => {
    try {
      return read(texts[field]);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      faults[field] = fault;
      return undefined;
    }
  };
  const tau = attempt("tau", readStages);
  let d = attempt("d", (text) => readTimes("d", text));
  if (tau && d) d = attempt("d", () => linksOf(tau, d));
  if (tau && d) attempt("tau", () => checkRange(tau, d));
  const M = attempt("M", readCount);
  if (tau && d && M !== undefined && !faults.tau) attempt("M", () => checkMakespan(tau, d, M));
  const rho = attempt("rho", readShare);
  const T = attempt("T", (text) => (isBlank(text) ? null : readTime("T", readOne("T", text))));
  return { input: Object.keys(faults).length ? null : { tau, d, M, rho, T }, faults };
}

function readStages(text) {
  const tau = readTimes("tau", text);
  if (!tau.length) throw new Fault("fault_no_stage");
  if (tau.every(({ top }) => top === 0n)) throw new Fault("fault_all_zero");
  return tau;
}

function linksOf(tau, d) {
  const links = tau.length - 1;
  if (!d.length) return Array.from({ length: links }, () => ({ top: 0n, bottom: 1n }));
  if (d.length !== links) throw new Fault("fault_links", { found: d.length, stages: tau.length, links });
  return d;
}

function readTimes(name, text) {
  return wordsOf(text).map((word, index) => readTime(`${name}[${index}]`, word));
}

function readTime(place, word) {
  const time = readPlaced(place, word);
  if (time.top < 0n) throw new Fault("fault_negative", { place, found: shortened(word) });
  return time;
}

function readCount(text) {
  const word = readOne("M", text);
  const count = readPlaced("M", word);
  const whole = count.top % count.bottom === 0n ? count.top / count.bottom : 0n;
  if (whole < 1n || whole > MOST_MICROBATCHES) throw new Fault("fault_count", { found: shortened(word) });
  return whole;
}

function readShare(text) {
  const word = readOne("rho", text);
  const share = readPlaced("rho", word);
  if (share.top < 0n || share.top > share.bottom) throw new Fault("fault_share", { found: shortened(word) });
  return share;
}

function readOne(place, text) {
  const words = wordsOf(text);
  if (words.length !== 1) throw new Fault(words.length ? "fault_several" : "fault_empty", { place });
  return words[0];
}

function readPlaced(place, word) {
  if (word === "") throw new Fault("fault_empty", { place });
  try {
    return readNumber(word);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    throw new Fault(fault.key, { ...fault.parts, place, found: shortened(word) });
  }
}

/** Results must be doubles: the throughput, the fill in units of the bottleneck, and the makespan of one round. */
function checkRange(tau, d) {
  const bottleneck = Math.max(...tau.map(double));
  const fill = fillOf(tau, d);
  if (![1 / bottleneck, fill / bottleneck, fill * (tau.length + 1)].every(Number.isFinite)) {
    throw new Fault("fault_range");
  }
}

function checkMakespan(tau, d, M) {
  if (!Number.isFinite(Number(M + BigInt(tau.length)) * fillOf(tau, d))) throw new Fault("fault_makespan");
}

const double = ({ top, bottom }) => toDouble(top, bottom);
const fillOf = (tau, d) => [...tau, ...d].map(double).reduce((sum, time) => sum + time, 0);
const isBlank = (text) => plainText(text).trim() === "";
const shortened = (word) => (word.length <= 40 ? word : `${word.slice(0, 37)}…`);

/** The words of a list: separated by commas or white space, perhaps in brackets. */
function wordsOf(text) {
  const list = plainText(text).trim();
  const bare = /^\[.*\]$|^\(.*\)$/s.test(list) ? list.slice(1, -1).trim() : list;
  return bare === "" ? [] : bare.split(/\s*,\s*|\s+/);
}

/** What a Chinese input method types in place of ASCII, and the mathematical minus and fraction bar. */
function plainText(text) {
  return text
    .replace(/[\uFF01-\uFF5E]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replace(/[\u3001\uFF64]/g, ",")
    .replace(/[\u3002\uFF61]/g, ".")
    .replace(/\u2212/g, "-")
    .replace(/[\u2044\u2215]/g, "/");
}
