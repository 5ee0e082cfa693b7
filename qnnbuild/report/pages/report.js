"use strict";
(() => {
  const read = (id) => {
    const found = document.getElementById(id);
    return found ? JSON.parse(found.textContent) : null;
  };
  const told = read("data");
  const figures = read("figures") || [];

  const STATES = {
    built: ["✓", "built"], failed: ["✗", "failed"], known: ["!", "known failure"],
    stale: ["·", "not built"], impossible: ["–", "not possible"],
  };
  const BARS = {
    min_sqnr_db: "SQNR, dB, at least", max_abs_error: "largest error, at most", min_cosine: "cosine, at least",
    max_rel_error: "largest error by the peak, at most", min_top1: "top-1 agreement, at least",
    min_top_k: "top-k agreement, at least", finite: "values that are NaN or infinite", equal: "values that differ",
    at_least: "at least", at_most: "at most",
  };
  const OUTPUTS = {
    sqnr_db: "SQNR, dB", max_abs: "largest error", max_rel: "by the peak", cosine: "cosine", top1: "top-1",
    differing: "differing values", elements: "of", worst_sample: "worst sample",
  };

  // Everything that is shown goes through textContent: what a recipe says is never taken for HTML.
  function make(tag, given, ...inner) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(given || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...inner.filter((one) => one !== null && one !== undefined));
    return made;
  }

  const digits = (value, count = 4) =>
    typeof value === "number" ? String(Number(value.toPrecision(count))) : value === undefined || value === null ? "–" : String(value);

  function bytes(count) {
    if (count === null || count === undefined) return "–";
    for (const [factor, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
      if (count >= factor) return `${Number((count / factor).toPrecision(3))} ${unit}`;
    }
    return `${count} B`;
  }

  // --- rows and cells, with what they are searched by -----------------------------------------

  const chips = told.chips.map((chip) => ({
    ...chip, text: `${chip.name} v${chip.arch} ${chip.marketing.join(" ")}`.toLowerCase(),
  }));
  const rows = [];
  for (const model of told.models) {
    for (const row of model.rows) {
      const name = row.variant ? `${model.name}/${row.variant}` : model.name;
      const one = { model, name, cells: new Map(), text: `${name} ${model.license}`.toLowerCase() };
      for (const cell of row.cells) one.cells.set(cell.chip, entry(model, cell));
      for (const [chip, why] of Object.entries(row.impossible)) {
        one.cells.set(chip, { state: "impossible", why, text: why.toLowerCase() });
      }
      rows.push(one);
    }
  }

  function entry(model, cell) {
    const compiled = cell.graphs.map((graph) => graph.compiled).filter(Boolean);
    const sum = (of) => (compiled.length ? compiled.reduce((total, one) => total + of(one), 0) : null);
    const proofs = cell.graphs.map((graph) => model.proofs[graph.proof]).filter(Boolean);
    const sqnr = proofs.map((proof) => proof.sqnr_db).filter((value) => value !== null);
    const words = [
      STATES[cell.state][1], ...cell.failures.map((name) => model.failures[name].message), ...cell.why,
      ...cell.known.map((one) => `${one.reason} ${one.issue || ""}`), ...cell.graphs.map((one) => `${one.graph} ${one.precision}`),
    ];
    return {
      cell, state: cell.state, text: words.join(" ").toLowerCase(),
      size: cell.size === null ? sum((one) => one.size) : cell.size, seconds: sum((one) => one.seconds),
      cpu: sum((one) => one.cpu_nodes.length), sqnr: sqnr.length ? Math.min(...sqnr) : null,
      precision: [...new Set(cell.graphs.map((one) => one.precision))].join(" "),
    };
  }

  const SHOWN = {
    state: (one) => STATES[one.state][0],
    sqnr: (one) => (one.sqnr === null ? "" : digits(one.sqnr, one.sqnr >= 100 ? 3 : 2)),
    size: (one) => (one.size === null ? "" : bytes(one.size).replace(" ", "").replace("B", "")),
    seconds: (one) => (one.seconds === null ? "" : digits(one.seconds, 2)),
    cpu: (one) => (one.cpu === null ? "" : String(one.cpu)),
    precision: (one) => one.precision,
  };
  const WIDTHS = { state: 26, sqnr: 36, size: 48, seconds: 40, cpu: 36, precision: 64 };

  // --- the matrix -----------------------------------------------------------------------------

  const at = (id) => document.getElementById(id);
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
    const body = make("tbody", {});
    drawn.show = show;
    drawn.rows.forEach((row, y) => body.append(line(row)));
    for (const made of [...body.rows].slice(0, AT_ONCE)) fill(made);
    near.disconnect();
    for (const made of [...body.rows].slice(AT_ONCE)) near.observe(made);
    const made = make("table", {
      role: "grid", "aria-labelledby": "matrix-title", onclick: clicked, onkeydown: pressed,
      style: `width: ${first + width * drawn.chips.length}px`,
    }, columns, make("thead", {}, generations, names), body);
    const start = made.querySelector("td[class]");
    if (start) start.tabIndex = 0;
    return made;
  }

  // Of thousands of rows only those near the view get their cells; names are there for all.
  const AT_ONCE = 60;
  const near = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) fill(one.target);
  }, { root: at("grid"), rootMargin: "1000px" });
  addEventListener("beforeprint", () => document.querySelectorAll("#grid tbody tr").forEach(fill));

  function line(row) {
    const made = make("tr", {}, make("th", { class: "name", scope: "row", title: row.name }, row.name));
    made.append(make("td", { colspan: drawn.chips.length }));
    return made;
  }

  function fill(made) {
    if (made.dataset.filled) return;
    made.dataset.filled = "yes";
    near.unobserve(made);
    made.lastChild.remove();
    const y = made.sectionRowIndex;
    const row = drawn.rows[y];
    const { show } = drawn;
    const fits = drawn.fits.get(row);
    drawn.chips.forEach((chip, x) => {
      const cell = document.createElement("td");
      const one = fits.has(chip.name) ? row.cells.get(chip.name) : null;
      if (one) {
        cell.className = `is-${one.state}`;
        cell.textContent = one.cell ? SHOWN[show](one) : STATES.impossible[0];
        cell.dataset.at = `${y},${x}`;
        cell.setAttribute("aria-label", `${row.name} on ${chip.name}: ${STATES[one.state][1]}`);
        cell.tabIndex = -1;
      }
      made.append(cell);
    });
  }

  const place = (cell) => cell.dataset.at.split(",").map(Number);

  function clicked(event) {
    const cell = event.target.closest("td[class]");
    if (cell) open(...place(cell), cell);
  }

  // Arrows go to the next cell that has something to say; Home and End to a row's ends.
  const WAYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  function pressed(event) {
    const cell = event.target.closest("td[class]");
    if (!cell) return;
    const [y, x] = place(cell);
    if (event.key === "Enter" || event.key === " ") open(y, x, cell);
    else if (event.key === "Home" || event.key === "End") {
      const all = cell.parentElement.querySelectorAll("td[class]");
      go(event.key === "Home" ? all[0] : all[all.length - 1], cell);
    } else if (WAYS[event.key]) go(next(cell.closest("tbody"), y, x, WAYS[event.key]), cell);
    else return;
    event.preventDefault();
  }

  function next(body, y, x, [down, right]) {
    for (let row = y + down, column = x + right; body.rows[row] && drawn.chips[column]; row += down, column += right) {
      fill(body.rows[row]);
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

  // --- one cell -------------------------------------------------------------------------------

  const dialog = at("cell");

  function open(y, x, from) {
    const row = drawn.rows[y];
    const chip = drawn.chips[x];
    const close = make("button", { type: "button", class: "close", onclick: () => dialog.close() }, "close");
    dialog.replaceChildren(close, ...details(row, chip));
    dialog.addEventListener("close", () => {
      history.replaceState(null, "", location.pathname + location.search);
      const body = document.querySelector("#grid tbody");
      if (body && from && from.isConnected) go(from, body.querySelector("td[tabindex='0']") || from);
    }, { once: true });
    history.replaceState(null, "", `#cell=${encodeURIComponent(`${row.name}@${chip.name}`)}`);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }

  function* details(row, chip) {
    const one = row.cells.get(chip.name);
    yield make("h2", { id: "cell-title" }, `${row.name} on ${chip.name}`);
    yield make("p", { class: "facts" }, [`HTP v${chip.arch}`, `${chip.vtcm_mb} MB of VTCM`, ...chip.marketing].join(", "));
    yield make("p", {}, make("span", { class: `state is-${one.state}` }, STATES[one.state][1]));
    if (!one.cell) {
      yield make("p", {}, one.why);
      return;
    }
    const { cell } = one;
    for (const name of cell.failures) yield failure(name, row.model.failures[name]);
    if (cell.why.length) yield make("ul", {}, ...cell.why.map((why) => make("li", {}, why)));
    for (const known of cell.known) {
      yield facts([["graph", known.graph], ["reason", known.reason], ["issue", known.issue && issue(known.issue)],
        ["fails at", known.step], ["it says", known.how]]);
    }
    if (cell.bundle) {
      yield facts([["bundle", code(cell.bundle)], ["files in", cell.folder && code(`build/${cell.folder}`)],
        ["size", cell.size === null ? null : bytes(cell.size)], ["key", cell.key && code(cell.key)],
        ["licence", row.model.license + (row.model.redistribute ? "" : ", not to be passed on")], ["recipe", code(row.model.recipe)]]);
    }
    for (const graph of cell.graphs) yield* graphDetails(row.model, graph, chip);
  }

  const code = (text) => make("code", {}, text);

  function issue(said) {
    const short = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(said);
    const href = short ? `https://github.com/${short[1]}/issues/${short[2]}` : said;
    return /^https?:\/\//.test(href) ? make("a", { href, rel: "noreferrer" }, said) : said;
  }

  function facts(pairs) {
    const lines = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return make("dl", {}, ...lines.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value))));
  }

  function failure(name, told) {
    return make("article", { class: "failure" },
      make("h3", {}, told.message),
      facts([["action", code(name)], ["where", told.at && code(told.at)], ...told.facts, ["log", told.log && code(told.log)]]),
      told.last_lines.length ? make("pre", { tabindex: 0 }, told.last_lines.join("\n")) : null,
      told.hint ? make("p", {}, told.hint) : null);
  }

  function sampleSet(set) {
    if (!set) return null;
    return make("span", {}, `${set.count} ${set.synthetic ? "synthetic" : "real"}, digest `, code(set.digest.slice(0, 16)));
  }

  function* graphDetails(model, graph, chip) {
    const { compiled } = graph;
    const proof = model.proofs[graph.proof];
    const found = graph.precision === graph.asked ? graph.precision : `${graph.precision} (found by ${graph.asked})`;
    yield make("h3", {}, graph.graph);
    const lines = [["precision", found], ["calibrated with", sampleSet(model.calibrations[graph.calibration])]];
    if (compiled) {
      const htp = compiled.nodes - compiled.cpu_nodes.length;
      lines.push(["size", bytes(compiled.size)], ["compiled in", `${digits(compiled.seconds, 3)} s, ${compiled.made.replace("T", " ").replace("+00:00", " UTC")}`],
        ["nodes", `${htp} on the HTP, ${compiled.cpu_nodes.length} on the CPU`],
        ["weights shared with", compiled.sharing && `${compiled.sharing.others.join(", ")}; ${bytes(compiled.sharing.saved)} of ${bytes(compiled.sharing.alone)} saved`],
        ["CPU's share", compiled.cpu_share === null ? null : `${digits(100 * compiled.cpu_share, 3)} % of the multiply-adds`],
        ["SDK build", compiled.sdk_build], ["sha256 of the binary", code(compiled.digest)], ["key", code(compiled.key)], ["log", code(compiled.log)]);
    } else lines.push(["compiled", "not yet"]);
    if (proof) {
      const like = proof.chip === chip.name ? "this binary" : `the binary of ${proof.chip}, of the same generation`;
      lines.push(["run on", `${proof.ran_on}: ${like}`], ["inputs", sampleSet(proof.samples)], ["compared with", proof.compared_with],
        ["cannot be compared", proof.why_not], ["verdict", proof.judged ? null : "none, these are the numbers"]);
    } else if (compiled) lines.push(["run on", "nothing: the binary was not run"]);
    yield facts(lines);
    if (proof && proof.bars.length) yield bars(proof);
    if (proof) yield outputs(proof);
    if (proof) yield facts(Object.entries(proof.excused).map(([name, why]) => [`${name} is not judged`, why]));
    for (const [name, values] of Object.entries(proof ? proof.metrics : {})) {
      yield facts(Object.entries(values).map(([what, value]) => [what === name ? name : `${name}: ${what}`, digits(value, 5)]));
    }
    if (compiled && compiled.cpu_nodes.length) {
      yield grid(["node on the CPU", "operator", "reason"], compiled.cpu_nodes.map((one) => [one.node, one.operator, one.reason]));
    }
  }

  function grid(head, lines) {
    return make("div", { class: "scroll", tabindex: 0 }, make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((one) => make("th", { scope: "col" }, one)))),
      make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map((one) => make("td", {}, one)))))));
  }

  function bars(proof) {
    return grid(["of", "bar", "", "measured", ""], proof.bars.map((bar) => [
      bar.against === "recorded" ? `${bar.of}, against the recorded answers` : bar.of, BARS[bar.what] || bar.what,
      bar.bar === null ? "none allowed" : digits(bar.bar), digits(bar.value),
      make("span", { class: bar.holds ? "holds" : "below" }, bar.holds ? "holds" : "BELOW"),
    ]));
  }

  function outputs(proof) {
    const names = Object.entries(proof.outputs);
    if (!names.length) return null;
    const used = Object.keys(OUTPUTS).filter((what) => names.some(([, values]) => what in values));
    return grid(["output", ...used.map((what) => OUTPUTS[what])],
      names.map(([name, values]) => [name, ...used.map((what) => digits(values[what], what === "cosine" ? 7 : 4))]));
  }

  // --- pictures -------------------------------------------------------------------------------

  let library = null;
  function plotly() {
    if (!library) {
      library = document.createElement("script");
      library.textContent = at("plotly").textContent;
      document.head.append(library);
    }
    return window.Plotly;
  }

  const colour = (word) => getComputedStyle(document.documentElement).getPropertyValue(`--${word}`).trim();
  const COLOURS = { "@good": "built", "@bad": "failed", "@plain": "plain", "@lifted": "lifted", "@faint": "faint" };

  function coloured(value) {
    if (typeof value === "string") return COLOURS[value] ? colour(COLOURS[value]) : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, coloured(one)]));
    }
    return value;
  }

  function picture(figure) {
    const layout = coloured(figure.layout);
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), fixedrange: true };
    layout.xaxis = { ...axis, ...layout.xaxis };
    layout.yaxis = { ...axis, ...layout.yaxis };
    const names = layout.yaxis.categoryarray;
    if (names && innerWidth < 560) {
      layout.yaxis.tickvals = names;
      layout.yaxis.ticktext = names.map((name) => (name.length > 18 ? `…${name.slice(-17)}` : name));
    }
    Object.assign(layout, {
      width: at(figure.id).clientWidth, height: figure.height, margin: { l: 56, r: 16, t: 12, b: 48 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("text"), family: "system-ui, sans-serif", size: 12 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
      hoverlabel: { bgcolor: colour("raised"), font: { color: colour("text") } },
    });
    return plotly().react(at(figure.id), coloured(figure.traces), layout, { displayModeBar: false });
  }

  const visible = new Set();
  const watch = new IntersectionObserver((seen) => {
    for (const one of seen) {
      if (!one.isIntersecting) continue;
      const figure = figures.find((each) => each.id === one.target.id);
      watch.unobserve(one.target);
      visible.add(figure);
      picture(figure);
    }
  }, { rootMargin: "200px" });

  // --- at the start ---------------------------------------------------------------------------

  function start() {
    const counts = {};
    rows.forEach((row) => row.cells.forEach((one) => { counts[one.state] = (counts[one.state] || 0) + 1; }));
    for (const [state, [sign, words]] of Object.entries(STATES)) {
      if (!counts[state]) continue;
      const button = make("button", { type: "button", class: `is-${state}`, "aria-pressed": "false" }, `${sign} ${words}`);
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
    figures.forEach((figure) => watch.observe(at(figure.id)));
    const again = () => visible.forEach(picture);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    let turning = 0;
    addEventListener("resize", () => {
      clearTimeout(turning);
      turning = setTimeout(again, 120);
    });
    follow();
  }

  // a link to a cell opens it
  function follow() {
    if (!location.hash.startsWith("#cell=")) return;
    const [name, chip] = decodeURIComponent(location.hash.slice(6)).split("@");
    const y = drawn.rows.findIndex((row) => row.name === name);
    const x = drawn.chips.findIndex((one) => one.name === chip);
    if (y < 0 || x < 0 || !drawn.rows[y].cells.has(chip)) return;
    fill(document.querySelectorAll("#grid tbody tr")[y]);
    open(y, x, document.querySelector(`#grid td[data-at="${y},${x}"]`));
  }

  start();
})();
