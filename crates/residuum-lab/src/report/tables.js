"use strict";
(() => {
  // Columns are sorted by the full number where there is one, else by the words; what is missing stays last.
  const sort = (table, column, down) => {
    const body = table.tBodies[0];
    const key = row => {
      const cell = row.cells[column];
      return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
    };
    const rank = value => (typeof value === "number" ? 0 : value === "–" ? 2 : 1);
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (rank(x) !== rank(y)) return rank(x) - rank(y);
      const order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return down ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    // Words alone do not tell the order of 6e-6 and 5e-4.
    if (!table.querySelector("[data-key]")) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      });
    });
  }

  // A table that does not fit is set tighter, then as cards; and as a table again where there is room.
  const fit = () => {
    for (const table of document.querySelectorAll("table.sortable")) {
      for (const row of table.tBodies[0].rows) {
        [...row.cells].forEach((cell, i) => (cell.dataset.head ??= table.tHead.rows[0].cells[i].textContent));
      }
      const wide = () => table.scrollWidth > table.parentElement.clientWidth + 1;
      table.classList.remove("tight", "stacked");
      table.classList.toggle("tight", wide());
      table.classList.toggle("stacked", wide());
    }
  };
  fit();
  window.addEventListener("resize", fit);
})();
