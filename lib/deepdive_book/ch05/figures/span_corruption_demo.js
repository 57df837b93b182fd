const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), line = box.querySelector(".sn-words");
const [source, target] = box.querySelectorAll("dd");
let hidden = new Set(spec.hidden);
const say = () => {
  const words = spec.texts[+choice.value], reads = [], writes = [];
  let spans = 0;
  words.forEach((word, i) => {
    if (!hidden.has(i)) { reads.push(word); return; }
    if (!hidden.has(i - 1)) { reads.push(spec.sentinels[spans]); writes.push(spec.sentinels[spans]); spans += 1; }
    writes.push(word);
  });
  source.textContent = reads.join(" ");
  target.textContent = [...writes, spec.sentinels[spans]].join(" ");
  [...line.children].forEach((button, i) => button.setAttribute("aria-pressed", hidden.has(i)));
};
const fill = () => {
  line.replaceChildren(...spec.texts[+choice.value].map((word, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.onclick = () => { if (!hidden.delete(i)) hidden.add(i); say(); };
    return button;
  }));
  say();
};
choice.onchange = () => { hidden = new Set(); fill(); };
box.querySelector(".sn-choose").hidden = false;
fill();
