// An answer's two ends, moved, and its scores. `given`: id, values (JSON).
const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), [begin, end] = box.querySelectorAll("input");
const asked = box.querySelector(".ae-asked"), text = box.querySelector(".ae-text");
const told = box.querySelector("[role=status]");
const between = (one, first, last) => one.words.slice(first, last + 1).flat();
const listed = words => (words.length ? `${words.join(" · ")} (${words.length})` : "nothing (0)");
const draw = () => {
  const one = spec[+choice.value], first = +begin.value, last = +end.value;
  const said = between(one, first, last), right = between(one, ...one.right);
  const left = [...right];
  let shared = 0;
  for (const word of said) {
    const at = left.indexOf(word);
    if (at >= 0) {
      left.splice(at, 1);
      shared += 1;
    }
  }
  text.replaceChildren(...one.parts.flatMap((part, i) => {
    const mark = document.createElement("span"), kinds = [];
    if (one.right[0] <= i && i <= one.right[1]) kinds.push("ae-right");
    if (first <= i && i <= last) kinds.push("ae-said");
    mark.className = kinds.join(" ");
    mark.textContent = part;
    return i && one.join ? [document.createTextNode(one.join), mark] : [mark];
  }));
  asked.textContent = one.question;
  const score = (2 * shared) / Math.max(1, said.length + right.length);
  const exact = said.join("\n") === right.join("\n") ? "yes" : "no";
  told.textContent = `Said: “${one.parts.slice(first, last + 1).join(one.join)}”. It counts as `
    + `${listed(said)}; right is ${listed(right)}. Shared: ${shared}. F1 = 2 · ${shared} / `
    + `(${said.length} + ${right.length}) = ${score.toFixed(2)}. Exact match: ${exact}.`;
  begin.setAttribute("aria-valuetext", one.parts[first]);
  end.setAttribute("aria-valuetext", one.parts[last]);
};
begin.oninput = () => {
  if (+end.value < +begin.value) end.value = begin.value;
  draw();
};
end.oninput = () => {
  if (+begin.value > +end.value) begin.value = end.value;
  draw();
};
choice.onchange = () => {
  const one = spec[+choice.value];
  for (const slider of [begin, end]) slider.max = one.parts.length - 1;
  [begin.value, end.value] = one.said;
  draw();
};
choice.value = 0;
[begin.value, end.value] = spec[0].said;
box.querySelector(".ae-choose").hidden = false;
draw();
