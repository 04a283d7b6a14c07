"use strict";
const body = document.querySelector("#images tbody");
const rows = [...body.rows];
const heads = [...document.querySelectorAll("#images thead th")];

function value(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value === undefined) return cell.textContent;
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

function compare(one, other) {
  if (typeof one === "number") return one - other;
  return one.localeCompare(other, undefined, { numeric: true });
}

heads.forEach((head, column) => {
  const button = head.querySelector("button");
  if (!button) return;
  button.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const known = rows.filter((row) => value(row, column) !== null);
    const others = rows.filter((row) => value(row, column) === null);
    known.sort((a, b) => (up ? 1 : -1) * compare(value(a, column), value(b, column)));
    body.append(...known, ...others);
  });
});

const filter = document.getElementById("filter");
const shown = document.getElementById("shown");

function show() {
  const word = filter.value.toLowerCase();
  let count = 0;
  for (const row of rows) {
    const text = row.cells[1].textContent + " " + row.cells[2].textContent;
    row.hidden = !text.toLowerCase().includes(word);
    count += !row.hidden;
  }
  shown.textContent = word ? `${count} of ${rows.length}` : "";
}
filter.addEventListener("input", show);
