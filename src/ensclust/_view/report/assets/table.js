// The table of the least certain objects: sorted, searched, and only of one cluster.

const hasNext = data.clusters.names.length > 1;
const table = { key: hasNext ? "margin" : "own", isDown: false, shown: 25 };
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
  if (key === "next" && !hasNext) return "–";
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

const searched = () => byId("objects-search").value.toLowerCase().split(/\s+/).filter(Boolean);

function matches() {
  const words = searched();
  return objects.rows.map((_, i) => i).filter((i) => {
    if (isFaded(objects.cluster[i])) return false;
    const text = NAMED.map(({ key }) => cellText(key, i)).join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

// On a phone the figures need the room.
const fitted = (text) => (innerWidth <= 640 ? brief(text, 12) : text);

function markedCell(key, i) {
  const cell = element("td", null);
  const mark = element("span", null, { className: "mark" });
  const text = element("span", fitted(cellText(key, i)), { title: cellText(key, i) });
  mark.append(icon(objects[key][i]), text);
  cell.append(mark);
  return cell;
}

function tableRow(i) {
  const row = element("tr", null);
  for (const { key } of COLUMNS) {
    if (key === "ids") {
      row.append(element("th", fitted(cellText(key, i)), { scope: "row", title: cellText(key, i) }));
    } else if (key === "cluster" || (key === "next" && objects.next[i] >= 0)) {
      row.append(markedCell(key, i));
    } else {
      const isWeak = key === "margin" && objects.weak[i];
      row.append(element("td", cellText(key, i), { className: isWeak ? "weak" : "" }));
    }
  }
  return row;
}

function countText(n) {
  if (n === 0) return "No object matches";
  const shown = count(Math.min(table.shown, n));
  if (state.cluster === null && !searched().length) return `${shown} of ${count(n)} shown`;
  const found = `${count(n)} of ${count(objects.rows.length)} match`;
  return n > table.shown ? `${found}, ${shown} shown` : found;
}

// Which objects the table lists: the least certain, then some that are in no cluster.
function listNote() {
  const n = objects.n - data.clusters.absent;
  const listed = objects.cluster.filter((j) => j >= 0).length;
  const part = listed < n ? `The ${count(listed)} least certain of ${count(n)} objects. ` : "";
  if (!data.clusters.absent) return part;
  const last = objects.rows.length - listed;
  const how = last === data.clusters.absent ? ", listed last" : last ? `, ${count(last)} of them listed last` : ", and not listed";
  return `${part}${absentNote()}${how}. `;
}

function drawTable() {
  const found = matches().sort(compare);
  byId("objects-table").tBodies[0].replaceChildren(...found.slice(0, table.shown).map(tableRow));
  byId("objects-count").textContent = countText(found.length);
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
    cell.dataset.title = title; // for paper
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
  byId("objects-note").textContent = listNote() + (hasNext
    ? "The share of clusterings in which an object is together with the others of its cluster, and with those of the next. A margin of 0 or less (bold) means that the next cluster holds it as closely."
    : "The share of clusterings in which an object is together with the others. There is no next cluster.");
  drawTable();
}
