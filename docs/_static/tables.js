// On a narrow screen, style.css writes the cells of a row one below the other if the table has the class "stacked": a
// table of three or more columns with a sentence in its last column. Each cell then shows the head of its column.
for (const table of document.querySelectorAll("table.docutils")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
  const rows = [...table.querySelectorAll("tbody tr")];
  const isText = rows.some((row) => row.lastElementChild.textContent.length > 40);
  table.classList.toggle("stacked", heads.length > 2 && isText);
  for (const row of rows) {
    // an empty cell has no head
    [...row.children].forEach((cell, column) => (cell.dataset.head = (cell.textContent.trim() && heads[column]) || ""));
  }
}
