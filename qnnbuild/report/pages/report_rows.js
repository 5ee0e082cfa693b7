const told = read("data");

// A cell that is built says how it came to be in the last build, where that is known.
const STATES = {
  built: ["✓", "built"], made: ["✓", "made"], reused: ["=", "reused"], "cut off": ["≈", "cut off"], fetched: ["↓", "fetched"],
  restored: ["↻", "restored"], failed: ["✗", "failed"], known: ["!", "known failure"],
  stale: ["·", "not built"], impossible: ["–", "not possible"],
};
const MEANT = {
  made: "made in the last build", reused: "current before the last build: nothing had to run",
  "cut off": "the last build ran something for it, which made the same as before",
  fetched: "another machine made it, and the last build took it out of the remote cache",
  restored: "the last build mended its folder out of the store",
};
const classOf = (state) => `is-${state.replace(" ", "-")}`;
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
    for (const cell of row.cells) one.cells.set(cell.chip, entry(model, cell, `${name}@${cell.chip}`));
    for (const [chip, why] of Object.entries(row.impossible)) {
      one.cells.set(chip, { state: "impossible", why, text: why.toLowerCase() });
    }
    rows.push(one);
  }
}

function stateOf(cell, id) {
  return cell.state === "built" && told.run ? told.run.came[id] || "reused" : cell.state;
}

function entry(model, cell, id) {
  const state = stateOf(cell, id);
  const compiled = cell.graphs.map((graph) => graph.compiled).filter(Boolean);
  const sum = (of) => (compiled.length ? compiled.reduce((total, one) => total + of(one), 0) : null);
  const proofs = cell.graphs.map((graph) => model.proofs[graph.proof]).filter(Boolean);
  const sqnr = proofs.map((proof) => proof.sqnr_db).filter((value) => value !== null);
  const words = [
    STATES[state][1], ...cell.failures.map((name) => model.failures[name].message), ...cell.why,
    ...cell.known.map((one) => `${one.reason} ${one.issue || ""}`), ...cell.graphs.map((one) => `${one.graph} ${one.precision}`),
  ];
  return {
    cell, id, state, text: words.join(" ").toLowerCase(),
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
