// Who works when: each stage a lane, each micro-batch a block, by the recurrences and no closed form.

const MOST_DRAWN = 16; // micro-batches
const MOST_LANES = 40;
const MOST_CELLS = 20000; // of one recurrence

/**
 * Both regimes run over all micro-batches, or over as many as a page has patience for.
 * @returns {{async: Object, blocking: Object, count: number, drawn: number}}
 */
function runTimelines(pipeline, M) {
  const affordable = Math.max(MOST_DRAWN, Math.floor(MOST_CELLS / pipeline.S));
  const count = M < BigInt(affordable) ? Number(M) : affordable;
  const drawn = Math.min(count, MOST_DRAWN);
  const run = (blocking) => {
    const regime = regimeOf(pipeline, blocking);
    return { ...regime, blocking, ...runRecurrence(regime, count, drawn) };
  };
  return { async: run(false), blocking: run(true), count, drawn };
}

/** One block: times in multiples of 1/scale. */
function blockOf({ rows, occupancy, flight }, { tau }, m, s) {
  const release = rows[m][s];
  const start = release - occupancy[s];
  return { start, served: start + tau[s], release, arrival: release + (flight[s] ?? 0n) };
}

function drawTimeline(svg, table, pipeline, timeline, end, width) {
  const lanes = Math.min(pipeline.S, MOST_LANES);
  const lane = lanes > 16 ? { height: 13, pitch: 20 } : { height: 20, pitch: 34 };
  const plot = { left: 34, right: width - rightMargin(toDouble(end, pipeline.scale)), top: 22 };
  plot.bottom = plot.top + lanes * lane.pitch - (lane.pitch - lane.height);
  const x = (multiple) => pixels(plot.left + toDouble(multiple, end) * (plot.right - plot.left));
  const top = (s) => plot.top + s * lane.pitch;
  const [finish] = timeline.rows.at(-1).slice(-1);
  clearPicture(svg, width, plot.bottom + 40, describeTimeline(pipeline, timeline, finish));
  hatching(svg, timeline.blocking ? "blocking" : "async");
  svgChild(svg, "text", { class: "title", x: 4, y: 13 }, say("axis_stage"));
  for (let s = 0; s < lanes; s += 1) {
    const [left, right] = [x(0n), x(finish)];
    svgChild(svg, "rect", { class: "idle", x: left, y: top(s), width: right - left, height: lane.height });
    const label = { class: "tick", x: plot.left - 8, y: top(s) + lane.height / 2 + 4, "text-anchor": "end" };
    svgChild(svg, "text", label, String(s));
  }
  drawTimeAxis(svg, plot, toDouble(end, pipeline.scale));
  for (let m = 0; m < timeline.rows.length; m += 1) {
    for (let s = 0; s < lanes; s += 1) {
      drawBlock(svg, blockOf(timeline, pipeline, m, s), { m, s, lanes, x, y: top(s), lane, timeline });
    }
  }
  tabulateTimeline(table, pipeline, timeline);
}

function drawBlock(svg, block, { m, s, lanes, x, y, lane, timeline }) {
  const name = timeline.blocking ? "blocking" : "async";
  const [start, served, release] = [x(block.start), x(block.served), x(block.release)];
  const [height, width] = [lane.height, pixels(served - start)];
  svgChild(svg, "rect", { class: `service ${name} ${m % 2 ? "odd" : "even"}`, x: start, y, width, height });
  if (block.release > block.served) {
    const held = { x: served, y, width: pixels(release - served), height };
    svgChild(svg, "rect", { class: `hold ${name}`, fill: `url(#hatching-${name})`, ...held });
  }
  if (s + 1 < lanes) {
    const next = y + lane.pitch;
    svgChild(svg, "line", { class: `flight ${name}`, x1: served, y1: y + height, x2: x(block.arrival), y2: next });
  }
  const longest = String(timeline.rows.length - 1);
  if (width >= 7 * longest.length + 3) {
    const middle = { class: "batch", x: pixels(start + width / 2), y: y + height / 2 + 4, "text-anchor": "middle" };
    svgChild(svg, "text", middle, String(m));
  }
}

function hatching(svg, name) {
  const size = { width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  const pattern = svgChild(svgChild(svg, "defs"), "pattern", { id: `hatching-${name}`, ...size });
  svgChild(pattern, "line", { class: `stripe ${name}`, x1: 0, y1: 0, x2: 0, y2: 5 });
}

function drawTimeAxis(svg, plot, end) {
  const ticks = axisTicks(end, Math.max(2, Math.floor((plot.right - plot.left) / 60)));
  const x = (time) => pixels(plot.left + (time / end) * (plot.right - plot.left));
  svgChild(svg, "line", { class: "axis", x1: plot.left, x2: plot.right, y1: plot.bottom + 6, y2: plot.bottom + 6 });
  for (const tick of ticks) {
    svgChild(svg, "line", { class: "grid", x1: x(tick), x2: x(tick), y1: plot.top, y2: plot.bottom + 10 });
    const text = { class: "tick", x: x(tick), y: plot.bottom + 22, "text-anchor": "middle" };
    svgChild(svg, "text", text, shownOnAxis(tick));
  }
  const title = { class: "title", x: plot.right, y: plot.bottom + 37, "text-anchor": "end" };
  svgChild(svg, "text", title, say("axis_time"));
}

function describeTimeline({ S, scale }, { blocking, rows }, finish) {
  const key = blocking ? "picture_blocking" : "picture_async";
  const size = { stages: counted("stages", S), batches: counted("batches", rows.length) };
  return say(key, { ...size, end: shown(toDouble(finish, scale)) });
}

/** Begin and end of each service; blocking, also the release of the sender. */
function tabulateTimeline(table, pipeline, timeline) {
  const time = (multiple) => shown(toDouble(multiple, pipeline.scale));
  const heads = [say("micro_batch"), ...pipeline.tau.slice(0, MOST_LANES).map((_, s) => say("stage_n", { n: s }))];
  const rows = timeline.rows.map((releases, m) => {
    const cells = releases.slice(0, MOST_LANES).map((_, s) => {
      const { start, served, release } = blockOf(timeline, pipeline, m, s);
      const service = `${time(start)}\u2009–\u2009${time(served)}`;
      return release > served ? say("until_free", { service, release: time(release) }) : service;
    });
    return [String(m), ...cells];
  });
  fillTable(table, heads, rows);
}
