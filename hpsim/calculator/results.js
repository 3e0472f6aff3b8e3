// The numbers on the page. Every value stands in a <data> element: text for people, the full double in its attribute.

const SHOWN_AS = {
  phase_transition: (_, { headroom }) => phaseInWords(headroom),
  bottleneck_async: stagesInWords,
  bottleneck_blocking: stagesInWords,
  gpipe_overestimate: shownSignedShare,
  gpipe_bubble_ratio: shownShare,
};

/** @param {Object} results of analyze; rows of the page's tables are found by their data-key */
function fillResults(results, pipeline) {
  for (const element of document.querySelectorAll("#results table.values td:not(#measured) data")) {
    const value = results[element.dataset.key];
    element.value = Array.isArray(value) ? JSON.stringify(value) : String(value);
    element.textContent = (SHOWN_AS[element.dataset.key] ?? shown)(value, pipeline);
  }
  fillStages(results);
}

/** One row for each stage and the link that leaves it. */
function fillStages(results) {
  const cell = (key, s, text = shown) => {
    const value = results[key][s];
    return value === undefined ? "" : dataElement(key, value, text(value));
  };
  const rows = results.tau.map((_, s) => [
    say("stage_n", { n: s }),
    cell("tau", s),
    cell("utilization", s, shownShare),
    cell("d", s),
    cell("link_slack", s),
    cell("link_headroom", s),
    remark(results, s),
  ]);
  const heads = ["head_stage", "head_tau", "head_busy", "head_d", "head_slack", "head_headroom", "head_remark"];
  fillTable(document.getElementById("stages"), heads.map((key) => say(key)), rows);
}

function remark(results, s) {
  const [calm, blocking] = ["bottleneck_async", "bottleneck_blocking"].map((key) => results[key].includes(s));
  const remarks = [];
  if (calm) remarks.push(say(blocking ? "remark_both" : "remark_async"));
  else if (blocking) remarks.push(say("remark_blocking"));
  if (results.link_headroom[s] < 0) remarks.push(say("remark_exceeds"));
  return remarks.join(say("remark_join"));
}

/** The overlap ratio of the measured makespan, or why there is none. */
function fillMeasured(pipeline, { M, T }) {
  const cell = document.getElementById("measured");
  if (T === null) {
    cell.replaceChildren(say("ratio_not_asked"));
    return;
  }
  const { rho, below, above, undefinedFor } = overlapRatio(pipeline, M, T);
  const reasons = [];
  if (below !== null) reasons.push(say("ratio_below", { share: outside(below) }));
  if (above !== null) reasons.push(say("ratio_above", { share: outside(above) }));
  if (undefinedFor !== null) reasons.push(say(undefinedFor === "M" ? "ratio_single" : "ratio_no_phase"));
  const text = rho === null ? reasons.join(say("remark_join")) : shown(rho);
  cell.replaceChildren(dataElement("rho", rho, text));
}

const outside = (share) => (Number.isFinite(100 * share) ? shownShare(share) : say("beyond_measure"));

function dataElement(key, value, text) {
  const element = document.createElement("data");
  element.dataset.key = key;
  element.value = String(value);
  element.textContent = text;
  return element;
}

function phaseInWords(headroom) {
  if (!headroom.length) return say("phase_no_link");
  const beyond = headroom.flatMap((room, s) => (room < 0n ? [`d[${s}]`] : []));
  return beyond.length ? say("phase_yes", { links: listed(beyond) }) : say("phase_no");
}

function stagesInWords(indices) {
  return say(indices.length === 1 ? "stages_which_one" : "stages_which_other", { list: listed(indices.map(String)) });
}

/** The page in two or three sentences; screen readers hear them at every change. */
function summaryOf(results) {
  const error = results.gpipe_overestimate;
  const judged = 1000 * Math.abs(error) < 0.5 ? "summary_gpipe_close" : error > 0 ? "summary_gpipe_over" : "summary_gpipe_under";
  const parts = {
    stages: counted("stages", results.S),
    batches: counted("batches", results.M),
    T_async: shown(results.T_async),
    T_block: shown(results.T_block),
    T_gpipe: shown(results.T_gpipe),
    share: shownShare(Math.abs(error)),
  };
  return [
    say(results.overlap_gap > 0 ? "summary_makespans" : "summary_one_makespan", parts),
    say(results.phase_transition ? "summary_phase" : "summary_no_phase"),
    say(judged, parts),
  ].join(say("sentence_join"));
}
