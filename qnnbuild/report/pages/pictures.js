// --- pictures -------------------------------------------------------------------------------

const figures = read("figures") || [];

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
const NAMES = { "@good": "built", "@bad": "failed" };

function coloured(value) {
  if (typeof value === "string") return value.startsWith("@") ? colour(NAMES[value] || value.slice(1)) : value;
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

// Each is drawn when it comes into view, and again when the page turns light, dark, narrow or wide.
function drawPictures() {
  figures.forEach((figure) => watch.observe(at(figure.id)));
  const again = () => visible.forEach(picture);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let turning = 0;
  addEventListener("resize", () => {
    clearTimeout(turning);
    turning = setTimeout(again, 120);
  });
}
