// Scores of languages, and the average of the ticked ones. `given`: id, values (JSON), chosen.
const { languages } = JSON.parse(given.values), box = document.getElementById(given.id);
const ticks = [...box.querySelectorAll("input")], choice = box.querySelector("select");
const said = box.querySelector("[role=status]"), told = box.querySelector(".ls-told");
const wrong = box.querySelector(".ls-wrong");
const share = one => [...one.right].filter(answer => answer === "1").length / one.right.length;
const percent = (value, digits = 1) => (100 * value).toFixed(digits);
const average = some => {
  if (!some.length) return "No language is ticked, so there is no average.";
  const n = some[0].right.length, many = some.length;
  const mean = some.reduce((sum, one) => sum + share(one), 0) / many;
  let spread = 0;
  for (let i = 0; i < n; i++) {
    const right = some.filter(one => one.right[i] === "1").length / many;
    spread += (right - mean) ** 2;
  }
  const doubt = 1.96 * Math.sqrt(spread / n / Math.max(1, n - 1));
  const naive = 1.96 * Math.sqrt(mean * (1 - mean) / (n * many));
  const least = some.reduce((low, one) => (share(one) < share(low) ? one : low));
  return `${many} language${many > 1 ? "s" : ""}: ${percent(mean)} % on average, give or take `
    + `${percent(doubt)}. (It would be ${percent(naive)} if the `
    + `${(n * many).toLocaleString("en-US")} answers were to as many different sentences; `
    + `there are ${n}.) `
    + `The lowest is ${least.name}, ${percent(share(least))} %.`;
};
const count = () => {
  ticks.forEach(tick => tick.closest("li").classList.toggle("ls-off", !tick.checked));
  said.textContent = average(languages.filter((_, i) => ticks[i].checked));
};
const element = (kind, text) => {
  const made = document.createElement(kind);
  made.textContent = text;
  return made;
};
const look = () => {
  const one = languages[+choice.value];
  told.textContent = `${one.name}, ${one.script} letters, ${one.pieces.toFixed(0)} pieces a sentence: `
    + `${percent(share(one))} % right, between ${percent(one.low, 0)} and ${percent(one.high, 0)}. `
    + `Learned in ${one.name} itself: ${percent(one.own)} %. Without the encoder: `
    + `${percent(one.rival)} %.`;
  wrong.replaceChildren(...one.wrong.map(each => {
    const item = document.createElement("li"), text = element("span", each.text);
    text.dir = "auto";
    item.append(text, element("small", each.english),
      element("b", `read as ${each.said}; it is ${each.true}`));
    return item;
  }));
};
const sets = [() => true, one => one.script === "Latin", one => one.script !== "Latin", () => false];
box.querySelectorAll("button").forEach((button, k) => {
  button.onclick = () => {
    ticks.forEach((tick, i) => { tick.checked = sets[k](languages[i]); });
    count();
  };
});
ticks.forEach(tick => { tick.onchange = count; });
choice.onchange = look;
choice.value = given.chosen;
box.querySelectorAll(".ls-choose").forEach(part => { part.hidden = false; });
count();
look();
