// Dendrogram, graph of base clusters, agreement, choice of k, true classes.

// Number of each branch's cluster when the tree is cut into k, by first appearance.
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
  t.order.forEach((branch, place) => { at[branch] = place; });
  const paths = new Map();
  const add = (j, points) => {
    if (!paths.has(j)) paths.set(j, { x: [], y: [] });
    points.forEach(([x, y]) => { paths.get(j).x.push(x); paths.get(j).y.push(y); });
  };
  t.merges.forEach(([a, b], j) => {
    at[n + j] = (at[a] + at[b]) / 2;
    owner[n + j] = j < n - k ? owner[a] : -1;
    const top = height[n + j];
    for (const child of [a, b]) {
      add(owner[child], [[at[child], height[child]], [at[child], top], [null, null]]);
    }
    add(owner[n + j], [[at[a], top], [at[b], top], [null, null]]);
  });
  const traces = [...paths].map(([j, path]) => ({
    type: "scatter", mode: "lines", ...path, hoverinfo: "skip",
    line: { color: j < 0 ? c.soft : hue(j), width: j < 0 ? 1.25 : 2 },
  }));
  traces.push({
    type: "scatter", mode: "markers", x: t.order.map((_, i) => i), y: t.order.map((b) => height[b]),
    marker: { color: t.order.map((b) => hue(cut[b])), symbol: t.order.map((b) => symbol(cut[b])), size: n > 80 ? 5 : 7 },
    hovertext: t.order.map((b) => `${count(t.sizes[b])} objects<br>cluster ${cut[b]} of ${k}`), hoverinfo: "text",
  });
  traces.push({
    type: "scatter", mode: "markers", x: t.merges.map((_, j) => at[n + j]), y: t.merged,
    marker: { color: c.card, size: 5, line: { color: c.soft, width: 1 } },
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
    ? ` The top of the tree: ${t.sizes.length} branches of ${count(t.leaves)} leaves.` : "";
  return `How the clusters merge. Choose a number of clusters to see what would be joined or split.${top}`;
}

function graphChart() {
  const g = data.graph;
  const c = colours();
  const edges = { type: "scatter", mode: "lines", x: [], y: [], hoverinfo: "skip", opacity: 0.45, line: { color: c.soft, width: 0.8 } };
  g.edges.forEach(([a, b]) => {
    edges.x.push(g.x[a], g.x[b], null);
    edges.y.push(g.y[a], g.y[b], null);
  });
  const largest = Math.max(...g.size);
  const nodes = {
    type: "scatter", mode: "markers", x: g.x, y: g.y, customdata: g.meta,
    marker: {
      size: g.size.map((s) => 5 + 11 * Math.sqrt(s / largest)),
      color: g.meta.map(hue), symbol: g.meta.map(symbol), line: { width: 1, color: c.card },
      opacity: g.meta.map((j) => (isFaded(j) ? 0.1 : 0.95)),
    },
    hovertext: g.size.map((s, i) =>
      `cluster <b>${plain(g.cluster[i])}</b> of clustering ${plain(g.clustering[i])}<br>${count(s)} objects<br>` +
      (g.meta[i] < 0 ? "without a vote" : `votes for cluster ${plain(clusterName(g.meta[i]))}`)),
    hoverinfo: "text",
  };
  const axis = { visible: false, range: [-1.1, 1.1] };
  return [[edges, nodes], layout({ height: isNarrow("graph-chart") ? 340 : 460, xaxis: axis, yaxis: { ...axis, scaleanchor: "x" } })];
}

function graphNote() {
  const g = data.graph;
  const part = g.size.length < g.n ? ` The ${count(g.size.length)} largest of ${count(g.n)} are shown.` : "";
  return `Every dot is a cluster of a base clustering, larger with more objects, joined to the three most similar ones. Its colour is the cluster that it votes for.${part}`;
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
  const step = Math.ceil(n / 25);
  const ticks = a.names.map((_, i) => i).filter((i) => i % step === 0);
  const traces = [
    trace("NMI", a.nmi, HUES[0], "circle"), trace("ARI", a.ari, HUES[5], "diamond"), trace("ECS", a.ecs, HUES[2], "square"),
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
  const step = Math.ceil(n / most);
  const ticks = names.map((_, i) => i).filter((i) => i % step === 0);
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
    height: isNarrow("pairs-chart") ? widthOf("pairs-chart") + 60 : Math.max(300, Math.min(470, 18 * n + 110)),
    xaxis: { ...axis, showticklabels: names.every((name) => name.length <= 3) },
    yaxis: { ...axis, range: [n - 0.5, -0.5], scaleanchor: "x" },
  })];
}

function agreementNote() {
  const a = data.agreement;
  const part = a.compared.length < a.names.length
    ? ` With each other: ${a.compared.length} of ${count(a.names.length)}.` : "";
  return "1 is the same partition. A base clustering far to the left says something else than the result: look at it, or give it less weight." + part;
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
      hovertext: hover, hoverinfo: "text", line: { color: HUES[0], width: 2 },
    });
    const at = s.ks.indexOf(criterion.suggested);
    if (at >= 0) {
      traces.push({
        type: "scatter", mode: "markers+text", x: [s.ks[at]], y: [criterion.values[at]], ...axes,
        text: [String(s.ks[at])], textposition: "top right", cliponaxis: false,
        hovertext: [hover[at]], hoverinfo: "text", marker: { color: HUES[5], size: 9 },
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
  const cells = t.table.map((row, i) => row.map((v, j) => [plain(names[i]), plain(t.classes[j]), count(v)]));
  const step = (n, most) => Math.ceil(n / most);
  const ticks = (list, most) => list.map((_, i) => i).filter((i) => i % step(list.length, most) === 0);
  const rows = ticks(names, 40);
  const columns = ticks(t.classes, 25);
  return [[{
    type: "heatmap", z: shares, zmin: 0, zmax: 1, colorscale: c.shares, customdata: cells,
    ...(few ? { text: cells.map((row) => row.map((cell) => cell[2])), texttemplate: "%{text}" } : {}), xgap: 2, ygap: 2,
    colorbar: colourbar("truth-chart", "share of the cluster"),
    hovertemplate: "cluster <b>%{customdata[0]}</b>, class <b>%{customdata[1]}</b><br>%{customdata[2]} objects, %{z:.1%} of the cluster<extra></extra>",
  }], layout({
    height: Math.max(240, 110 + (names.length <= 16 ? 30 : 13) * Math.min(names.length, 60)), dragmode: false,
    xaxis: { tickvals: columns, ticktext: columns.map((i) => plain(brief(t.classes[i], 14))), title: { text: "true class" }, showgrid: false, zeroline: false, ticks: "", side: "top" },
    yaxis: { tickvals: rows, ticktext: rows.map((i) => plain(brief(names[i], 14))), title: { text: "cluster" }, showgrid: false, zeroline: false, ticks: "", autorange: "reversed" },
  })];
}
