const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const rows = [...box.querySelectorAll("li")], told = box.querySelector("[role=status]");
const answers = new Map();
const count = () => {
  if (!answers.size) { told.textContent = ""; return; }
  const kinds = [...new Set(spec.kinds)].filter(kind => spec.kinds.some((k, i) => k === kind && answers.has(i)));
  told.textContent = "You understood " + kinds.map(kind => {
    const mine = [...answers].filter(([i]) => spec.kinds[i] === kind);
    return `${mine.filter(([, right]) => right).length} of ${mine.length} with ${kind}`;
  }).join("; ") + ".";
};
rows.forEach((row, i) => {
  const choice = row.querySelector("select"), out = row.querySelector("output");
  row.querySelector(".sound-plain").remove();
  row.querySelector(".sound-choose").hidden = false;
  choice.onchange = () => {
    if (!choice.value || answers.has(i)) return;  // the first answer counts
    const right = choice.value === spec.words[i];
    answers.set(i, right);
    choice.disabled = true;
    out.textContent = (right ? "right" : `it says ${spec.words[i]}`) + ` (${spec.kinds[i]})`;
    count();
  };
});
