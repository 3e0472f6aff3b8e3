// What both pictures share: SVG elements, round axis steps, tables of what is drawn.

const SVG = document.querySelector("svg").namespaceURI;

function svgChild(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return parent.appendChild(element);
}

/** Empty the picture and give it a size in CSS pixels: text keeps its size whatever the width of the page. */
function clearPicture(svg, width, height, description) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("aria-label", description);
}

/** Multiples of 1, 2 or 5 times a power of ten within 0…most, about `wanted` of them; whole ones if asked. */
function axisTicks(most, wanted, whole = false) {
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power, whole ? 1 : 0);
  const ticks = [];
  for (let k = 0; k * step <= most * (1 + 1e-9) && k < 100; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/** Room for the right half of the last label of an axis from 0 to `most`. */
function rightMargin(most) {
  return 10 + 3.5 * Math.max(...axisTicks(most, 5).map((tick) => shownOnAxis(tick).length));
}

/** A table with column heads and, first in each row, a row head. */
function fillTable(table, heads, rows) {
  const body = document.createElement("tbody");
  rows.forEach((cells) => tableRow(body, cells, "row"));
  const head = document.createElement("thead");
  tableRow(head, heads, "col");
  table.replaceChildren(...table.querySelectorAll("caption"), head, body);
}

function tableRow(parent, cells, scope) {
  const row = parent.appendChild(document.createElement("tr"));
  cells.forEach((cell, index) => {
    const isHead = scope === "col" || index === 0;
    const element = row.appendChild(document.createElement(isHead ? "th" : "td"));
    if (isHead) element.scope = scope;
    element.append(cell);
  });
}

function pixels(number) {
  return Number(number.toFixed(2));
}
