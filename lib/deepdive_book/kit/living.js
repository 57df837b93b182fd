// Before each figure's own script. `given`: id, spec, state, and the marks of the roles. The figure
// defines draw(), which shows `state` and returns the status line, and is handed to begin().
const box = document.getElementById(given.id), { spec } = given, handlers = {};
const find = what => box.querySelector(what), all = what => [...box.querySelectorAll(what)];
// A role's mark, which follows the book's theme where there is one.
const colors = Object.fromEntries(Object.entries(given.roles).map(
  ([role, mark]) => [role, `var(--dd-${role},${mark})`]));
const themed = svg => svg.replace(/<(\w+)[^>]*>/g, (tag, name) => Object.entries(given.roles).reduce(
  (text, [role, mark]) => text.replaceAll(`"${mark}"`,
    /^t(ext|span)$/.test(name) ? `"var(--dd-${role}-words,${mark})"` : `"${colors[role]}"`), tag));
// The still is an image, which viewers without scripts show; here it becomes part of the page.
const still = find("img.living-still");
if (still) {
  const bytes = Uint8Array.from(atob(still.src.split(",")[1]), letter => letter.charCodeAt(0));
  still.outerHTML = themed(new TextDecoder().decode(bytes));
}
const drawing = find(".living-drawing");
// An element with its attributes and children; texts are escaped by the browser.
const DRAWN = new Set(["svg", "g", "path", "rect", "circle", "line", "text", "tspan", "image",
  "polygon"]);
const make = (tag, attributes = {}, ...children) => {
  const element = DRAWN.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
// Give each element found its text, or its attributes.
const write = (what, texts) => all(what).forEach((each, i) => { each.textContent = texts[i]; });
const set = (what, values) => all(what).forEach((each, i) => {
  for (const [name, value] of Object.entries(values[i])) each.setAttribute(name, value);
});

let state = structuredClone(given.state), show;
const announce = text => { find(".living-status").textContent = text; };
const update = () => {
  for (const control of all("[data-control]")) {
    const value = state[control.dataset.control];
    if (control.type === "checkbox") control.checked = value;
    else if (control.tagName === "SELECT") control.selectedIndex = value;
    else if (control.type === "range") {
      const output = control.nextElementSibling;
      control.value = value;
      const labels = control.dataset.labels && JSON.parse(control.dataset.labels);
      output.textContent = labels ? labels[value - control.min] : value;
      control.setAttribute("aria-valuetext", output.textContent);
    }
  }
  const text = show();
  if (text !== undefined) announce(text);
};
const reset = () => { state = structuredClone(given.state); update(); };
// What else happens when a control changes, or when its button is pressed.
const on = (name, act) => { handlers[name] = act; };
// The arrow keys, as steps to the right and down, anywhere in an element but its form controls.
const onArrows = (element, act) => {
  if (!element.querySelector("button")) element.tabIndex = 0;
  element.addEventListener("keydown", event => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
      PageUp: [-10, 0], PageDown: [10, 0] }[event.key];
    if (!by || ["SELECT", "INPUT", "AUDIO"].includes(event.target.tagName)) return;
    event.preventDefault();
    act(...by);
    update();
  });
};
const clamp = (value, last) => Math.max(0, Math.min(last, value));
const begin = draw => {
  show = draw;
  for (const control of all("[data-control]")) {
    const name = control.dataset.control, button = control.tagName === "BUTTON";
    control.disabled = false;
    control.addEventListener(button ? "click" : "input", () => {
      if (control.type === "checkbox") state[name] = control.checked;
      else if (!button) state[name] = control.tagName === "SELECT" ? control.selectedIndex : +control.value;
      if (name === "reset") reset();
      else if (!(handlers[name]?.() instanceof Promise)) update();  // one that waits updates itself
    });
  }
  update();
  all(".living-controls, .living-try").forEach(each => { each.hidden = false; });
};
