// Makespan against the number of micro-batches: four straight lines, and the band between async and blocking.

const LINES = ["gpipe", "blocking", "async", "free"]; // drawn in this order, so that equal lines show through dashes

/** @param {{pipeline: Object, M: bigint, measured: ?number}} run */
function drawMakespans(svg, table, run, width) {
  const { most, at } = makespanRange(run);
  const [first, here, last] = [at(1n), at(run.M), at(most)];
  const top = Math.max(...Object.values(last), run.measured ?? 0);
  const plot = plotArea(width, 300, axisTicks(top, 5), most);
  clearPicture(svg, width, 300, describeMakespans(run, first, last, most));
  const x = (M) => pixels(plot.left + ((M - 1) / (Number(most) - 1 || 1)) * plot.width);
  const y = (T) => pixels(plot.bottom - (T / top) * plot.height);
  drawAxes(svg, plot, x, y, Number(most), top);
  const [x1, x2] = [x(1), x(Number(most))];
  const corners = [[x1, first.async], [x2, last.async], [x2, last.blocking], [x1, first.blocking]];
  svgChild(svg, "polygon", { class: "band", points: corners.map(([px, T]) => `${px},${y(T)}`).join(" ") });
  svgChild(svg, "line", { class: "here", x1: x(Number(run.M)), x2: x(Number(run.M)), y1: plot.top, y2: plot.bottom });
  for (const name of LINES) {
    svgChild(svg, "line", { class: `line ${name}`, x1, y1: y(first[name]), x2, y2: y(last[name]) });
  }
  for (const name of LINES) {
    svgChild(svg, "circle", { class: `dot ${name}`, cx: x(Number(run.M)), cy: y(here[name]), r: 3.5 });
  }
  if (run.measured !== null) drawMeasured(svg, x(Number(run.M)), y(run.measured));
  tabulateMakespans(table, run, most, at);
}

/** Up to half as many micro-batches again, at least 10, unless those makespans were no doubles. */
function makespanRange({ pipeline, M }) {
  const at = (count) =>
    Object.fromEntries(
      Object.entries(makespans(pipeline, count)).map(([name, multiple]) => [name, toDouble(multiple, pipeline.scale)]),
    );
  const wanted = M > 6n ? (M * 3n) / 2n : 10n;
  return { most: Object.values(at(wanted)).every(Number.isFinite) ? wanted : M, at };
}

function plotArea(width, height, ticks, most) {
  const left = 18 + 7 * Math.max(...ticks.map((tick) => shownOnAxis(tick).length));
  const area = { left, right: width - rightMargin(Number(most)), top: 26, bottom: height - 40 };
  return { ...area, width: area.right - left, height: area.bottom - area.top };
}

function drawAxes(svg, plot, x, y, most, top) {
  for (const tick of axisTicks(top, 5)) {
    svgChild(svg, "line", { class: "grid", x1: plot.left, x2: plot.right, y1: y(tick), y2: y(tick) });
    svgChild(svg, "text", { class: "tick", x: plot.left - 6, y: y(tick) + 4, "text-anchor": "end" }, shownOnAxis(tick));
  }
  const wanted = Math.max(2, Math.floor(plot.width / 60));
  for (const tick of [1, ...axisTicks(most, wanted, true).filter((count) => count > 1)]) {
    if (tick !== 1 && x(tick) - plot.left < 24) continue;
    svgChild(svg, "line", { class: "axis", x1: x(tick), x2: x(tick), y1: plot.bottom, y2: plot.bottom + 4 });
    const text = { class: "tick", x: x(tick), y: plot.bottom + 17, "text-anchor": "middle" };
    svgChild(svg, "text", text, shownOnAxis(tick));
  }
  svgChild(svg, "line", { class: "axis", x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom });
  svgChild(svg, "text", { class: "title", x: 4, y: 13 }, say("axis_makespan"));
  const title = { class: "title", x: plot.right, y: plot.bottom + 34, "text-anchor": "end" };
  svgChild(svg, "text", title, say("axis_count"));
}

function drawMeasured(svg, x, y) {
  const diamond = [[0, -6], [6, 0], [0, 6], [-6, 0]].map(([dx, dy]) => `${x + dx},${y + dy}`);
  svgChild(svg, "polygon", { class: "measured", points: diamond.join(" ") });
}

function describeMakespans({ measured, M }, first, last, most) {
  const ends = { most: shown(Number(most)) };
  for (const name of LINES) {
    ends[`${name}_first`] = shown(first[name]);
    ends[`${name}_last`] = shown(last[name]);
  }
  const marked = measured === null ? "" : say("picture_measured", { T: shown(measured), M: shown(Number(M)) });
  return say("picture_makespans", ends) + marked;
}

function tabulateMakespans(table, { M }, most, at) {
  const counts = axisTicks(Number(most), 8, true).filter((count) => count > 1 && count <= Number(most)).map(BigInt);
  const rows = [...new Set([1n, M, ...counts])].sort((a, b) => (a < b ? -1 : 1)).map((count) => {
    const values = at(count);
    return [shown(Number(count)), ...["free", "async", "blocking", "gpipe"].map((name) => shown(values[name]))];
  });
  fillTable(table, ["M", say("line_free"), say("line_async"), say("line_blocking"), say("line_gpipe")], rows);
}
