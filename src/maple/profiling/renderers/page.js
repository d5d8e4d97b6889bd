'use strict';
/* Makes a profile answer the pointer and the keyboard; all that it shows is in the page already. */
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const tip = document.getElementById('tip');

  /** An element of a text, which is never read as HTML. */
  function element(name, text) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** Shows a title, a line below it and a table, beside a point and on the side where there is room. */
  function showTip({ title, below, lines }, clientX, clientY) {
    const table = element('table');
    for (const [name, value] of lines) {
      const row = table.insertRow();
      row.append(element('td', name), element('td', value));
    }
    tip.replaceChildren(element('b', title), ...(below ? [element('p', below)] : []), table);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const x = clientX + 16 + width < innerWidth ? clientX + 16 : clientX - 16 - width;
    const y = Math.min(Math.max(8, clientY - height / 2), innerHeight - height - 8);
    tip.style.transform = `translate(${Math.max(4, x)}px, ${y}px)`;
  }
  const hideTip = () => (tip.hidden = true);

  /** Lets a tree of operations be zoomed into, by pointer and by keyboard. */
  function follow(place) {
    const icicle = place.querySelector('.icicle');
    const fit = place.querySelector('.fit');
    const blocks = [...icicle.querySelectorAll('button.block')];
    const number = (block, name) => Number(block.style.getPropertyValue(name));
    const start = (block) => number(block, '--start');
    const end = (block) => start(block) + number(block, '--size');
    const level = (block) => number(block, '--level');
    const whole = blocks[0];
    const used = Math.max(0, ...blocks.slice(1).map(end));
    let shown = null;

    function show(from, span, block) {
      icicle.style.setProperty('--from', from);
      icicle.style.setProperty('--span', span);
      shown = block;
      const all = from === 0 && span === 1;
      place.classList.toggle('fitted', !all);
      if (fit) fit.textContent = all ? 'Only the operations' : 'All of the time';
    }
    const parent = (block) => blocks.find((other) => level(other) === level(block) - 1
      && start(other) <= start(block) + 1e-12 && end(other) >= end(block) - 1e-9) ?? whole;
    const zoom = (block) => show(start(block), number(block, '--size'), block);
    const children = (block) => blocks.filter((other) => level(other) === level(block) + 1 && parent(other) === block);

    function focus(block) {
      if (!block) return;
      if (!block.offsetWidth) zoom(parent(block));
      blocks.forEach((other) => (other.tabIndex = other === block ? 0 : -1));
      block.focus();
    }
    icicle.addEventListener('click', (event) => {
      const block = event.target.closest('button.block');
      if (!block) return;
      zoom(block === shown && block !== whole ? parent(block) : block);
      focus(block);
    });
    fit?.addEventListener('click', () => (place.classList.contains('fitted') ? show(0, 1, whole) : show(0, used, null)));
    icicle.addEventListener('keydown', (event) => {
      const block = event.target.closest('button.block');
      if (!block) return;
      const beside = children(parent(block));
      const to = {
        ArrowUp: () => parent(block),
        ArrowDown: () => children(block)[0],
        ArrowLeft: () => beside[beside.indexOf(block) - 1],
        ArrowRight: () => beside[beside.indexOf(block) + 1],
        Escape: () => { zoom(shown ? parent(shown) : whole); return block; },
      }[event.key];
      if (!to) return;
      event.preventDefault();
      focus(to());
    });
    const told = (block, x, y) => (block?.dataset.tip ? showTip(data.tips[block.dataset.tip], x, y) : hideTip());
    icicle.addEventListener('pointermove', (event) => told(event.target.closest('.block'), event.clientX, event.clientY));
    icicle.addEventListener('pointerleave', hideTip);
    icicle.addEventListener('focusin', (event) => {
      if (!event.target.matches(':focus-visible')) return;
      const { left, bottom, width } = event.target.getBoundingClientRect();
      told(event.target, left + Math.min(width, 200), bottom);
    });
    icicle.addEventListener('focusout', hideTip);
    blocks.forEach((block) => (block.tabIndex = block === whole ? 0 : -1));
    if (fit) fit.hidden = false;
  }

  /** Lights up what the pointer is over in all bars of a section, and tells of it. */
  function light(section) {
    const move = (event) => {
      const part = event.target.closest('[data-part]');
      section.querySelectorAll('[data-part]').forEach((other) =>
        other.classList.toggle('dimmed', Boolean(part) && other.dataset.part !== part.dataset.part));
      if (part) showTip(data.tips[part.dataset.tip], event.clientX, event.clientY);
      else hideTip();
    };
    section.addEventListener('pointermove', move);
    section.addEventListener('pointerdown', move);
    section.addEventListener('pointerleave', () => {
      section.querySelectorAll('.dimmed').forEach((part) => part.classList.remove('dimmed'));
      hideTip();
    });
  }

  /** Follows the pointer along a chart over time. */
  function look(chart) {
    const frame = chart.querySelector('.frame');
    const moments = data.charts[chart.dataset.chart];
    const line = element('i');
    line.hidden = true;
    frame.append(line);
    const leave = () => { line.hidden = true; hideTip(); };
    const move = (event) => {
      const { left, width } = frame.getBoundingClientRect();
      const share = (event.clientX - left) / width;
      const found = moments.find(({ from, until }) => from <= share && share <= until);
      if (!found) return leave();
      line.hidden = false;
      line.style.left = `${share * 100}%`;
      return showTip(found, event.clientX, event.clientY);
    };
    frame.addEventListener('pointermove', move);
    frame.addEventListener('pointerdown', move);
    frame.addEventListener('pointerleave', leave);
  }

  /** Sorts the rows of each place by the column that is clicked: one way, the other way, as they were. */
  function sort(table) {
    const heads = [...table.tHead.rows[0].cells];
    const bodies = [...table.tBodies].map((body) => ({ body, rows: [...body.rows] }));
    heads.forEach((head, column) => {
      const orders = column ? ['descending', 'ascending', null] : ['ascending', 'descending', null];
      const button = element('button', head.textContent);
      button.type = 'button';
      head.replaceChildren(button);
      button.addEventListener('click', () => {
        const order = orders[(orders.indexOf(head.getAttribute('aria-sort')) + 1) % orders.length];
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        if (order) head.setAttribute('aria-sort', order);
        table.classList.toggle('sorted', Boolean(order));
        const value = (row) => row.cells[column].dataset.value;
        const compare = (a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
          return (order === 'ascending' ? 1 : -1) * (head.classList.contains('worded') ? x.localeCompare(y) : x - y);
        };
        for (const { body, rows } of bodies) {
          const [first, ...rest] = rows[0].classList.contains('group') ? rows : [null, ...rows];
          body.replaceChildren(...(first ? [first] : []), ...(order ? [...rest].sort(compare) : rest));
        }
      });
    });
  }

  /** Leaves the first ten of a long list or table, and the rest to a button. */
  function shorten(list) {
    const { length } = list.children;
    if (length <= 12) return;
    list.classList.add('short');
    const button = element('button', `Show all ${length}`);
    button.type = 'button';
    button.className = 'small more';
    button.addEventListener('click', () => { list.classList.remove('short'); button.remove(); });
    (list.closest('.wide') ?? list).after(button);
  }

  document.querySelectorAll('.place').forEach(follow);
  document.querySelectorAll('.phases').forEach(light);
  document.querySelectorAll('.chart').forEach(look);
  document.querySelectorAll('table.sortable').forEach(sort);
  document.querySelectorAll('.advice, table.long > tbody').forEach(shorten);
  addEventListener('scroll', hideTip, { passive: true });
})();
