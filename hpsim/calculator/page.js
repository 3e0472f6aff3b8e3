// The page's life: fields ↔ address, faults at their fields, results and pictures.

const WAIT_VALID = 150; // ms after a keystroke
const WAIT_FAULTY = 800; // a mistake is only told when typing pauses: "1," is on its way to "1,2"
const BLANK = { tau: "", d: "", M: "8", rho: "1", T: "" };

const field = (name) => document.getElementById(name);
const texts = () => Object.fromEntries(FIELDS.map((name) => [name, field(name).value]));

let drawn = null; // what the pictures show, to be drawn again at another width
let timer = 0;
let isEdited = false; // since the newest entry of the history was made

function update() {
  clearTimeout(timer);
  const { input, faults } = readFields(texts());
  FIELDS.forEach((name) => markField(name, faults[name]));
  document.body.classList.toggle("faulty", input === null);
  field("results").hidden = input === null;
  if (input === null) {
    field("summary").textContent = say("summary_faulty", { n: Object.keys(faults).length });
    field("counts").textContent = "";
    drawn = null;
    return;
  }
  const pipeline = scaledPipeline(input);
  const results = analyze(input, pipeline);
  fillResults(results, pipeline);
  fillMeasured(pipeline, input);
  field("counts").textContent = say("counts", { stages: counted("stages", results.S), links: counted("links", results.S - 1) });
  field("summary").textContent = summaryOf(results);
  field("command").replaceChildren(...commandFor(texts()));
  const measured = input.T === null ? null : double(input.T);
  drawn = { pipeline, M: input.M, measured, timelines: runTimelines(pipeline, input.M) };
  field("measured-key").hidden = measured === null;
  fillTimelineNotes(drawn);
  draw();
}

function markField(name, fault) {
  field(name).setAttribute("aria-invalid", String(fault !== undefined));
  field(`${name}-fault`).textContent = fault ? say(fault.key, fault.parts) : "";
}

function draw() {
  if (!drawn) return;
  const width = Math.max(260, Math.floor(field("pictures").clientWidth));
  drawMakespans(field("makespans"), field("makespans-data"), drawn, width);
  const { async: overlapped, blocking } = drawn.timelines;
  const end = largest([overlapped, blocking].map(({ rows }) => rows.at(-1).at(-1)));
  drawTimeline(field("timeline-async"), field("async-data"), drawn.pipeline, overlapped, end, width);
  drawTimeline(field("timeline-blocking"), field("blocking-data"), drawn.pipeline, blocking, end, width);
}

/** What the recurrences say, beside the closed forms; and what is left out of the picture. */
function fillTimelineNotes({ pipeline, M, timelines }) {
  const { count, drawn: rows } = timelines;
  const closed = makespans(pipeline, BigInt(count));
  for (const name of ["async", "blocking"]) {
    const { last } = timelines[name];
    const end = toDouble(last, pipeline.scale);
    const key = last === closed[name] ? "recurrence_equal" : "recurrence_unequal";
    const note = say(key, { batches: counted("batches", count), end: shown(end) });
    field(`${name}-end`).replaceChildren(dataElement(`end_${name}`, end, note));
  }
  const left = [];
  if (BigInt(rows) < M) left.push(say("only_batches", { n: rows, M: shown(Number(M)) }));
  if (BigInt(count) < M) left.push(say("only_run", { n: count }));
  if (pipeline.S > MOST_LANES) left.push(say("only_lanes", { n: MOST_LANES, S: pipeline.S }));
  field("left-out").textContent = left.join(say("sentence_join"));
}

/** The same question on the command line; a line may break between options and within lists, not within a name. */
function commandFor({ tau, d, M, rho, T }) {
  const options = [["tau", tau], ["d", d], ["M", M], ["rho", rho], ["measured", T]];
  const given = options.map(([name, text]) => [name, wordsOf(text).join(",")]).filter(([, text]) => text !== "");
  return ["hpsim calc", ...given.flatMap(([name, text]) => [" ", unbroken(`--${name}`), ` ${text}`])];
}

function unbroken(text) {
  const element = document.createElement("span");
  element.className = "unbroken";
  element.textContent = text;
  return element;
}

function addressOf(values) {
  const readable = (text) => encodeURIComponent(text).replace(/%2C/g, ",").replace(/%2F/g, "/");
  return `#${FIELDS.map((name) => `${name}=${readable(values[name].trim().replace(/\s*,\s*/g, ","))}`).join("&")}`;
}

/** The fields as the address has them; an address without any is the example. */
function readAddress() {
  const parts = location.hash.slice(1).split("&").filter((part) => part !== "");
  const found = new Map();
  const odd = [];
  for (const part of parts) {
    const [name, ...rest] = part.split("=");
    if (FIELDS.includes(name) && !found.has(name)) found.set(name, decoded(rest.join("=")));
    else odd.push(decoded(part));
  }
  const start = found.size ? BLANK : example();
  FIELDS.forEach((name) => (field(name).value = spaced(found.get(name) ?? start[name])));
  field("address-note").textContent = odd.length ? say("address_odd", { parts: listed(odd.map(shortened)) }) : "";
  isEdited = false;
  update();
}

function example() {
  const parts = document.querySelector("#examples a").hash.slice(1).split("&").map((part) => part.split("="));
  return { ...BLANK, ...Object.fromEntries(parts) };
}

/** A space after each comma, so that long lists break between numbers; addresses do without. */
const spaced = (list) => list.replace(/,(?=\S)/g, ", ");

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % stays, and the field says what is wrong
  }
}

/** One history entry for each stretch of editing: the first change makes it, further ones replace it. */
function writeAddress() {
  const address = addressOf(texts());
  if (address === location.hash) return;
  history[isEdited ? "replaceState" : "pushState"](null, "", address);
  isEdited = true;
  field("address-note").textContent = "";
}

function onTyping(event) {
  if (event.isComposing) return; // an input method is still choosing characters
  clearTimeout(timer);
  timer = setTimeout(commit, readFields(texts()).input ? WAIT_VALID : WAIT_FAULTY);
}

function commit() {
  writeAddress();
  update();
}

/** The address opens for others where the page is served; of a file only the part behind it means something to them. */
async function copyLink() {
  commit();
  const link = field("link");
  const isFile = location.protocol === "file:";
  link.value = isFile ? location.hash : location.href;
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(link.value);
  } catch {
    link.hidden = false; // no clipboard without https or permission: select the text, and try the old way
    link.select();
    isCopied = document.execCommand("copy");
  }
  link.hidden = isCopied;
  const [done, byHand] = isFile ? ["copied_text", "copy_by_hand_text"] : ["copied", "copy_by_hand"];
  field("copied").textContent = say(isCopied ? done : byHand);
}

field("inputs").addEventListener("input", onTyping);
field("inputs").addEventListener("compositionend", onTyping);
field("inputs").addEventListener("change", () => {
  commit();
  isEdited = false;
});
field("inputs").addEventListener("submit", (event) => {
  event.preventDefault();
  commit();
});
field("copy").addEventListener("click", copyLink);
field("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address holds the pipeline, not a place on the page
  field("summary").focus();
});
addEventListener("hashchange", readAddress);
new ResizeObserver(draw).observe(field("pictures"));
readAddress();
