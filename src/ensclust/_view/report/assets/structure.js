// Dendrogram, graph of base clusters, agreement, choice of k, true classes.

// The cluster of each branch when the tree is cut into k, numbered by first appearance.
function cutBranches(k) {
  const t = data.tree;
  const n = t.sizes.length;
  const root = Array.from({ length: 2 * n - 1 }, (_, i) => i);
  for (let j = n - k - 1; j >= 0; j -= 1) {
    for (const child of t.merges[j]) root[child] = root[n + j];
  }
  const numbers = new Map();
  return t.sizes.map((_, i) => {
    if (!numbers.has(root[i])) numbers.set(root[i], numbers.size);
    return numbers.get(root[i]);
  });
}

const chosenK = () => Number(byId("tree-k").value);

function cutMap() {
  const cut = cutBranches(chosenK());
  return data.scatter.group.map((branch) => (branch < 0 ? -1 : cut[branch]));
}

// Below the height of the cut, a branch has the colour of its cluster.
function treeChart() {
  const t = data.tree;
  const c = colours();
  const n = t.sizes.length;
  const k = chosenK();
  const cut = cutBranches(k);
  const at = new Array(2 * n - 1);
  const height = t.heights.concat(t.merged);
  const owner = cut.concat(new Array(n - 1));
  const mostly = t.cluster.concat(new Array(n - 1)); // cluster of the report
  t.order.forEach((branch, place) => { at[branch] = place; });
  const paths = new Map();
  const add = (node, points) => {
    const key = `${owner[node]} ${isFaded(mostly[node])}`;
    if (!paths.has(key)) paths.set(key, { j: owner[node], faded: isFaded(mostly[node]), x: [], y: [] });
    points.forEach(([x, y]) => { paths.get(key).x.push(x); paths.get(key).y.push(y); });
  };
  t.merges.forEach(([a, b], j) => {
    at[n + j] = (at[a] + at[b]) / 2;
    owner[n + j] = j < n - k ? owner[a] : -1;
    mostly[n + j] = mostly[a] === mostly[b] ? mostly[a] : -1;
    const top = height[n + j];
    for (const child of [a, b]) {
      add(child, [[at[child], height[child]], [at[child], top], [null, null]]);
    }
    add(n + j, [[at[a], top], [at[b], top], [null, null]]);
  });
  const traces = [...paths.values()].map(({ j, faded, x, y }) => ({
    type: "scatter", mode: "lines", x, y, hoverinfo: "skip", opacity: faded ? 0.2 : 1,
    line: { color: j < 0 ? c.soft : hue(j), width: j < 0 ? 1.25 : 2 },
  }));
  traces.push({
    type: "scatter", mode: "markers", x: t.order.map((_, i) => i), y: t.order.map((b) => height[b]),
    customdata: t.order.map((b) => t.cluster[b]),
    marker: { opacity: t.order.map((b) => (isFaded(t.cluster[b]) ? 0.15 : 1)), color: t.order.map((b) => hue(cut[b])), symbol: t.order.map((b) => symbol(cut[b])), size: n > 80 ? 5 : 7 },
    hovertext: t.order.map((b) => `${count(t.sizes[b])} objects<br>cluster ${cut[b]} of ${k}`), hoverinfo: "text",
  });
  traces.push({
    type: "scatter", mode: "markers", x: t.merges.map((_, j) => at[n + j]), y: t.merged,
    marker: { color: c.card, size: 5, line: { color: c.soft, width: 1 }, opacity: t.merges.map((_, j) => (isFaded(mostly[n + j]) ? 0.2 : 1)) },
    hovertext: t.merged.map((h, j) => `merge at ${h.toFixed(3)}<br>${n - j} clusters become ${n - j - 1}`), hoverinfo: "text",
  });
  const shapes = k > 1 && n > 1 ? [{
    type: "line", xref: "paper", x0: 0, x1: 1, y0: cutHeight(k), y1: cutHeight(k),
    line: { color: c.accent, width: 1.5, dash: "dash" },
  }] : [];
  return [traces, layout({
    height: 400, shapes,
    xaxis: { showticklabels: false, showgrid: false, zeroline: false, ticks: "", range: [-0.7, n - 0.3] },
    yaxis: { title: { text: "1 − similarity" }, rangemode: "tozero", zeroline: false },
  })];
}

function cutHeight(k) {
  const t = data.tree;
  const n = t.sizes.length;
  const below = k < n ? t.merged[n - k - 1] : Math.max(...t.heights);
  return (below + t.merged[n - k]) / 2;
}

function treeSizes() {
  const k = chosenK();
  const sizes = new Array(k).fill(0);
  cutBranches(k).forEach((j, branch) => { sizes[j] += data.tree.sizes[branch]; });
  const shown = sizes.slice(0, 20).map(count).join(", ") + (k > 20 ? ", …" : "");
  return `${k} ${k === 1 ? "cluster" : "clusters"} of ${shown} objects` +
    (k === data.tree.k ? ", as in this report." : `; the report has ${data.tree.k}.`);
}

function treeNote() {
  const t = data.tree;
  const top = t.sizes.length < t.leaves
    ? ` Only the top of the tree is shown: ${t.sizes.length} branches for ${count(t.leaves)} leaves.` : "";
  return `How the clusters merge. Move the slider to see which would be joined or split.${top}`;
}

function graphChart() {
  const g = data.graph;
  const c = colours();
  const edges = { type: "scatter", mode: "lines", x: [], y: [], hoverinfo: "skip", opacity: 0.55, line: { color: c.soft, width: 1 } };
  g.edges.forEach(([a, b]) => {
    edges.x.push(g.x[a], g.x[b], null);
    edges.y.push(g.y[a], g.y[b], null);
  });
  const largest = Math.max(...g.size);
  const full = 13 * Math.min(1, Math.sqrt(150 / g.size.length));
  const nodes = {
    type: "scatter", mode: "markers", x: g.x, y: g.y, customdata: g.meta,
    marker: {
      size: g.size.map((s) => 4 + full * Math.sqrt(s / largest)),
      color: g.meta.map(hue), symbol: g.meta.map(symbol), line: { width: 1, color: g.meta.map((j) => edge(hue(j), c)) },
      opacity: g.meta.map((j) => (isFaded(j) ? 0.1 : 0.95)),
    },
    hovertext: g.size.map((s, i) =>
      `cluster <b>${plain(g.cluster[i])}</b> of clustering ${plain(g.clustering[i])}<br>${count(s)} objects<br>` +
      (g.meta[i] < 0 ? "no vote" : `votes for cluster ${plain(clusterName(g.meta[i]))}`)),
    hoverinfo: "text",
  };
  const axis = { visible: false, range: [-1.1, 1.1] };
  return [[edges, nodes], layout({ height: isNarrow("graph-chart") ? 340 : squareHeight("graph-chart"), xaxis: axis, yaxis: { ...axis, scaleanchor: "x" } })];
}

function graphNote() {
  const g = data.graph;
  const part = g.size.length < g.n ? ` The ${count(g.size.length)} largest of ${count(g.n)} are shown.` : "";
  return `Each dot is a cluster of a base clustering: its size is the number of objects, its colour the cluster that it votes for. It is joined to the three that are most similar to it.${part}`;
}

function agreementChart() {
  const a = data.agreement;
  const n = a.names.length;
  const trace = (name, values, color, marker) => ({
    type: "scatter", mode: "markers", name, x: values, y: a.names.map((_, i) => i),
    marker: { color, symbol: marker, size: n > 60 ? 6 : 9 },
    hovertext: values.map((v, i) => `clustering <b>${plain(a.names[i])}</b>, ${a.counts[i]} clusters<br>${name} ${share(v)}` +
      (a.weights === null ? "" : `<br>weight ${a.weights[i].toFixed(2)}`)),
    hoverinfo: "text",
  });
  const least = Math.min(0, ...a.ari.filter((v) => v !== null));
  const ticks = chosenTicks(n, 25);
  const traces = [
    trace("NMI", a.nmi, data.line, "circle"), trace("ARI", a.ari, data.mark, "diamond"), trace("ECS", a.ecs, data.third, "square"),
  ];
  return [traces, layout({
    height: Math.max(300, Math.min(600, 18 * n + 110)), showlegend: true, dragmode: false,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" },
    xaxis: { range: [least - 0.02, 1.02], zeroline: false },
    yaxis: {
      autorange: false, range: [n - 0.4, -0.6], tickvals: ticks, ticktext: ticks.map((i) => plain(brief(a.names[i], 20))),
      title: { text: "base clustering" }, zeroline: false,
    },
  })];
}

function pairsChart() {
  const a = data.agreement;
  const c = colours();
  const n = a.compared.length;
  const names = a.compared.map((i) => plain(a.names[i]));
  const [most, length] = isNarrow("pairs-chart") ? [9, 10] : [20, 16];
  const ticks = chosenTicks(n, most);
  const axis = {
    tickvals: ticks, ticktext: ticks.map((i) => plain(brief(a.names[a.compared[i]], length))),
    showgrid: false, zeroline: false, ticks: "", constrain: "domain", range: [-0.5, n - 0.5],
  };
  return [[{
    type: "heatmap", z: a.pairs, zmin: 0, zmax: 1, colorscale: c.shares, colorbar: colourbar("pairs-chart", "NMI"),
    xgap: n > 60 ? 0 : 1, ygap: n > 60 ? 0 : 1, hoverongaps: false,
    customdata: names.map((row) => names.map((column) => [row, column])),
    hovertemplate: "%{customdata[0]}<br>%{customdata[1]}<br>NMI <b>%{z:.3f}</b><extra></extra>",
  }], layout({
    height: squareHeight("pairs-chart"),
    xaxis: { ...axis, showticklabels: names.every((name) => name.length <= 3) },
    yaxis: { ...axis, range: [n - 0.5, -0.5], scaleanchor: "x" },
  })];
}

function agreementNote() {
  const a = data.agreement;
  const part = a.compared.length < a.names.length
    ? ` ${a.compared.length} of ${count(a.names.length)} are compared with each other.` : "";
  return "1 means the same partition. A base clustering far to the left disagrees with the result: look at it, or give it less weight." + part;
}

function selectionChart() {
  const s = data.selection;
  const c = colours();
  const n = s.criteria.length;
  const width = widthOf("selection-chart");
  const columns = Math.min(n, width > 900 ? 3 : width > 560 ? 2 : 1);
  const rows = Math.ceil(n / columns);
  const traces = [];
  const more = {
    height: 60 + 210 * rows, annotations: [], shapes: [],
    grid: { rows, columns, pattern: "independent", xgap: 0.16, ygap: 0.42 / rows ** 0.3 },
    margin: { l: 8, r: 8, t: 30, b: 8 },
  };
  s.criteria.forEach((criterion, i) => {
    const suffix = i === 0 ? "" : String(i + 1);
    const axes = { xaxis: "x" + suffix, yaxis: "y" + suffix };
    const hover = s.ks.map((k, j) => `${k} clusters<br>${criterion.title} ${share(criterion.values[j])}`);
    traces.push({
      type: "scatter", mode: "lines", x: s.ks, y: criterion.values, ...axes,
      hovertext: hover, hoverinfo: "text", line: { color: data.line, width: 2 },
    });
    const at = s.ks.indexOf(criterion.suggested);
    if (at >= 0) {
      traces.push({
        type: "scatter", mode: "markers+text", x: [s.ks[at]], y: [criterion.values[at]], ...axes,
        text: [String(s.ks[at])], textposition: "top right", cliponaxis: false,
        hovertext: [hover[at]], hoverinfo: "text", marker: { color: data.mark, size: 9 },
      });
    }
    more["xaxis" + suffix] = { title: { text: i >= n - columns ? "number of clusters" : "" } };
    more["yaxis" + suffix] = { nticks: 5 };
    more.annotations.push({
      text: `${criterion.title} (${criterion.rule})`, xref: `x${suffix} domain`, yref: `y${suffix} domain`,
      x: 0, y: 1, xanchor: "left", yanchor: "bottom", yshift: 6, showarrow: false, font: { size: 12, color: c.text },
    });
  });
  return [traces, layout(more)];
}

function truthChart() {
  const t = data.truth;
  const c = colours();
  const names = data.clusters.names;
  const shares = t.table.map((row) => {
    const total = row.reduce((a, b) => a + b, 0) || 1;
    return row.map((v) => v / total);
  });
  const few = names.length * t.classes.length <= 200 && t.classes.length <= 14;
  const cells = t.table.map((row, i) => row.map((v, j) =>
    [plain(names[i]), plain(t.classes[j]), count(v), `${(100 * shares[i][j]).toFixed(1)}%`]));
  const rows = chosenTicks(names.length, 40);
  const columns = chosenTicks(t.classes.length, 25);
  return [[{
    type: "heatmap", z: shares, zmin: 0, zmax: 1, colorscale: c.shares, customdata: cells,
    ...(few ? { text: t.table.map((row) => row.map((v) => (v ? count(v) : ""))), texttemplate: "%{text}" } : {}), xgap: 2, ygap: 2,
    colorbar: colourbar("truth-chart", "share of the cluster"),
    hovertemplate: "cluster <b>%{customdata[0]}</b>, class <b>%{customdata[1]}</b><br>%{customdata[2]} objects, %{customdata[3]} of the cluster<extra></extra>",
  }], layout({
    height: Math.max(240, 110 + (names.length <= 16 ? 30 : 13) * Math.min(names.length, 60)), dragmode: false,
    shapes: chosenRow(c, names.length, t.classes.length),
    xaxis: { tickvals: columns, ticktext: columns.map((i) => plain(brief(t.classes[i], 14))), title: { text: "true class" }, showgrid: false, zeroline: false, ticks: "", side: "top" },
    yaxis: { tickvals: rows, ticktext: rows.map((i) => plain(brief(names[i], 14))), title: { text: "cluster" }, showgrid: false, zeroline: false, ticks: "", autorange: "reversed" },
  })];
}

// The row of the chosen cluster is framed, the others fade.
function chosenRow(c, nRows, nColumns) {
  const at = state.cluster;
  if (at === null) return [];
  const row = (y0, y1, more) => ({ type: "rect", x0: -0.5, x1: nColumns - 0.5, y0, y1, ...more });
  const veil = { fillcolor: c.card, opacity: 0.7, line: { width: 0 } };
  return [
    ...(at > 0 ? [row(-0.5, at - 0.5, veil)] : []),
    ...(at < nRows - 1 ? [row(at + 0.5, nRows - 0.5, veil)] : []),
    row(at - 0.5, at + 0.5, { line: { width: 3, color: hue(at) } }),
  ];
}
