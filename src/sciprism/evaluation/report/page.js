// Sort a table by the column whose head is pressed: numbers from the highest, names from A; again turns it round.
for (const button of document.querySelectorAll("th button")) button.onclick = () => {
  const head = button.closest("th"), body = head.closest("table").tBodies[0], column = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  const down = before === "ascending" || (before === null && column > 0);
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = row => row.cells[column].textContent;
  const order = (a, b) => {
    if (column === 0) return text(a).localeCompare(text(b)) * (down ? -1 : 1);
    const x = parseFloat(text(a)), y = parseFloat(text(b));
    return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : down ? y - x : x - y;
  };
  body.append(...[...body.rows].sort(order));
};
