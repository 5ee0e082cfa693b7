// --- one cell -------------------------------------------------------------------------------

const dialog = at("cell");

function open(row, chip, from) {
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
  yield make("p", {}, make("span", { class: `state ${classOf(one.state)}` }, STATES[one.state][1]),
    MEANT[one.state] ? ` ${MEANT[one.state]}` : null);
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
  yield nights(one);
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
  if (graph.layers) lines.push(["layer by layer", code(`qnnbuild debug ${graph.layers} --html layers.html`)]);
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

// --- over the nights ------------------------------------------------------------------------

const MEASURES = [["size", "size", bytes], ["sqnr", "SQNR, dB", (value) => digits(value)],
  ["seconds", "compile time, s", (value) => digits(value, 3)], ["cpu", "nodes on the CPU", String]];
const SPARK = { width: 120, height: 26, edge: 3 };

// `earlier` has [value, number of the last night that had it]; today's value is the cell's own.
function series(one, measure) {
  const entries = ((told.earlier || {})[one.id] || {})[measure] || [];
  return (told.nights || []).map((_, night) => {
    const entry = entries.find(([, until]) => until >= night);
    return entry ? entry[0] : one[measure];
  });
}

function nights(one) {
  if (!told.nights || told.nights.length < 2) return null;
  const lines = MEASURES.map(([measure, title, form]) => [title, form, series(one, measure)])
    .filter(([, , values]) => values.some((value) => value !== null));
  if (!lines.length) return null;
  const days = told.nights.map((night) => night.made.slice(0, 10));
  return make("ul", { class: "sparks", "aria-label": `from ${days[0]} to ${days[days.length - 1]}` },
    ...lines.map(([title, form, values]) => {
      const there = values.filter((value) => value !== null);
      const [first, last] = [there[0], there[there.length - 1]].map(form);
      return make("li", {}, make("span", {}, title), spark(values), make("b", {}, first === last ? last : `${first} → ${last}`));
    }));
}

function spark(values) {
  const { width, height, edge } = SPARK;
  const there = values.filter((value) => value !== null);
  const least = Math.min(...there);
  const span = Math.max(...there) - least;
  const x = (night) => edge + ((width - 2 * edge) * night) / Math.max(values.length - 1, 1);
  const y = (value) => height - edge - (height - 2 * edge) * (span ? (value - least) / span : 0.5);
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "spark", "aria-hidden": "true" });
  let points = [];
  values.forEach((value, night) => {
    if (value !== null) points.push(`${x(night).toFixed(1)},${y(value).toFixed(1)}`);
    if ((value === null || night === values.length - 1) && points.length) {
      drawn.append(svg("polyline", { points: points.join(" ") }));
      points = [];
    }
  });
  const last = values.findLastIndex((value) => value !== null);
  drawn.append(svg("circle", { cx: x(last), cy: y(values[last]), r: 2.5 }));
  return drawn;
}

function svg(tag, given) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  return made;
}
