"use strict";

// Asks for the parts of the page every few seconds and puts in those that changed. The server escapes all text.
const SECONDS = 3;
const shown = {};
let chosen = null; // the name of the recipe whose line was chosen
const sorted = {}; // by the id of a part: its table's column, and whether it goes upwards

/** Sort the table of a part as its reader did the last time. */
function sort(part) {
  const table = part.querySelector("table");
  if (!table || !(part.id in sorted)) return;
  const { column, upwards } = sorted[part.id];
  const numbers = table.tHead.rows[0].cells[column].classList.contains("number");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", upwards ? "ascending" : "descending");
  const words = (row) => row.cells[column].textContent.trim();
  const number = (row) => parseFloat(words(row).replaceAll(",", ""));
  const compare = (first, second) =>
    numbers ? number(first) - number(second) : words(first).localeCompare(words(second), "en", { numeric: true });
  const rows = [...table.tBodies[0].rows].sort((first, second) => compare(first, second) * (upwards ? 1 : -1));
  table.tBodies[0].append(...rows);
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("th button")?.parentElement;
  const part = heading?.closest("[id]");
  if (!part) return;
  const before = sorted[part.id];
  const again = before && before.column === heading.cellIndex;
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  sorted[part.id] = { column: heading.cellIndex, upwards: again ? !before.upwards : !heading.classList.contains("number") };
  sort(part);
});

/** Mark the chosen recipe's line and its row. */
function mark() {
  for (const line of document.querySelectorAll(".recipe")) line.classList.toggle("chosen", line.dataset.name === chosen);
  for (const row of document.querySelectorAll("#best tbody tr")) {
    row.classList.toggle("chosen", row.cells[0].firstChild.textContent.trim() === chosen);
  }
}

document.addEventListener("click", (event) => {
  const line = event.target.closest(".recipe");
  if (!line) return;
  chosen = line.dataset.name === chosen ? null : line.dataset.name;
  mark();
  document.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
});

async function refresh() {
  const lost = document.getElementById("lost");
  try {
    const answer = await fetch("state.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const state = await answer.json();
    document.title = state.title;
    for (const [name, html] of Object.entries(state.parts)) {
      const part = document.getElementById(name);
      if (!part || shown[name] === html) continue;
      part.innerHTML = shown[name] = html;
      sort(part);
    }
    mark();
    lost.hidden = true;
  } catch {
    lost.hidden = false;
  }
  setTimeout(refresh, SECONDS * 1000 * (document.hidden ? 5 : 1));
}

refresh();
