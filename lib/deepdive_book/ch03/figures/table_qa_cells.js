const box = document.getElementById(given.id), choice = box.querySelector("select");
const each = [...box.querySelectorAll(".cp-one")];
const draw = () => each.forEach((one, i) => { one.hidden = i !== +choice.value; });
choice.onchange = draw;
box.querySelector(".cp-choose").hidden = false;
draw();
