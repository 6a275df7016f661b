// Clusterings across k or resolution: tree, consensus CDFs, consensus matrices.

function levelsChart() {
  const { tree: t, names } = data.sweep;
  const c = colours();
  const n = names.length;
  const height = Math.max(300, 44 * n + 40);
  const largest = Math.max(...t.size);
  const most = Math.min(40, Math.max(16, widthOf("levels-chart") / 16));
  // One trace for lines of similar strength: Plotly has one width and opacity per trace.
  const strengths = new Map();
  t.edges.forEach(([a, b], i) => {
    const opacity = Math.max(0.06, Math.round(5 * t.shares[i]) / 5);
    const width = 0.75 + Math.round(6 * Math.sqrt(t.overlaps[i] / largest));
    const key = `${opacity} ${width}`;
    if (!strengths.has(key)) strengths.set(key, { opacity, width, x: [], y: [] });
    const found = strengths.get(key);
    found.x.push(t.x[a], t.x[b], null);
    found.y.push(t.level[a], t.level[b], null);
  });
  const lines = [...strengths.values()].map(({ opacity, width, x, y }) => ({
    type: "scatter", mode: "lines", x, y, opacity, hoverinfo: "skip", line: { color: c.soft, width },
  }));
  const across = t.size.map((s) => Math.max(6, most * Math.sqrt(s / largest)));
  const nodes = {
    type: "scatter", mode: "markers+text", x: t.x, y: t.level, customdata: t.cluster, cliponaxis: false,
    marker: {
      size: across, color: t.cluster.map(hue), line: { width: 1, color: t.cluster.map((j) => edge(hue(j), c)) },
      opacity: t.cluster.map((j) => (isFaded(j) ? 0.15 : 1)),
    },
    text: t.name.map((name, i) => (across[i] >= 4 + 5.5 * brief(name, 4).length ? plain(brief(name, 4)) : "")),
    textfont: { size: 9, color: t.cluster.map((j) => inkOn(hue(j))) },
    hovertext: t.size.map((s, i) =>
      `cluster <b>${plain(t.name[i])}</b> of ${plain(names[t.level[i]])}<br>${count(s)} objects<br>` +
      (t.cluster[i] < 0 ? "in no cluster of this report" : `mostly in cluster ${plain(clusterName(t.cluster[i]))}`)),
    hoverinfo: "text",
  };
  return [[...lines, nodes], layout({
    height, dragmode: false,
    xaxis: { visible: false, range: [0, 1] },
    yaxis: {
      autorange: false, range: [n - 0.45, -0.55], tickvals: names.map((_, i) => i),
      ticktext: names.map((name) => plain(brief(name, 16))), showgrid: false, zeroline: false, ticks: "",
    },
  })];
}

// Curves from light to dark on white paper, from dark to light on a dark page.
function ramp(i, n) {
  const ends = state.isDark ? [[105, 125, 165], [255, 225, 120]] : [[150, 205, 140], [40, 20, 90]];
  const middle = state.isDark ? [70, 160, 150] : [30, 130, 150];
  const at = n > 1 ? (2 * i) / (n - 1) : 2;
  const [from, to, part] = at <= 1 ? [ends[0], middle, at] : [middle, ends[1], at - 1];
  return `rgb(${from.map((v, j) => Math.round(v + part * (to[j] - v))).join(",")})`;
}

function cdfChart() {
  const { levels, names } = data.sweep;
  const traces = levels.map((level, i) => ({
    type: "scatter", mode: "lines", name: plain(names[i]),
    x: [0, ...level.values, 1], y: [0, ...level.cdf, 1],
    line: { shape: "hv", width: 2, color: ramp(i, levels.length) },
    hovertext: [0, ...level.values, 1].map((v, j) =>
      `${plain(names[i])}<br>${Math.round(100 * [0, ...level.cdf, 1][j])}% of the pairs have a consensus of ${v.toFixed(2)} or less<br>area ${share(level.area)}`),
    hoverinfo: "text",
  }));
  const narrow = isNarrow("cdf-chart");
  return [traces, layout({
    height: narrow ? 400 : Math.max(300, Math.min(480, 44 * levels.length + 40)), showlegend: true,
    legend: narrow ? { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" } : { x: 1.02, y: 0.9 }, // below the buttons
    xaxis: { title: { text: "consensus of a pair of objects" }, range: [0, 1.005], zeroline: false },
    yaxis: { title: { text: "share of pairs" }, range: [0, 1.02], zeroline: false },
  })];
}

function matricesChart() {
  const { levels, names } = data.sweep;
  const c = colours();
  const width = widthOf("matrices-chart");
  const most = width > 900 ? 6 : width > 560 ? 4 : 2;
  const rows = Math.ceil(levels.length / most);
  const columns = Math.ceil(levels.length / rows); // rows of nearly equal length
  const side = Math.min(260, width / columns - 14);
  const [across, down] = [width - 16, rows * (side + 34)];
  const more = { height: down + 8, annotations: [], dragmode: false, margin: { l: 0, r: 0, t: 0, b: 0 } };
  const traces = levels.map((level, i) => {
    const suffix = i === 0 ? "" : String(i + 1);
    const [column, row] = [i % columns, Math.floor(i / columns)];
    const left = (column * (side + 14)) / across;
    const top = 1 - (row * (side + 34) + 24) / down;
    const axis = { visible: false, fixedrange: true, automargin: false };
    more[`xaxis${suffix}`] = { ...axis, domain: [left, Math.min(1, left + side / across)], anchor: `y${suffix}`, range: [-0.5, level.n - 0.5] };
    more[`yaxis${suffix}`] = { ...axis, domain: [Math.max(0, top - side / down), top], anchor: `x${suffix}`, range: [level.n - 0.5, -0.5] };
    more.annotations.push({
      text: plain(brief(names[i], 18)), xref: "paper", yref: "paper", x: left, y: top, xanchor: "left", yanchor: "bottom",
      showarrow: false, font: { size: 12, color: c.text },
    });
    return {
      type: "heatmap", z: matrixRows(level.percent, level.n), zmin: 0, zmax: 100, colorscale: c.shares, showscale: false,
      xaxis: `x${suffix}`, yaxis: `y${suffix}`, hovertemplate: "together in <b>%{z}%</b><extra></extra>",
    };
  });
  return [traces, layout(more)];
}

function sweepNote() {
  const s = data.sweep;
  const part = s.names.length < s.all ? ` ${s.names.length} of ${s.all} clusterings are shown.` : "";
  const sampled = s.objects < objects.n
    ? ` They were made for a sample of ${count(s.objects)} objects.`
    : s.judged < s.objects ? ` Matrices and curves are made of a sample of ${count(s.judged)} objects.` : "";
  return "Each row of the tree is a clustering, each dot a cluster in the colour of the cluster of this report that most of its objects are in; a strong line means that most of the lower cluster comes from the upper one. " +
    "For matrices and curves the base clusterings are reduced to the clusters of each clustering: clear clusters give clean blocks, and a curve that is flat between 0 and 1." + part + sampled;
}
