// --- the matrix -----------------------------------------------------------------------------

const chosen = new Set();
let drawn = { rows: [], chips: [] };

function matches(row, chip, words, arch) {
  const one = row.cells.get(chip.name);
  if (!one || (arch && String(chip.arch) !== arch)) return false;
  if (chosen.size && !chosen.has(one.state)) return false;
  return words.every((word) => row.text.includes(word) || chip.text.includes(word) || one.text.includes(word));
}

const least = (row, of, far) => [...row.cells.values()].reduce((found, one) => {
  const value = one.cell ? of(one) : null;
  return value === null || value === undefined ? found : Math.min(found, value);
}, far);
const ORDERS = {
  name: null,
  trouble: (row) => -[...row.cells.values()].filter((one) => one.state === "failed").length,
  sqnr: (row) => least(row, (one) => one.sqnr, Infinity),
  size: (row) => least(row, (one) => (one.size === null ? null : -one.size), Infinity),
  seconds: (row) => least(row, (one) => (one.seconds === null ? null : -one.seconds), Infinity),
};

function draw() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const arch = at("arch").value;
  const show = at("show").value;
  const fits = new Map();
  const seen = new Set();
  let count = 0;
  for (const row of rows) {
    const good = new Set(chips.filter((chip) => matches(row, chip, words, arch)).map((chip) => chip.name));
    if (!good.size) continue;
    fits.set(row, good);
    count += good.size;
    good.forEach((name) => seen.add(name));
  }
  const order = ORDERS[at("sort").value];
  const shown = [...fits.keys()];
  if (order) {
    const places = new Map(shown.map((row) => [row, order(row)]));
    shown.sort((a, b) => (places.get(a) < places.get(b) ? -1 : places.get(a) > places.get(b) ? 1 : 0));
  }
  drawn = { rows: shown, chips: chips.filter((chip) => seen.has(chip.name)), fits };
  at("found").textContent = count
    ? `${count.toLocaleString("en")} cells of ${shown.length} rows and ${drawn.chips.length} chips`
    : "nothing matches";
  at("grid").replaceChildren(...(count ? [table(show)] : []));
  at("grid").dataset.words = at("search").value; // who drives the page sees that it has been drawn
}

function table(show) {
  const width = WIDTHS[show];
  const longest = Math.max(...drawn.rows.map((row) => row.name.length));
  const first = innerWidth < 560 ? 130 : Math.min(360, Math.max(130, 30 + 7.6 * longest));
  const columns = make("colgroup", {}, make("col", { style: `width: ${first}px` }));
  const generations = make("tr", {}, make("th", { class: "name", scope: "col" }, ""));
  const names = make("tr", {}, make("th", { class: "name", scope: "col" }, "model"));
  let before = null;
  for (const chip of drawn.chips) {
    columns.append(make("col", { style: `width: ${width}px` }));
    names.append(make("th", { class: "chip", scope: "col", title: [chip.name, ...chip.marketing].join(", ") }, make("span", {}, chip.name)));
    if (before && before.arch === chip.arch) before.head.colSpan += 1;
    else {
      before = { arch: chip.arch, head: make("th", { scope: "colgroup" }, `v${chip.arch}`) };
      generations.append(before.head);
    }
  }
  drawn.show = show;
  drawn.body = make("tbody", {});
  drawn.more = make("td", { class: "more" });
  const below = make("tfoot", {}, make("tr", {}, make("th", { class: "name" }, ""), drawn.more));
  drawn.more.colSpan = drawn.chips.length;
  more.disconnect();
  upto(AT_ONCE);
  const made = make("table", {
    role: "grid", "aria-labelledby": "matrix-title", "aria-rowcount": drawn.rows.length + HEADS, onclick: clicked, onkeydown: pressed,
    style: `width: ${first + width * drawn.chips.length}px`,
  }, columns, make("thead", {}, generations, names), drawn.body, below);
  const start = drawn.body.querySelector("td[class]");
  if (start) start.tabIndex = 0;
  return made;
}

// Of thousands of rows there are those that are looked at: more come when the end of these comes near.
const AT_ONCE = 100;
const HEADS = 2;
const more = new IntersectionObserver((seen) => {
  if (seen.some((one) => one.isIntersecting)) upto(drawn.body.rows.length + AT_ONCE);
}, { root: at("grid"), rootMargin: "1000px" });
addEventListener("beforeprint", () => upto(drawn.rows.length));

function upto(count) {
  if (!drawn.body) return;
  for (let y = drawn.body.rows.length; y < Math.min(count, drawn.rows.length); y += 1) drawn.body.append(line(y));
  const left = drawn.rows.length - drawn.body.rows.length;
  drawn.more.textContent = left ? `${left.toLocaleString("en")} more` : "";
  more.unobserve(drawn.more); // it tells again only what is new to it
  if (left) more.observe(drawn.more);
}

function line(y) {
  const row = drawn.rows[y];
  const made = make("tr", { "aria-rowindex": y + HEADS + 1 }, make("th", { class: "name", scope: "row", title: row.name }, row.name));
  const { show } = drawn;
  const fits = drawn.fits.get(row);
  drawn.chips.forEach((chip, x) => {
    const cell = document.createElement("td");
    const one = fits.has(chip.name) ? row.cells.get(chip.name) : null;
    if (one) {
      cell.className = classOf(one.state);
      cell.textContent = one.cell ? SHOWN[show](one) : STATES.impossible[0];
      cell.dataset.at = `${y},${x}`;
      const shown = show === "state" || !cell.textContent ? "" : `, ${cell.textContent}`;
      cell.setAttribute("aria-label", `${row.name} on ${chip.name}: ${STATES[one.state][1]}${shown}`);
      cell.tabIndex = -1;
    }
    made.append(cell);
  });
  return made;
}

const place = (cell) => cell.dataset.at.split(",").map(Number);

function openAt(cell) {
  const [y, x] = place(cell);
  open(drawn.rows[y], drawn.chips[x], cell);
}

function clicked(event) {
  const cell = event.target.closest("tbody td[class]");
  if (cell) openAt(cell);
}

// Arrows go to the next cell that has something to say; Home and End to a row's ends.
const WAYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
function pressed(event) {
  const cell = event.target.closest("tbody td[class]");
  if (!cell) return;
  const [y, x] = place(cell);
  if (event.key === "Enter" || event.key === " ") openAt(cell);
  else if (event.key === "Home" || event.key === "End") {
    const all = cell.parentElement.querySelectorAll("td[class]");
    go(event.key === "Home" ? all[0] : all[all.length - 1], cell);
  } else if (WAYS[event.key]) go(next(cell.closest("tbody"), y, x, WAYS[event.key]), cell);
  else return;
  event.preventDefault();
}

function next(body, y, x, [down, right]) {
  for (let row = y + down, column = x + right; drawn.rows[row] && drawn.chips[column]; row += down, column += right) {
    upto(row + 1);
    const cell = body.rows[row].cells[column + 1];
    if (cell.className) return cell;
  }
  return null;
}

function go(to, from) {
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
  to.scrollIntoView({ block: "nearest", inline: "nearest" });
}
