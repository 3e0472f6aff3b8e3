// Sentences from the string table, and numbers as text.

const STRINGS = JSON.parse(document.getElementById("strings").textContent);
const PLURALS = new Intl.PluralRules(document.documentElement.lang);

function say(key, parts = {}) {
  return STRINGS[key].replace(/\{(\w+)\}/g, (_, name) => parts[name]);
}

/** A counted noun: key_one or key_other, as the language asks. */
function counted(key, count) {
  return say(`${key}_${PLURALS.select(count) === "one" ? "one" : "other"}`, { n: shown(count) });
}

/** Four decimals, fewer for large numbers, four digits below 1; far from 1 in powers of ten. */
function shown(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size < 1e-6 || size >= 1e15) return signed(powers(number, 6));
  const power = Math.floor(Math.log10(size));
  const decimals = size >= 1 ? Math.max(0, Math.min(4, 9 - power)) : 3 - power;
  return signed(trimmed(number.toFixed(decimals)));
}

/** For axes, where neighbours differ by more than a hundredth of their size. */
function shownOnAxis(number) {
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return signed(powers(number, 3));
  return signed(trimmed(number.toPrecision(6)));
}

const shownShare = (share) => {
  const percent = 100 * share;
  const text = Math.abs(percent) >= 1e6 ? shown(percent) : signed(percent.toFixed(1).replace(/^-(0\.0)$/, "$1"));
  return `${text}\u00a0%`;
};

const shownSignedShare = (share) => (share > 0 && 100 * share >= 0.05 ? `+${shownShare(share)}` : shownShare(share));

function powers(number, digits) {
  const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
  return `${trimmed(mantissa)}e${exponent.replace("+", "")}`;
}

const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const signed = (text) => text.replace("-", "\u2212");

const LISTED = 5; // in a sentence; tables name all

function listed(names) {
  const more = names.length - LISTED;
  const first = names.slice(0, LISTED).join(say("list_comma"));
  return more > 0 ? say("list_more", { first, n: more }) : first;
}
