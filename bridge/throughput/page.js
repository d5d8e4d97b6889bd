'use strict';
/* Draws the charts of a throughput report from the data in this page. */
(() => {
  const { report, curves } = JSON.parse(document.getElementById('data').textContent);
  const tip = document.getElementById('tip');
  const PLACES = [
    ['In Python', [
      ['encode', 'from the call to the write, which gathers the commands of a loop turn, or the first of them for a process that is idle'],
      ['decode', 'until the frames of the same read are parsed, all but their requests'],
      ['dispatch', 'until their rooms have them'],
    ]],
    ['Between the processes', [
      ['pipe_out', 'until Node has read the command'],
      ['pipe_in', 'from the finished frame until Python has read it, which gathers the frames of a loop turn'],
    ]],
    ['In Node', [
      ['node_wait', 'behind the commands of other rooms'],
      ['simulate', 'the battle itself'],
      ['node_encode', 'making the frame'],
    ]],
  ];
  const OPERATIONS = ['choose', 'open', 'close', 'forfeit', 'fork', 'ping'];

  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const colourOf = (name) => `var(--${OPERATIONS.includes(name) ? name : 'other'})`;
  const spaced = (name) => name.replace('_', ' ');
  const digits = (value) =>
    value === 0 ? '0' : value >= 99.95 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
  const duration = (ns) => {
    const [factor, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([f]) => ns >= f * 0.9995) ?? [1, 'ns'];
    return `${digits(ns / factor)} ${unit}`;
  };
  /** A round number without the zeros that a measured one keeps. */
  const tick = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
  const percent = (share) =>
    share > 0 && share < 0.001 ? '<0.1 %' : `${(share * 100).toFixed(share >= 0.0995 || share === 0 ? 0 : 1)} %`;

  /** Shows a tip beside the pointer, on the side where there is room. */
  function showTip(html, event) {
    tip.innerHTML = html;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const x = event.clientX + 16 + width < innerWidth ? event.clientX + 16 : event.clientX - 16 - width;
    const y = Math.min(Math.max(8, event.clientY - height / 2), innerHeight - height - 8);
    tip.style.transform = `translate(${Math.max(4, x)}px, ${y}px)`;
  }
  const hideTip = () => (tip.hidden = true);

  /** Draws a plot now, and again whenever its width changes. */
  function draw(section, paint) {
    section.hidden = false;
    const plot = section.querySelector('.plot');
    let width = 0;
    new ResizeObserver(() => {
      if (plot.clientWidth === width) return;
      width = plot.clientWidth;
      paint(plot, width);
    }).observe(plot);
    return () => paint(plot, plot.clientWidth);
  }

  /** Follows the pointer over a plot with a line, and dots that `at` places for a share of its width. */
  function follow(svg, frame, at) {
    const line = svg.querySelector('.crosshair');
    const dots = svg.querySelector('.dots');
    const leave = () => { line.setAttribute('visibility', 'hidden'); dots.innerHTML = ''; hideTip(); };
    const move = (event) => {
      const x = event.clientX - svg.getBoundingClientRect().left;
      const found = at((x - frame.left) / (frame.right - frame.left));
      if (!found || x < frame.left - 8 || x > frame.right + 8) return leave();
      line.setAttribute('x1', found.x); line.setAttribute('x2', found.x); line.setAttribute('visibility', 'visible');
      dots.innerHTML = found.dots.map(([y, colour]) => dot(found.x, y, colour)).join('');
      showTip(found.tip, event);
    };
    svg.addEventListener('pointermove', move);
    svg.addEventListener('pointerdown', move);
    svg.addEventListener('pointerleave', leave);
  }
  const dot = (x, y, colour) => `<circle class="dot" style="--colour:${colour}" cx="${x}" cy="${y}" r="4.5"/>`;
  const overlay = ({ top, bottom }) =>
    `<line class="crosshair" y1="${top}" y2="${bottom}" visibility="hidden"/><g class="dots"></g>`;
  const tipTable = (rows) =>
    `<table>${rows.map(([name, value]) => `<tr><td>${escape(name)}</td><td>${escape(value)}</td></tr>`).join('')}</table>`;

  function drawLatency() {
    const section = document.getElementById('latency');
    const names = Object.keys(curves);
    if (!names.length) return;
    const shown = new Set(names);
    const rankOf = (percentile, name) => {
      const count = report.operations.find((operation) => operation.name === name).total.count;
      return percentile >= 100 ? Math.log10(Math.max(count, 2)) : -Math.log10(1 - percentile / 100);
    };
    const lines = names.map((name) => ({
      name, points: curves[name].map(([percentile, ns]) => [rankOf(percentile, name), Math.max(ns, 1)]),
    }));

    const redraw = draw(section, (plot, width) => {
      const visible = lines.filter((line) => shown.has(line.name));
      const frame = { left: 58, right: width - 12, top: 12, bottom: (width < 560 ? 300 : 380) - 44 };
      const points = (visible.length ? visible : lines).flatMap((line) => line.points);
      const last = Math.max(1, ...points.map(([rank]) => rank));
      const lowest = Math.floor(Math.log10(Math.min(...points.map(([, ns]) => ns))) * 3) / 3;
      const highest = Math.ceil(Math.log10(Math.max(...points.map(([, ns]) => ns))) * 3) / 3;
      const x = (rank) => frame.left + (rank / last) * (frame.right - frame.left);
      const y = (ns) => frame.bottom - ((Math.log10(ns) - lowest) / (highest - lowest || 1)) * (frame.bottom - frame.top);

      const yTicks = [];
      for (let power = Math.floor(lowest); power <= highest; power++) {
        for (const step of highest - lowest > 4 ? [1] : [1, 2, 5]) {
          const exponent = power + Math.log10(step);
          if (exponent >= lowest - 1e-9 && exponent <= highest + 1e-9) yTicks.push(step * 10 ** power);
        }
      }
      const xTicks = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999]
        .map((percentile) => [percentile, -Math.log10(1 - percentile / 100)])
        .filter(([percentile, rank]) => rank <= last + 0.01 && (percentile !== 50 || x(rank) - frame.left > 40));
      plot.innerHTML = `<svg height="${frame.bottom + 44}" role="img" aria-label="Round-trip time by percentile, one line per operation">
        ${yTicks.map((ns) => `<line class="grid" x1="${frame.left}" x2="${frame.right}" y1="${y(ns)}" y2="${y(ns)}"/>
          <text x="${frame.left - 8}" y="${y(ns) + 4}" text-anchor="end">${tick(duration(ns))}</text>`).join('')}
        ${xTicks.map(([percentile, rank]) => `<line class="grid" x1="${x(rank)}" x2="${x(rank)}" y1="${frame.top}" y2="${frame.bottom}"/>
          <text x="${x(rank)}" y="${frame.bottom + 18}" text-anchor="middle">${percentile} %</text>`).join('')}
        <text x="${(frame.left + frame.right) / 2}" y="${frame.bottom + 38}" text-anchor="middle">share of round trips that are at least as fast</text>
        <line class="axis" x1="${frame.left}" x2="${frame.right}" y1="${frame.bottom}" y2="${frame.bottom}"/>
        ${visible.map((line) => `<path class="curve" style="--colour:${colourOf(line.name)}" d="${path(line.points, x, y)}"/>`).join('')}
        ${visible.map(({ name, points }) => dot(x(points.at(-1)[0]), y(points.at(-1)[1]), colourOf(name))).join('')}
        ${overlay(frame)}</svg>`;

      follow(plot.firstElementChild, frame, (share) => {
        const rank = Math.min(Math.max(share, 0), 1) * last;
        const values = visible
          .map((line) => ({ name: line.name, point: line.points.find(([r]) => r >= rank - 1e-9) }))
          .filter((value) => value.point)
          .sort((a, b) => b.point[1] - a.point[1]);
        if (!values.length) return null;
        const percentile = 100 * (1 - 10 ** -rank);
        const places = Math.max(0, Math.ceil(rank) - 1);
        const one = rank > 0.02 ? `1 in ${digits(10 ** rank)} takes longer` : 'the fastest';
        return {
          x: x(rank),
          dots: values.map(({ name, point }) => [y(point[1]), colourOf(name)]),
          tip: `<b>p${percentile.toFixed(places)}: ${one}</b>${tipTable(values.map(({ name, point }) => [name, duration(point[1])]))}`,
        };
      });
    });

    const legend = section.querySelector('.legend');
    legend.innerHTML = names.map((name) => `<button type="button" aria-pressed="true" data-name="${escape(name)}">
      <span class="swatch" style="--colour:${colourOf(name)}"></span>${escape(name)}</button>`).join('');
    legend.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (!button) return;
      const { name } = button.dataset;
      if (!shown.delete(name)) shown.add(name);
      button.setAttribute('aria-pressed', shown.has(name));
      redraw();
    });
  }

  function path(points, x, y) {
    return points.map(([rank, ns], i) => `${i ? 'L' : 'M'}${x(rank).toFixed(1)} ${y(ns).toFixed(1)}`).join('');
  }

  function drawPhases() {
    const section = document.getElementById('phases');
    if (!report.operations.length) return;
    section.hidden = false;
    section.querySelector('.plot').innerHTML = report.operations.map(({ name, total, phases }) => {
      const whole = Object.values(phases).reduce((sum, phase) => sum + phase.mean, 0) || 1;
      const parts = Object.entries(phases).map(([phase, { mean }]) => ({ phase, mean, share: mean / whole }));
      const bar = parts.map(({ phase, share }) => `<div data-phase="${phase}" data-operation="${escape(name)}"
        style="--colour:var(--${phase});--on:var(--on-${phase});flex:${share} 1 0"><span>${spaced(phase)}</span></div>`);
      const list = parts.map(({ phase, mean, share }) => `<div data-phase="${phase}"><dt><span class="swatch"
        style="--colour:var(--${phase})"></span>${spaced(phase)}</dt><dd>${duration(mean)}<small>${percent(share)}</small></dd></div>`);
      return `<div class="trip"><header><b>${escape(name)}</b><span>${duration(total.mean)} on average,
        ${total.count.toLocaleString('en')} round trips</span></header>
        <div class="bar">${bar.join('')}</div><dl class="parts">${list.join('')}</dl></div>`;
    }).join('');
    section.querySelector('.glossary').innerHTML = PLACES.map(([place, phases]) => `<div><h3>${place}</h3>${phases
      .map(([phase, meaning]) => `<p><span class="swatch" style="--colour:var(--${phase})"></span><b>${spaced(phase)}</b> ${meaning}</p>`)
      .join('')}</div>`).join('');

    const plot = section.querySelector('.plot');
    const light = (phase) => plot.querySelectorAll('[data-phase]').forEach((part) =>
      part.classList.toggle('dimmed', Boolean(phase) && part.dataset.phase !== phase));
    const move = (event) => {
      const part = event.target.closest('[data-phase]');
      light(part?.dataset.phase);
      const operation = report.operations.find(({ name }) => name === part?.dataset.operation);
      if (!operation) return hideTip();
      const phase = operation.phases[part.dataset.phase];
      const rows = ['mean', 'p50', 'p90', 'p99', 'p99.9', 'max'].map((name) => [name, duration(phase[name])]);
      showTip(`<b>${escape(operation.name)}: ${spaced(part.dataset.phase)}</b>${tipTable(rows)}`, event);
    };
    plot.addEventListener('pointermove', move);
    plot.addEventListener('pointerdown', move);
    plot.addEventListener('pointerleave', () => { light(null); hideTip(); });
  }

  /** The change of a cumulated value between neighbouring moments, a second. */
  function rates(field) {
    return report.timeline.slice(1).map((now, i) => {
      const before = report.timeline[i];
      if (now[field] === null || before[field] === null) return null;
      return Math.max(0, now[field] - before[field]) / (now.seconds - before.seconds);
    });
  }

  function drawTimeline() {
    const section = document.getElementById('timeline');
    const moments = report.timeline;
    if (moments.length < 4) return;
    const panels = [
      { title: 'decisions a second', series: [['decisions', 'var(--choose)']], write: digits },
      { title: 'CPU cores in use', series: [['node_cpu', 'var(--simulate)'], ['python_cpu', 'var(--decode)']], write: digits },
    ].map((panel) => ({ ...panel, series: panel.series.map(([field, colour]) => ({ field, colour, values: rates(field) }))
      .filter(({ values }) => values.some((value) => value !== null)) })).filter((panel) => panel.series.length);
    if (!panels.length) return;
    const NAMES = { decisions: 'decisions a second', node_cpu: 'Node cores, all processes', python_cpu: 'Python cores' };
    section.querySelector('.legend').innerHTML = panels.flatMap((panel) => panel.series).map(({ field, colour }) =>
      `<span><span class="swatch" style="--colour:${colour}"></span>${NAMES[field]}</span>`).join('');
    const end = moments[moments.length - 1].seconds;

    draw(section, (plot, width) => {
      const height = 140;
      const frame = { left: 58, right: width - 12, top: 8, bottom: panels.length * height - 22 };
      const x = (seconds) => frame.left + (seconds / end) * (frame.right - frame.left);
      const drawn = panels.map((panel, index) => {
        const top = index * height + 26;
        const bottom = (index + 1) * height - 22;
        const scale = nice(Math.max(...panel.series.flatMap(({ values }) => values)));
        const y = (value) => bottom - (value / (scale.step * scale.count)) * (bottom - top);
        return { ...panel, y, scale };
      });
      const steps = ({ values }, y) => values.map((value, i) => value === null ? '' :
        `${i ? 'L' : 'M'}${x(moments[i].seconds).toFixed(1)} ${y(value).toFixed(1)}H${x(moments[i + 1].seconds).toFixed(1)}`).join('');
      const grids = drawn.map(({ y, scale, series, title }) => `
        ${Array.from({ length: scale.count + 1 }, (_, i) => i * scale.step).map((value) =>
          `<line class="grid" x1="${frame.left}" x2="${frame.right}" y1="${y(value)}" y2="${y(value)}"/>
           <text x="${frame.left - 8}" y="${y(value) + 4}" text-anchor="end">${tick(digits(value))}</text>`).join('')}
        ${series.map((line) => `<path class="area" style="--colour:${line.colour}" d="${steps(line, y)}V${y(0)}H${x(0)}Z"/>
          <path class="curve" style="--colour:${line.colour}" d="${steps(line, y)}"/>`).join('')}
        <text class="name" x="${frame.left}" y="${y(scale.step * scale.count) - 9}">${title}</text>`);
      const every = nice(end, width < 560 ? 4 : 8);
      const times = Array.from({ length: every.count }, (_, i) => i * every.step).filter((seconds) => seconds <= end);
      plot.innerHTML = `<svg height="${panels.length * height + 6}" role="img" aria-label="Throughput and CPU over time">${grids.join('')}
        ${times.map((seconds) => `<text x="${x(seconds)}" y="${frame.bottom + 18}" text-anchor="middle">${seconds} s</text>`).join('')}
        ${overlay(frame)}</svg>`;

      follow(plot.firstElementChild, frame, (share) => {
        const at = Math.min(Math.max(share, 0), 1) * end;
        const i = Math.max(0, moments.findIndex(({ seconds }) => seconds >= at) - 1);
        const all = drawn.flatMap(({ series, y, write }) => series.map((line) => ({ ...line, y, write })));
        const rows = all.map(({ field, values, write }) => [NAMES[field], values[i] === null ? '–' : write(values[i])]);
        return {
          x: x(at),
          dots: all.filter(({ values }) => values[i] !== null).map(({ values, y, colour }) => [y(values[i]), colour]),
          tip: `<b>${moments[i].seconds.toFixed(1)} to ${moments[i + 1].seconds.toFixed(1)} s</b>${tipTable([...rows, ['battles open', moments[i + 1].rooms]])}`,
        };
      });
    });
  }

  /** Round steps that reach up to a value. */
  function nice(highest, wanted = 3) {
    const rough = (highest || 1) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
    return { step, count: Math.ceil((highest || 1) / step - 1e-9) };
  }

  document.getElementById('save').addEventListener('click', () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(report, null, 2)], { type: 'application/json' }));
    link.download = 'ipc-throughput.json';
    link.click();
    URL.revokeObjectURL(link.href);
  });
  drawLatency();
  drawPhases();
  drawTimeline();
})();
