// Show the rows of all tables that hold every word of the search; say how many.
const search = document.getElementById("search"), said = document.getElementById("said");
if (search) search.oninput = () => {
  const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...document.querySelectorAll("tbody tr")];
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLocaleLowerCase().includes(word));
  said.textContent = words.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
};
// Sort a table by the column whose head is pressed: numbers from the highest, names from A; again turns it round.
for (const button of document.querySelectorAll("th button")) button.onclick = () => {
  const head = button.closest("th"), body = head.closest("table").tBodies[0], before = head.getAttribute("aria-sort");
  const isNumber = head.className === "number", down = before === "ascending" || (before === null && isNumber);
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = row => row.cells[head.cellIndex].textContent, sign = down ? -1 : 1;
  const order = (a, b) => {
    if (!isNumber) return sign * text(a).localeCompare(text(b), undefined, { numeric: !text(a).includes(".") });
    const x = parseFloat(text(a)), y = parseFloat(text(b));
    return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : sign * (x - y);
  };
  body.append(...[...body.rows].sort(order));
};
