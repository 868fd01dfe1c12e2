"use strict";

// Asks for the parts of the page every few seconds and puts in those that changed. The server escapes all text.
const SECONDS = 3;
const shown = {};

async function refresh() {
  const lost = document.getElementById("lost");
  try {
    const answer = await fetch("state.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const state = await answer.json();
    document.title = state.title;
    for (const [name, html] of Object.entries(state.parts)) {
      const part = document.getElementById(name);
      if (part && shown[name] !== html) part.innerHTML = shown[name] = html;
    }
    lost.hidden = true;
  } catch {
    lost.hidden = false;
  }
  setTimeout(refresh, SECONDS * 1000 * (document.hidden ? 5 : 1));
}

refresh();
