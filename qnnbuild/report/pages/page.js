const at = (id) => document.getElementById(id);
const read = (id) => {
  const found = at(id);
  return found ? JSON.parse(found.textContent) : null;
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
