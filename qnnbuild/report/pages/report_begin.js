// --- at the start ---------------------------------------------------------------------------

function start() {
  const counts = {};
  rows.forEach((row) => row.cells.forEach((one) => { counts[one.state] = (counts[one.state] || 0) + 1; }));
  for (const [state, [sign, words]] of Object.entries(STATES)) {
    if (!counts[state]) continue;
    const button = make("button", { type: "button", class: classOf(state), "aria-pressed": "false" }, `${sign} ${words} ${counts[state].toLocaleString("en")}`);
    button.addEventListener("click", () => {
      if (!chosen.delete(state)) chosen.add(state);
      button.setAttribute("aria-pressed", String(chosen.has(state)));
      draw();
    });
    at("states").append(button);
  }
  for (const arch of new Set(chips.map((chip) => chip.arch))) at("arch").append(make("option", { value: arch }, `v${arch}`));
  for (const id of ["arch", "show", "sort"]) at(id).addEventListener("change", draw);
  let waiting = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 120);
  });
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  at("controls").hidden = false;
  draw();
  drawPictures();
  addEventListener("hashchange", () => follow(false));
  follow(true);
}

// A link to a cell opens it, whatever the matrix shows; who came with it goes on from there.
function follow(atStart) {
  if (!location.hash.startsWith("#cell=")) return;
  const [name, chip] = decodeURIComponent(location.hash.slice(6)).split("@");
  const row = rows.find((one) => one.name === name);
  const column = chips.find((one) => one.name === chip);
  if (!row || !column || !row.cells.has(chip)) return;
  const y = drawn.rows.indexOf(row);
  const x = drawn.chips.indexOf(column);
  let from = null;
  if (atStart && y >= 0 && x >= 0) {
    upto(y + 1);
    from = document.querySelector(`#grid td[data-at="${y},${x}"]`);
  }
  open(row, column, from);
}

start();
