const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const [one, other] = box.querySelectorAll("input[type=text]");
const ways = [...box.querySelectorAll("input[type=radio]")];
const told = box.querySelector("[role=status]"), words = [...box.querySelectorAll("svg text")];
const rects = [...box.querySelectorAll("svg rect")], SLICES = spec.primes.length;
const many = number => number.toLocaleString("en-US");
const slices = (code, apart) =>
  spec.primes.map((p, k) => (code + 1) * p % (apart ? spec.lengths[k] : spec.length));
const said = (letters, codes, same) => {
  if (codes[0] === codes[1]) return `${letters[0]} is ${many(codes[0])}. It is one letter, twice.`;
  const what = same === SLICES ? "to the model they are one and the same letter"
    : "the model can tell them apart";
  return `${letters[0]} is ${many(codes[0])}, ${letters[1]} is ${many(codes[1])}; they are ` +
    `${many(Math.abs(codes[0] - codes[1]))} apart. ${same} of ${SLICES} slices are the same: ` +
    `${what}.`;
};
const draw = () => {
  const letters = [one, other].map(input => [...input.value].pop());
  if (letters.some(letter => letter === undefined)) return;
  const codes = letters.map(letter => letter.codePointAt(0));
  const rows = codes.map(code => slices(code, ways[1].checked));
  let same = 0;
  for (let k = 0; k < SLICES; k++) {
    const met = rows[0][k] === rows[1][k];
    same += met;
    for (const i of [0, 1]) {
      rects[i * SLICES + k].setAttribute("fill-opacity", met ? "0.45" : "0.06");
      words[i * (SLICES + 2) + 2 + k].textContent = rows[i][k];
    }
  }
  for (const i of [0, 1]) {
    words[i * (SLICES + 2)].textContent = letters[i];
    const hex = codes[i].toString(16).toUpperCase().padStart(4, "0");
    words[i * (SLICES + 2) + 1].textContent = `U+${hex} = ${codes[i]}`;
  }
  told.textContent = said(letters, codes, same);
};
for (const input of [one, other]) {
  input.oninput = draw;
  input.onchange = () => {
    input.value = [...input.value].pop() ?? "";
    draw();
  };
  input.onfocus = () => input.select();
}
for (const way of ways) way.onchange = draw;
[...box.querySelectorAll(".hl-pairs button")].forEach((button, i) => {
  button.onclick = () => {
    [one.value, other.value] = spec.pairs[i];
    draw();
  };
});
box.querySelector(".hl-choose").hidden = false;
draw();
