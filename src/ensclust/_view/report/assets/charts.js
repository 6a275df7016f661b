// Sizes, map, consensus matrix: each function returns traces and a layout.

const isFaded = (i) => state.cluster !== null && state.cluster !== i;

function absentNote() {
  const n = data.clusters.absent;
  return n ? `${count(n)} ${n === 1 ? "object is" : "objects are"} in no cluster` : "";
}

const sizesHeight = () => {
  const n = data.clusters.sizes.length;
  return n <= 14 ? 34 * n + 90 : 430;
};

// Horizontal bars with their numbers while there is room for them, else columns.
function sizesChart() {
  const { names, sizes, consensus } = data.clusters;
  const c = colours();
  const numbers = sizes.map((_, i) => i);
  const isLying = sizes.length <= 14;
  const trace = {
    type: "bar", orientation: isLying ? "h" : "v", customdata: numbers,
    x: isLying ? sizes : numbers, y: isLying ? numbers : sizes,
    marker: {
      color: numbers.map(hue), opacity: numbers.map((i) => (isFaded(i) ? 0.25 : 1)),
      line: { width: state.isDark ? 1 : 0, color: numbers.map((i) => (isDim(hue(i)) ? c.edge : hue(i))) },
    },
    text: isLying ? sizes.map(count) : undefined, textposition: "outside", cliponaxis: false,
    hovertext: names.map((name, i) =>
      `cluster <b>${plain(name)}</b><br>${count(sizes[i])} objects<br>cluster consensus ${share(consensus[i])}`),
    hoverinfo: "text",
  };
  const ticks = chosenTicks(sizes.length, 20);
  const clusters = {
    tickvals: ticks, ticktext: ticks.map((i) => plain(brief(names[i], isLying ? 18 : 8))),
    title: { text: "cluster" }, showgrid: false, zeroline: false, ticks: "",
    ...(isLying ? { autorange: "reversed" } : {}),
  };
  const objects = { title: { text: "objects" }, range: [0, (isLying ? 1.14 : 1.05) * Math.max(...sizes)] };
  return [[trace], layout({
    height: sizesHeight(), bargap: 0.25, dragmode: false,
    xaxis: isLying ? objects : clusters, yaxis: isLying ? clusters : objects,
  })];
}

function scatterHover(i) {
  const s = data.scatter;
  const id = s.ids === null ? s.rows[i] : s.ids[i];
  const lines = [`object <b>${plain(id)}</b>`, `cluster ${plain(clusterName(s.cluster[i]))}`];
  if (s.own[i] !== null) lines.push(`with its cluster in ${s.own[i]}% of the clusterings`);
  if (s.next[i] >= 0) lines.push(`with cluster ${plain(clusterName(s.next[i]))} in ${s.other[i]}%`);
  return lines.join("<br>");
}

const shownMap = () => data.scatter.maps[state.map];
const shownAxes = () =>
  (shownMap().axes.length > 2 ? byId("scatter-axes").value : "0,1").split(",").map(Number);

function scatterTrace(members, marker, customdata) {
  const { axes } = shownMap();
  const [x, y] = shownAxes();
  return {
    type: "scatter", mode: "markers",
    x: members.map((i) => axes[x][i]), y: members.map((i) => axes[y][i]),
    customdata: customdata, hovertext: members.map(scatterHover), hoverinfo: "text", marker,
  };
}

function scatterChart() {
  const s = data.scatter;
  const c = colours();
  const size = s.rows.length > 2000 ? 5 : s.rows.length > 500 ? 6 : 8;
  const all = s.rows.map((_, i) => i);
  const traces = [];
  if (state.colour === "certainty") {
    // The least certain come last, on top.
    const known = all.filter((i) => s.own[i] !== null).sort((a, b) => s.own[b] - s.own[a]);
    traces.push(scatterTrace(known, {
      size, line: { width: 0.5, color: c.card }, color: known.map((i) => s.own[i] / 100), cmin: 0, cmax: 1,
      colorscale: "Cividis", showscale: true, colorbar: colourbar("scatter-chart", "item consensus"),
      symbol: known.map((i) => symbol(s.cluster[i])),
      opacity: known.map((i) => (isFaded(s.cluster[i]) ? 0.06 : 0.9)),
    }, known.map((i) => s.cluster[i])));
  } else {
    const numbers = state.cutsMap ? cutMap() : s.cluster;
    const parts = new Map();
    for (const i of all) {
      if (!parts.has(numbers[i])) parts.set(numbers[i], []);
      parts.get(numbers[i]).push(i);
    }
    for (const j of [...parts.keys()].sort((a, b) => a - b)) {
      const members = parts.get(j);
      traces.push(scatterTrace(members, {
        size, line: { width: 0.5, color: edge(hue(j), c) }, color: hue(j), symbol: symbol(j),
        opacity: members.map((i) => (isFaded(s.cluster[i]) ? 0.06 : 0.85)),
      }, members.map((i) => s.cluster[i])));
    }
  }
  const [x, y] = shownAxes();
  const axis = (i) => ({
    title: { text: axisTitle(i) }, showticklabels: false, zeroline: false, ticks: "",
  });
  return [traces, layout({ height: isNarrow("scatter-chart") ? 360 : Math.max(430, sizesHeight() - 20), xaxis: axis(x), yaxis: axis(y) })];
}

function axisTitle(i) {
  const { names, share: shares } = shownMap();
  if (names !== null) return plain(brief(names[i], 30));
  return shares === null ? "" : `component ${i + 1} (${Math.round(100 * shares[i])}%)`;
}

function scatterNote() {
  const s = data.scatter;
  const { of, names } = shownMap();
  const what = {
    features: names === null ? "Principal components of the features" : "The given coordinates, unchanged",
    ensemble: "What the consensus sees: a t-SNE of the base clusterings alone, in which objects that are often together are neighbours. Distances between groups mean little",
    components: "Principal components of the co-association; objects with the same labels are slightly spread",
  }[of];
  const n = s.n - data.clusters.absent;
  const sampled = s.rows.length < n
    ? ` A sample of ${count(s.rows.length)} of ${count(n)} objects, some of every cluster.` : "";
  const absent = data.clusters.absent ? ` ${absentNote()} and not on the map.` : "";
  const cut = state.cutsMap && chosenK() !== data.tree.k
    ? ` Coloured by a cut into ${chosenK()}; the report has ${data.tree.k}.` : "";
  return `${what}.${sampled}${absent}${cut}`;
}

// Percentages, row by row, from the bytes that hold them.
function matrixRows(packed, n) {
  const values = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  return Array.from({ length: n }, (_, i) => Array.from(values.subarray(i * n, (i + 1) * n)));
}

function matrixChart() {
  const m = data.matrix;
  const c = colours();
  const n = m.sizes.length;
  const owner = m.clusters.flatMap((j, at) => Array(m.cells[at]).fill(j));
  const rows = matrixRows(m.percent, n);
  const single = m.sizes.every((size) => size === 1);
  const label = (i) => `cluster ${plain(clusterName(owner[i]))}` + (single ? "" : `, ${count(m.sizes[i])} objects`);
  const labels = owner.map((_, i) => label(i));
  const lines = [];
  const middles = [];
  let begin = 0;
  m.clusters.forEach((j, at) => {
    const end = begin + m.cells[at];
    const isOn = state.cluster === j;
    if (m.clusters.length <= 60 || isOn) {
      lines.push({
        type: "rect", x0: begin - 0.5, x1: end - 0.5, y0: begin - 0.5, y1: end - 0.5,
        line: { width: isOn ? 3 : 1, color: hue(j) },
      });
    }
    middles.push((begin + end - 1) / 2);
    begin = end;
  });
  const narrow = isNarrow("matrix-chart");
  const ticks = chosenTicks(middles.length, narrow ? 16 : 22);
  const names = ticks.map((at) => clusterName(m.clusters[at]));
  const axis = (most) => ({
    tickvals: apart(ticks.map((at) => middles[at]), n / most, -0.5, n - 0.5),
    ticktext: names.map((name) => plain(brief(name, 10))),
    ...(names.every((name) => name.length <= 2) ? { tickangle: 0 } : {}),
    showgrid: false, zeroline: false, ticks: "", constrain: "domain", range: [-0.5, n - 0.5],
    ...(narrow ? { tickfont: { size: 10 } } : { title: { text: "cluster" } }),
  });
  const trace = {
    type: "heatmap", z: rows, zmin: 0, zmax: 100, colorscale: c.shares,
    customdata: labels.map((a) => labels.map((b) => [a, b])),
    hovertemplate: "%{customdata[0]}<br>%{customdata[1]}<br>together in <b>%{z}%</b> of the clusterings<extra></extra>",
    colorbar: colourbar("matrix-chart", "% of the clusterings"),
  };
  return [[trace], layout({
    height: squareHeight("matrix-chart"), shapes: lines, xaxis: axis(narrow ? 17 : 22),
    yaxis: { ...axis(22), range: [n - 0.5, -0.5], scaleanchor: "x" },
  })];
}

function matrixNote() {
  const m = data.matrix;
  const largest = Math.max(...m.sizes);
  const shown = m.clusters.length < data.clusters.names.length
    ? ` The ${count(m.clusters.length)} largest clusters are shown.` : "";
  const cells = largest === 1
    ? "Each row and column is an object."
    : `Each row and column is a group of up to ${count(largest)} objects of one cluster, each cell the exact mean over their pairs.`;
  return `How often two objects are in the same cluster, ordered by cluster, the most certain objects of each first. ${cells}${shown}`;
}
