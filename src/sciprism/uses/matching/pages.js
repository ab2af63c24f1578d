// Show the rows of all tables that hold every word of the search; say how many.
const search = document.getElementById("search"), said = document.getElementById("said");
search.oninput = () => {
  const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0, all = 0;
  for (const row of document.querySelectorAll("tbody tr")) {
    row.hidden = !words.every(word => row.textContent.toLocaleLowerCase().includes(word));
    all += 1;
    shown += !row.hidden;
  }
  said.textContent = words.length ? `${shown} of ${all} rows` : "";
};
// Sort a table by the column whose head is pressed; again turns it round.
for (const button of document.querySelectorAll("th button")) button.onclick = () => {
  const head = button.closest("th"), body = head.closest("table").tBodies[0], column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = row => row.cells[column].textContent;
  const order = (a, b) => text(a).localeCompare(text(b), undefined, { numeric: !text(a).includes(".") });
  const compare = head.className === "number" ? (a, b) => parseFloat(text(a)) - parseFloat(text(b)) : order;
  body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * compare(a, b)));
};
