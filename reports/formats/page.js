// What the page can do: sort its tables, filter the rows of the main table by their recipes, compare two of these rows.
// It reads the tables themselves and the JSON in #study. Without it the page shows the whole report.
"use strict";

const study = JSON.parse(document.getElementById("study").textContent);
const DASH = "—";

/** An element with these attributes and children; text stays text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Sorting

/** What a cell is sorted by: its first number in a column of numbers, else its words; null for a dash. */
function sortValue(cell) {
  const text = cell ? cell.textContent.trim() : "";
  if (text === "" || text === DASH) return null;
  if (!cell.classList.contains("number")) return text;
  const found = text.replaceAll(",", "").match(/[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i);
  return found ? parseFloat(found[0]) : null;
}

function compareValues(first, second) {
  return typeof first === "number" ? first - second : first.localeCompare(second, "en", { numeric: true });
}

/** Sort by a column: by words upwards first, by numbers downwards first, then the other way; dashes always last. */
function sortBy(table, heading) {
  const numeric = heading.classList.contains("number");
  const before = heading.getAttribute("aria-sort");
  const upwards = before ? before === "descending" : !numeric;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", upwards ? "ascending" : "descending");
  const lines = [...table.tBodies[0].rows].map((row) => ({ row, value: sortValue(row.cells[heading.cellIndex]) }));
  lines.sort((first, second) => {
    if (first.value === null || second.value === null) return (first.value === null) - (second.value === null);
    return compareValues(first.value, second.value) * (upwards ? 1 : -1);
  });
  table.tBodies[0].append(...lines.map((line) => line.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.textContent.trim() === "") continue;
    const button = make("button", { type: "button" }, ...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(table, heading));
  }
}

// The main table: each of its lines has an entry in study.rows, in the order in which the page was written.

const main = document.querySelector("#rows table");
const lines = main && study.rows.length ? [...main.tBodies[0].rows].map((row, place) => ({ row, place })) : [];
const recipeOf = (place) => (study.rows[place] ? { ...study.recipe, ...study.rows[place].changes } : {});

// Filtering

const TERM = /^([\w.]+?)(<=|>=|!=|=|<|>)(.*)$/;

/** Whether a recipe's value fits a term such as `objective.weight>=0.5`. */
function fits(value, sign, wanted) {
  const text = Array.isArray(value) ? value.join(",") : value === null ? "none" : String(value);
  const [left, right] = [Number(text), Number(wanted)];
  const numbers = text !== "" && wanted !== "" && !Number.isNaN(left) && !Number.isNaN(right);
  const order = numbers ? left - right : text.localeCompare(wanted);
  const equal = numbers ? left === right : text.toLowerCase() === wanted.toLowerCase();
  if (sign === "=") return equal;
  if (sign === "!=") return !equal;
  if (!numbers) return false;
  return { "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0 }[sign];
}

/** Show the lines that fit every term; returns what to say about it. */
function filterRows(text) {
  const terms = text.split(/\s+/).filter(Boolean);
  const parsed = terms.map((term) => term.match(TERM));
  const unknown = parsed.find((found) => found && !(found[1] in study.recipe));
  if (unknown) return `No recipe has the key ${unknown[1]}; try ${study.varied.slice(0, 3).join(", ") || "another"}.`;
  let shown = 0;
  for (const { row, place } of lines) {
    const recipe = recipeOf(place);
    const words = row.cells[0].textContent.toLowerCase();
    const fit = parsed.every((found, number) =>
      found ? fits(recipe[found[1]], found[2], found[3]) : words.includes(terms[number].toLowerCase()));
    row.hidden = !fit;
    shown += fit;
  }
  return terms.length ? `${shown} of ${lines.length} rows fit.` : "";
}

function addFilter() {
  const example = study.varied.length ? `${study.varied[0]}=…` : "part of a row's name";
  const input = make("input", { id: "filter", type: "search", placeholder: example, autocomplete: "off" });
  const said = make("p", { "aria-live": "polite" });
  const help = make("p", {}, "Several terms with spaces between them: KEY=VALUE, also with != < > <= >=, or a part of a name. ");
  if (study.varied.length) help.append(`Keys that differ between rows: ${study.varied.join(", ")}.`);
  input.addEventListener("input", () => { said.textContent = filterRows(input.value); });
  const label = make("label", { for: "filter" }, "Filter the rows by recipe");
  main.parentElement.before(make("div", { class: "filter" }, label, input, help, said));
}

// Comparing two rows

let chosen = [];
const panel = make("div", { id: "panel", "aria-live": "polite", hidden: "" });
const signed = (value) => (value === null ? DASH : (value > 0 ? "+" : "") + value.toFixed(2));

function choose(place) {
  chosen = chosen.includes(place) ? chosen.filter((other) => other !== place) : [...chosen, place].slice(-2);
  for (const line of lines) {
    const picked = chosen.includes(line.place);
    line.row.classList.toggle("chosen", picked);
    if (line.pick) line.pick.checked = picked;
  }
  panel.hidden = chosen.length === 0;
  panel.replaceChildren(...(chosen.length === 2 ? compare(...chosen) : [make("p", {}, "Choose a second row to compare.")]));
}

/** The paired intervals of two rows: of each task its name, gain, low, high. */
function intervals(first, second) {
  const turned = first > second;
  const found = study.pairs[turned ? `${second}-${first}` : `${first}-${second}`] || [];
  return found.map(([task, gain, low, high]) =>
    turned ? { task, gain: -gain, low: high === null ? null : -high, high: low === null ? null : -low }
      : { task, gain, low, high });
}

/** The bits of an item list, first item first. */
function bits(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** Of the items of a task, those that only the first and those that only the second row gets right; null if unknown. */
function flips(first, second, task) {
  const [left, right] = [study.rows[first].right[task], study.rows[second].right[task]];
  if (!left || !right || left.items !== right.items) return null;
  const [mine, other] = [bits(left.bits), bits(right.bits)];
  const found = [[], []];
  for (let item = 0; item < left.count; item++) {
    const mask = 128 >> (item & 7);
    const [hit, miss] = [mine[item >> 3] & mask, other[item >> 3] & mask];
    if (hit && !miss) found[0].push(item);
    if (miss && !hit) found[1].push(item);
  }
  return { found, texts: study.sentences[left.items] };
}

/** A line with its interval on a scale from -reach to reach. */
function drawn({ gain, low, high }, reach) {
  const SVG = "http://www.w3.org/2000/svg";
  const x = (value) => 128 + (120 * value) / reach;
  const shape = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const picture = shape("svg", { viewBox: "0 0 256 22", "aria-hidden": "true" });
  picture.append(shape("line", { class: "zero", x1: 128, x2: 128, y1: 0, y2: 22 }));
  if (low !== null) picture.append(shape("line", { class: "range", x1: x(low), x2: x(high), y1: 11, y2: 11 }));
  picture.append(shape("circle", { class: "mean", cx: x(gain), cy: 11, r: 4 }));
  return picture;
}

const SHOWN = 50;

/** The items that flipped in one task, as a fold. */
function flipList(names, { found, texts }) {
  const lists = found.map((items, side) => {
    const heading = `Only ${names[side]} is right: ${items.length}`;
    const rest = items.length > SHOWN ? [make("p", {}, `And ${items.length - SHOWN} more.`)] : [];
    if (!texts) return [make("p", {}, `${heading}.`, items.length ? ` Items ${items.slice(0, SHOWN).join(", ")}.` : ""), ...rest];
    const said = items.slice(0, SHOWN).map((item) => make("li", { value: item }, texts[item] || DASH));
    return [make("p", {}, `${heading}.`), make("ol", {}, ...said), ...rest];
  });
  return lists.flat();
}

/** The panel's content. */
function compare(first, second) {
  const names = [study.rows[first].name, study.rows[second].name];
  const content = [make("h3", {}, `${names[0]} minus ${names[1]}`)];
  const found = intervals(first, second);
  const reach = Math.max(0.01, ...found.flatMap(({ gain, low, high }) => [gain, low, high].map(Math.abs)));
  const tasks = [...new Set([...found.map(({ task }) => task), ...Object.keys(study.rows[first].right)])];
  const body = make("tbody");
  const folds = [];
  for (const task of tasks) {
    const interval = found.find((other) => other.task === task);
    const flipped = flips(first, second, task);
    const size = interval
      ? `${signed(interval.gain)} [${signed(interval.low)}, ${signed(interval.high)}]` : DASH;
    const picture = make("td");
    if (interval) picture.append(drawn(interval, reach));
    const counts = flipped ? flipped.found.map((items) => String(items.length)) : [DASH, DASH];
    body.append(make("tr", {}, make("th", { scope: "row" }, task), make("td", { class: "number" }, size), picture,
      ...counts.map((text) => make("td", { class: "number" }, text))));
    if (flipped && flipped.found.some((items) => items.length)) {
      folds.push(make("details", {}, make("summary", {}, `${task}: the items that flipped`), ...flipList(names, flipped)));
    }
  }
  const head = ["Task", "Difference [95 %]", "", `only ${names[0]} right`, `only ${names[1]} right`];
  const headings = head.map((text, place) => make("th", { scope: "col", class: place === 0 || place === 2 ? "" : "number" }, text));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...headings)), body);
  content.push(make("div", { class: "box", role: "region", "aria-label": "Difference by task", tabindex: "0" }, table));
  content.push(make("p", {}, study.about_pairs));
  return [...content, ...folds];
}

function addChoice() {
  for (const line of lines) {
    if (!study.rows[line.place]) continue;
    line.pick = make("input", { type: "checkbox", class: "pick", "aria-label": `Compare ${study.rows[line.place].name}` });
    line.row.cells[0].prepend(line.pick);
    line.row.addEventListener("click", (event) => {
      if (event.target === line.pick || !event.target.closest("a, button, summary, input")) choose(line.place);
    });
  }
  const help = make("p", {}, "Choose two rows to see their difference task by task, and the items that only one gets right.");
  main.parentElement.after(help, panel);
}

if (lines.length) {
  addFilter();
  addChoice();
}

// A printed page shows what is folded.

addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("main details:not([open])")) {
    fold.open = true;
    fold.dataset.closed = "";
  }
});
addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details[data-closed]")) {
    fold.open = false;
    delete fold.dataset.closed;
  }
});

// A link to a folded section opens it.

function openTarget() {
  const fold = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)))?.querySelector("details");
  if (fold) fold.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
