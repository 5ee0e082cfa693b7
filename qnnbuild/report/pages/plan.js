"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const picture = document.getElementById("picture");
  const svg = picture.querySelector("svg");
  const panel = document.getElementById("panel");
  const said = document.getElementById("said");
  const boxes = [...svg.querySelectorAll("g.box")];
  const edges = [...svg.querySelectorAll("path")];
  const width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height;
  const MOST = 40;
  const home = new Map();
  for (const [id, box] of Object.entries(data.boxes)) for (const one of box.members) home.set(one.name, id);

  const made = (name, text, parent) => {
    const one = document.createElement(name);
    if (text !== undefined) one.textContent = text;
    parent.append(one);
    return one;
  };

  const tell = (action) => {
    const article = made("article", undefined, panel);
    made("h3", action.name, article);
    made("p", data.words[action.state] + (action.reasons.length ? ":" : ""), article);
    if (action.reasons.length) {
      const list = made("ul", undefined, article);
      for (const reason of action.reasons) made("li", reason, list);
    }
    const facts = made("dl", undefined, article);
    const fact = (name) => {
      const line = made("div", undefined, facts);
      made("dt", name, line);
      return made("dd", undefined, line);
    };
    for (const [name, text] of action.facts) fact(name).textContent = text;
    if (action.needs.length) {
      const needs = fact("needs");
      action.needs.slice(0, MOST).forEach((name, place) => {
        if (place) needs.append(", ");
        const id = home.get(name);
        if (id === undefined) { needs.append(name); return; }
        const link = made("a", name, needs);
        link.href = "#" + id;
        link.addEventListener("click", (event) => { event.preventDefault(); choose(id, true); });
      });
      if (action.needs.length > MOST) needs.append(`, and ${action.needs.length - MOST} more`);
    }
  };

  const choose = (id, move) => {
    panel.replaceChildren();
    const { title, members } = data.boxes[id];
    made("h2", title, panel);
    const order = Object.keys(data.words);
    const shown = [...members].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
    shown.slice(0, MOST).forEach(tell);
    if (shown.length > MOST) made("p", `and ${shown.length - MOST} more`, panel).className = "more";
    panel.scrollTop = 0;
    for (const box of boxes) box.classList.toggle("chosen", box.id === id);
    for (const edge of edges) edge.classList.toggle("lit", edge.dataset.from === id || edge.dataset.to === id);
    if (move) {
      const box = document.getElementById(id);
      box.scrollIntoView({ block: "center", inline: "center" });
      box.focus({ preventScroll: true });
    }
    history.replaceState(null, "", "#" + id);
  };

  for (const box of boxes) {
    box.addEventListener("click", () => choose(box.id, false));
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(box.id, false); }
    });
  }

  const matches = (box, words) => words.every((word) =>
    box.title.toLowerCase().includes(word) || box.members.some((one) =>
      [one.name, one.step, data.words[one.state], ...one.reasons].some((text) => text.toLowerCase().includes(word))));
  document.getElementById("find").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0, first = null;
    for (const box of boxes) {
      const hit = matches(data.boxes[box.id], words);
      box.classList.toggle("dim", !hit);
      if (hit) { found += 1; first ??= box; }
    }
    for (const edge of edges) edge.classList.toggle("dim", words.length > 0);
    said.textContent = words.length ? `${found} of ${boxes.length} boxes` : "";
    if (words.length && first) first.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  let scale = 1;
  const zoom = (to) => {
    scale = Math.min(4, Math.max(0.05, to));
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  };
  const whole = () => zoom(Math.min(1, picture.clientWidth / width, Math.max(200, window.innerHeight - picture.offsetTop - 8) / height));
  document.getElementById("smaller").addEventListener("click", () => zoom(scale / 1.3));
  document.getElementById("larger").addEventListener("click", () => zoom(scale * 1.3));
  document.getElementById("whole").addEventListener("click", whole);
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(scale * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
  }, { passive: false });

  let from = null;
  picture.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.closest("g.box")) return;
    from = [event.clientX + picture.scrollLeft, event.clientY + picture.scrollTop];
  });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    picture.scrollLeft = from[0] - event.clientX;
    picture.scrollTop = from[1] - event.clientY;
  });
  addEventListener("pointerup", () => { from = null; });

  const asked = decodeURIComponent(location.hash.slice(1));
  if (data.boxes[asked]) choose(asked, true);
})();
