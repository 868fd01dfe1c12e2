// What the page can do: sort its tables, filter the rows of the main table by their recipes, compare two of these rows,
// copy its commands, save its tables and pictures. It reads the tables themselves and the JSON in #study. Without it the
// page shows the whole report.
"use strict";

const study = JSON.parse(document.getElementById("study").textContent);
const DASH = "—";
const FEWEST = 3; // A table of fewer rows is not worth filtering.

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
  return found ? parseFloat(found[0]) : text;
}

/** Numbers before words. */
function compareValues(first, second) {
  if (typeof first !== typeof second) return typeof first === "number" ? -1 : 1;
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

// The tables of the section `rows`. A line there names its index in study.rows; a row may have a line in each table.

const lines = [...document.querySelectorAll("#rows tr[data-row]")].map((line) => ({ line, row: Number(line.dataset.row) }));

// Filtering

const TERM = /^([\w.]+?)(<=|>=|!=|=|<|>)(.*)$/;

/** Whether a recipe's value fits a term such as `objective.weight>=0.5`. */
function fits(value, sign, wanted) {
  const text = Array.isArray(value) ? value.join(",") : value === null ? "none" : String(value);
  const [left, right] = [Number(text), Number(wanted)];
  const numbers = text !== "" && wanted !== "" && !Number.isNaN(left) && !Number.isNaN(right);
  const equal = numbers ? left === right : text.toLowerCase() === wanted.toLowerCase();
  if (sign === "=") return equal;
  if (sign === "!=") return !equal;
  return numbers && { "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right }[sign];
}

/** Show the lines that fit every term; returns what to say about it. */
function filterRows(text) {
  const terms = text.split(/\s+/).filter(Boolean).map((term) => ({ term: term.toLowerCase(), found: term.match(TERM) }));
  const unknown = terms.find(({ found }) => found && !(found[1] in study.base));
  if (unknown) return `No recipe has the key ${unknown.found[1]}.`;
  const kept = study.rows.map(({ name, changes }) => {
    const recipe = { ...study.base, ...changes };
    return terms.every(({ term, found }) =>
      found ? fits(recipe[found[1]], found[2], found[3]) : name.toLowerCase().includes(term));
  });
  for (const { line, row } of lines) line.hidden = !kept[row];
  return terms.length ? `${kept.filter(Boolean).length} of ${kept.length} rows fit.` : "";
}

function addFilter() {
  const input = make("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false" });
  const said = make("p", { role: "status" });
  const keys = study.varied.length ? ` Rows differ in ${study.varied.join(", ")}.` : "";
  const help = `KEY=VALUE, or with != < > <= >=, or a part of a row's name; several with spaces between them.${keys}`;
  input.addEventListener("input", () => { said.textContent = filterRows(input.value); });
  const label = make("label", { for: "filter" }, "Show only rows with");
  const beside = make("div", {}, make("p", {}, help), said);
  document.querySelector("#rows h3, #rows .box").before(make("div", { class: "filter" }, label, input, beside));
}

// Comparing two rows

const choosable = lines.filter(({ row }) => study.rows[row].figures);
let chosen = [];
const panel = make("div", { id: "panel", role: "status" });
const signed = (value) => (value === null ? DASH : (value > 0 ? "+" : "") + value.toFixed(2));

function choose(row) {
  chosen = chosen.includes(row) ? chosen.filter((other) => other !== row) : [...chosen, row].slice(-2);
  for (const { line, row, box } of choosable) {
    line.classList.toggle("chosen", chosen.includes(row));
    box.checked = chosen.includes(row);
  }
  const one = chosen.length === 1 ? [make("p", {}, `${study.rows[chosen[0]].name}: choose a second row to compare it with.`)] : [];
  panel.replaceChildren(...(chosen.length === 2 ? comparison(...chosen) : one));
}

/** First minus second in every figure: of each its name, gain, interval, and what forbids a verdict. */
function differences(first, second) {
  const turned = first > second;
  const cells = study.pairs[turned ? `${second}-${first}` : `${first}-${second}`] || [];
  const minus = (value) => (value === null ? null : -value);
  return cells.flatMap((cell, index) => {
    if (cell === null) return [];
    const [gain, low, high, why] = cell;
    const figure = study.figures[index];
    return turned ? [{ figure, gain: -gain, low: minus(high), high: minus(low), why }] : [{ figure, gain, low, high, why }];
  });
}

const bits = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** The items of a task that only the first, and those that only the second row gets right; null where unknown. */
function flips(first, second, task) {
  const [left, right] = [study.rows[first].right[task], study.rows[second].right[task]];
  if (!left || !right || left.items !== right.items) return null;
  const [mine, other] = [bits(left.bits), bits(right.bits)];
  const sides = [[], []];
  for (let item = 0; item < left.count; item++) {
    const [hit, also] = [mine, other].map((all) => (all[item >> 3] >> (7 - (item & 7))) & 1);
    if (hit !== also) sides[hit ? 0 : 1].push(item);
  }
  return { sides, texts: study.sentences[left.items] };
}

/** A dot with its interval, on a scale from -reach to reach. */
function drawn({ gain, low, high }, reach) {
  const x = (value) => 128 + (120 * value) / reach;
  const shape = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
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
function flipped(task, names, { sides, texts }) {
  const lists = sides.flatMap((items, side) => {
    const some = items.slice(0, SHOWN);
    const more = items.length > SHOWN ? `, of which the first ${SHOWN}` : "";
    const said = `Only ${names[side]} is right: ${items.length}${more}.`;
    if (!texts) return [make("p", {}, some.length ? `${said} Items ${some.join(", ")}.` : said)];
    return [make("p", {}, said), make("ol", {}, ...some.map((item) => make("li", { value: item }, texts[item] || DASH)))];
  });
  return make("details", {}, make("summary", {}, `${task}: items that flipped`), ...lists);
}

/** A table of the page; columns whose head begins with # hold numbers. */
function tableOf(heads, rows) {
  const kinds = heads.map((head) => (head.startsWith("#") ? { class: "number" } : {}));
  const head = heads.map((text, index) => make("th", { scope: "col", ...kinds[index] }, text.replace("#", "")));
  const body = rows.map(([first, ...cells]) =>
    make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell, index) => make("td", kinds[index + 1], cell))));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}

/** The panel's content. */
function comparison(first, second) {
  const names = [first, second].map((row) => study.rows[row].name);
  const found = differences(first, second);
  const reach = Math.max(0.01, ...found.flatMap(({ gain, low, high }) => [gain, low, high].map(Math.abs)));
  const tasks = Object.keys(study.rows[first].right).map((task) => ({ task, both: flips(first, second, task) }));
  const flipsOf = new Map(tasks.filter(({ both }) => both).map(({ task, both }) => [task, both]));
  const all = [...new Set([...found.map(({ figure }) => figure), ...flipsOf.keys()])];
  const blocked = found.some(({ why }) => why);
  const rows = all.map((name) => {
    const gain = found.find(({ figure }) => figure === name);
    const range = gain && gain.low !== null ? ` [${signed(gain.low)}, ${signed(gain.high)}]` : "";
    const counts = flipsOf.has(name) ? flipsOf.get(name).sides.map((items) => String(items.length)) : [DASH, DASH];
    const cells = [name, gain ? signed(gain.gain) + range : DASH, gain ? drawn(gain, reach) : "", ...counts];
    return blocked ? [...cells, gain?.why || ""] : cells;
  });
  const heads = ["figure", "#difference [95 %]", "", "#right: only the first", "#right: only the second"];
  if (blocked) heads.push("no verdict, because of");
  const box = make("div", { class: "box", role: "region", "aria-label": "Differences", tabindex: "0" }, tableOf(heads, rows));
  const folds = [...flipsOf].filter(([, both]) => both.sides.flat().length).map(([task, both]) => flipped(task, names, both));
  const notes = study.notes.map((note) => make("p", { class: "note" }, note));
  return [make("h3", {}, `${names[0]} minus ${names[1]}`), box, ...folds, ...notes];
}

function addChoice() {
  for (const entry of choosable) {
    entry.box = make("input", { type: "checkbox", class: "pick", "aria-label": `Compare ${study.rows[entry.row].name}` });
    entry.line.cells[0].prepend(entry.box);
    entry.line.addEventListener("click", (event) => {
      if (event.target !== entry.box && event.target.closest("a, button, input")) return;
      if (panel.previousElementSibling !== entry.line.closest(".box")) entry.line.closest(".box").after(panel);
      choose(entry.row);
    });
  }
  const help = "Choose two rows to see their difference in every task, and the items that only one of them gets right.";
  lines[0].line.closest(".box").before(make("p", { class: "note" }, help));
  lines[0].line.closest(".box").after(panel);
}

// Copying and saving

function addTool(element, words, act) {
  const button = make("button", { type: "button", class: "tool" }, words);
  button.addEventListener("click", () => act(button));
  element.after(button);
}

function save(name, kind, content) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([content], { type: kind })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const FORMULA = /^(?:[=@＝＠]|[+\-＋－](?![\d.,+\-±[\]% ]*$))/; // What a spreadsheet would run; as in trials_csv.py.

/** The table's lines that are shown. */
function csvOf(table) {
  const cell = ({ textContent }) => {
    const words = textContent.replace(/\s+/g, " ").trim();
    const text = words === DASH ? "" : words;
    return `"${FORMULA.test(text) ? "'" : ""}${text.replaceAll('"', '""')}"`;
  };
  return [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(cell).join(",")).join("\n") + "\n";
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

function addTools() {
  for (const section of document.querySelectorAll("main section")) {
    section.querySelectorAll("table").forEach((table, index) => {
      if (table.tBodies[0].rows.length < FEWEST) return;
      addTool(table.parentElement, "Save as CSV", () => save(`${section.id}-${index + 1}.csv`, "text/csv", csvOf(table)));
    });
    const pictures = [...section.querySelectorAll("figure svg")];
    for (const figure of section.querySelectorAll("figure:has(svg)")) {
      const own = pictures.filter((picture) => figure.contains(picture));
      addTool(figure, own.length > 1 ? "Save pictures" : "Save picture", () => {
        for (const picture of own) {
          const content = new XMLSerializer().serializeToString(picture);
          save(`${section.id}-picture-${pictures.indexOf(picture) + 1}.svg`, "image/svg+xml", content);
        }
      });
    }
  }
  if (!navigator.clipboard) return; // a page from another machine without https
  for (const code of document.querySelectorAll("#answer code, main pre code")) {
    const command = code.textContent.trim();
    if (command.startsWith("python ")) addTool(code.closest("pre") || code, "Copy", (button) => copy(button, command));
  }
}

addTools();
if (lines.length >= FEWEST) addFilter();
if (choosable.length > 1) addChoice();

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
