// The table of the least certain objects: sorted, searched, and only of one cluster.

const table = { key: "margin", isDown: false, shown: 25 };
const objects = data.objects;

const COLUMNS = [
  { key: "ids", title: "object" },
  { key: "cluster", title: "cluster" },
  { key: "own", title: "with its cluster" },
  { key: "next", title: "next cluster" },
  { key: "other", title: "with the next" },
  { key: "margin", title: "margin" },
  ...(objects.truth === null ? [] : [{ key: "truth", title: "true class" }]),
];
const NAMED = COLUMNS.filter(({ key }) => ["ids", "cluster", "truth"].includes(key));

function cellText(key, i) {
  const value = objects[key][i];
  if (key === "ids") return value;
  if (key === "cluster" || key === "next") return clusterName(value);
  if (key === "truth") return value < 0 ? "–" : data.truth.classes[value];
  return share(value);
}

function compare(i, j) {
  const [a, b] = [objects[table.key][i], objects[table.key][j]];
  if (a === null || b === null) return (a === null) - (b === null); // unknown is last
  const order = table.key === "ids" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
  return table.isDown ? -order : order;
}

function matches() {
  const words = byId("objects-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  return objects.rows.map((_, i) => i).filter((i) => {
    if (isFaded(objects.cluster[i])) return false;
    const text = NAMED.map(({ key }) => cellText(key, i)).join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function markedCell(key, i) {
  const cell = element("td", null);
  const mark = element("span", null, { className: "mark" });
  const text = element("span", cellText(key, i), { title: cellText(key, i) });
  mark.append(icon(objects[key][i]), text);
  cell.append(mark);
  return cell;
}

function tableRow(i) {
  const row = element("tr", null);
  for (const { key } of COLUMNS) {
    if (key === "ids") {
      row.append(element("th", cellText(key, i), { scope: "row", title: cellText(key, i) }));
    } else if (key === "cluster" || (key === "next" && objects.next[i] >= 0)) {
      row.append(markedCell(key, i));
    } else {
      const isWeak = key === "margin" && objects.margin[i] !== null && objects.margin[i] <= 0;
      row.append(element("td", cellText(key, i), { className: isWeak ? "weak" : "" }));
    }
  }
  return row;
}

function drawTable() {
  const found = matches().sort(compare);
  byId("objects-table").tBodies[0].replaceChildren(...found.slice(0, table.shown).map(tableRow));
  const shown = Math.min(table.shown, found.length);
  byId("objects-count").textContent = `${count(shown)} of ${count(found.length)} shown`;
  byId("objects-more").hidden = found.length <= table.shown;
  for (const cell of byId("objects-table").tHead.rows[0].cells) {
    const isKey = cell.dataset.key === table.key;
    cell.setAttribute("aria-sort", isKey ? (table.isDown ? "descending" : "ascending") : "none");
  }
}

function makeTable() {
  const head = element("tr", null);
  for (const { key, title } of COLUMNS) {
    const cell = element("th", null, { scope: "col" });
    cell.dataset.key = key;
    const button = element("button", title, { type: "button" });
    button.addEventListener("click", () => {
      table.isDown = table.key === key && !table.isDown;
      table.key = key;
      drawTable();
    });
    cell.append(button);
    head.append(cell);
  }
  byId("objects-table").tHead.replaceChildren(head);
  byId("objects-search").addEventListener("input", () => { table.shown = 25; drawTable(); });
  byId("objects-more").addEventListener("click", () => { table.shown += 100; drawTable(); });
  const part = objects.rows.length < objects.n ? `The ${count(objects.rows.length)} least certain of ${count(objects.n)} objects. ` : "";
  byId("objects-note").textContent = part +
    "The share of clusterings in which an object is together with the others of its cluster, and with those of the next. A margin of 0 or less (bold) means that the next cluster holds it as closely.";
  drawTable();
}
