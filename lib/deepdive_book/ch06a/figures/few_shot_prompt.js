const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const rows = [...box.querySelectorAll("fieldset")], choice = box.querySelector("select");
const fill = text => spec.template.replace("{}", () => text);
const draw = () => {
  const key = rows.map(row => row.querySelector("input:checked").value).join("");
  const share = spec.perMille[key][+choice.value];
  const shown = spec.demonstrations.map(([text, label], i) => key[i] === "0" ? ""
    : `${fill(text)} ${spec.words[key[i] === "2" ? 1 - label : label]}\n\n`);
  box.querySelector("pre").textContent = shown.join("") + fill(spec.queries[+choice.value]);
  box.querySelector("i").style.width = `${share / 10}%`;
  const count = state => [...key].filter(each => each === state).length;
  const n = key.length - count("0"), noun = n === 1 ? "demonstration" : "demonstrations";
  const labels = count("2") ? `, ${count("2")} of them with a flipped label` : "";
  box.querySelector("[role=status]").textContent =
    `${n || "No"} ${noun}${labels}. p(${spec.words[1]}) = ${(share / 10).toFixed(1)}%: ` +
    `the prediction is ${spec.words[share >= 500 ? 1 : 0]}.`;
};
box.querySelector(".bu-choose").addEventListener("change", draw);
box.querySelector(".bu-choose").hidden = false;
draw();
