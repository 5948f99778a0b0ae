"use strict";
// The time of a page: it moves the scene and a line through every figure over time.
(() => {
  const holder = document.getElementById("scene"), head = JSON.parse(document.getElementById("scene-head").textContent);
  const find = (name) => holder.querySelector(name);
  const [button, slider, clock, speeds, switches, stage] = [".play", ".time", "output", "select", ".switches", ".stage"].map(find);
  const [start, end] = head.span, span = end - start, still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const digits = span < 2 ? 3 : 2;
  let now = end, playing = false, before = 0, seen = false, view = null;

  const rate = () => Number(speeds.value);
  const rates = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
  const usual = span < 2 ? rates.find((one) => span / one <= 4) : rates.find((one) => one >= 1 && span / one <= 20) || 1000;
  for (const one of rates) {
    if (one !== usual && (span / one > 200 || span / one < 0.5)) continue;
    speeds.add(new Option(`${one}\u00d7`, one, one === usual, one === usual));
  }

  // A line through every figure over time; a click there sets the time.

  const cursors = [...document.querySelectorAll("[data-time]")].map((mark) => {
    const [left, top, width, height, from, to] = mark.dataset.time.split(" ").map(Number);
    const area = document.createElement("div"), line = document.createElement("div");
    area.className = "cursor-area";
    Object.assign(area.style, { left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * width}%`, height: `${100 * height}%` });
    line.className = "cursor";
    area.append(line);
    mark.closest(".drawing").append(area);
    const take = (event) => {
      const box = area.getBoundingClientRect();
      pause();
      go(from + ((event.clientX - box.left) / box.width) * (to - from));
    };
    area.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button) return;
      area.setPointerCapture(event.pointerId);
      take(event);
    });
    area.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" && event.buttons & 1) take(event); });
    area.addEventListener("click", take);
    return { area, line, from, to, near: false };
  });
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) cursors.find((one) => one.area === target).near = isIntersecting;
    mark();
  });
  cursors.forEach(({ area }) => watch.observe(area));
  const mark = () => {
    for (const { line, from, to, near } of cursors) {
      if (!near) continue;
      const share = (now - from) / (to - from);
      line.style.transform = `translateX(${100 * share}%)`;
      line.hidden = share < 0 || share > 1;
    }
  };

  const go = (t) => {
    now = Math.min(end, Math.max(start, t));
    clock.textContent = `${now.toFixed(digits)} s`;
    slider.value = span > 0 ? (now - start) / span : 1;
    if (view) view.draw(now);
    mark();
  };
  const told = () => {
    button.textContent = playing ? "\u275a\u275a" : "\u25b6";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
  };
  const tick = (stamp) => {
    if (!playing) return;
    go(now + Math.min(0.25, Math.max(0, stamp - before) / 1000) * rate());  // a slow machine plays slower
    before = stamp;
    if (now >= end) pause(); else requestAnimationFrame(tick);
  };
  const play = () => {
    if (playing || span <= 0) return;
    if (now >= end) go(start);
    playing = true;
    before = performance.now();
    told();
    requestAnimationFrame(tick);
  };
  const pause = () => { playing = false; told(); };
  const toggle = () => (playing ? pause() : play());
  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => { pause(); go(start + slider.value * span); });
  find(".reset").addEventListener("click", () => view && view.reset());
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest("input, select, button, a, pre, summary, label");
    if (event.altKey || event.ctrlKey || event.metaKey || (busy && busy !== slider)) return;
    const step = span / (event.shiftKey ? 20 : 200);
    const keys = {
      " ": toggle, ArrowLeft: () => { pause(); go(now - step); }, ArrowRight: () => { pause(); go(now + step); },
      Home: () => { pause(); go(start); }, End: () => { pause(); go(end); }, r: () => view && view.reset(),
    };
    const inside = holder.contains(event.target) || (event.target === document.body && seen);
    if (!inside || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });

  // What can be hidden

  const offer = (words, group, color, on, act = (checked) => view.show(group, checked)) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = on;
    box.addEventListener("change", () => view && act(box.checked));
    label.append(box);
    if (color) {
      const swatch = document.createElement("i");
      swatch.style.background = color.startsWith("--") ? `var(${color})` : color;
      label.append(swatch);
    }
    label.append(words);
    switches.append(label);
    return () => act(box.checked);
  };
  const groups = new Map();
  for (const { group, parts } of head.actors) if (!["robot", "believed", "limits"].includes(group)) groups.set(group, parts.length ? parts[0][2] : "");
  for (const { group, color, kind } of head.curves) if (kind === "trail" && group !== "robot" && !groups.get(group)) groups.set(group, color);
  const started = [...groups].map(([group, color]) => offer(group, group, color, true));
  const ghost = head.actors.find(({ group }) => group === "believed");
  if (ghost) started.push(offer(ghost.name, "believed", ghost.parts.length ? ghost.parts[0][2] : "", true));
  if (head.actors.some(({ group }) => group === "limits")) started.push(offer("limits", "limits", "", true));
  if (head.curves.length) started.push(offer("trail", "trail", "", true));
  if (head.curves.some(({ kind }) => kind === "reference")) started.push(offer("reference", "reference", "", true));
  if (head.arrows.some(({ group }) => group === "inputs")) started.push(offer("inputs", "inputs", "", false));
  if (head.arrows.some(({ group }) => group === "reactions")) started.push(offer("reactions", "reactions", "", false));
  started.push(offer("names", "names", "", false));
  if (groups.size > 1) started.push(offer("side by side", "", "", false, (checked) => view.spread(checked)));

  // Sliders of a robot at rest

  const panel = find(".joints");
  const joints = head.joints.map(({ name, unit, low, high, home }) => {
    const label = document.createElement("label"), value = document.createElement("output"), input = document.createElement("input");
    Object.assign(input, { type: "range", min: low, max: high, step: "any", value: home });
    label.append(`${name} [${unit}]`, input, value);
    panel.append(label);
    return { input, value, home };
  });
  const bend = () => {
    joints.forEach(({ input, value }) => { value.textContent = Number(input.value).toFixed(3); });
    if (view && joints.length) view.bend(joints.map(({ input }) => Number(input.value)));
  };
  panel.addEventListener("input", bend);
  find(".home").addEventListener("click", () => { for (const { input, home } of joints) input.value = home; bend(); });
  panel.hidden = !joints.length;
  started.push(bend);
  bend();

  find(".controls").hidden = span <= 0;  // a robot at rest has nothing to play
  told();
  go(end);
  const REST = 2000;  // a card out of sight for so long gives its graphics back [ms]
  let leaving;
  const eye = new IntersectionObserver(async ([{ isIntersecting }]) => {
    seen = isIntersecting;
    clearTimeout(leaving);
    if (!isIntersecting) {
      pause();
      if (window !== top) leaving = setTimeout(() => view && view.rest(true), REST);
      return;
    }
    if (view) view.rest(false);
    if (view || holder.dataset.begun) return;
    holder.dataset.begun = "yes";
    try {
      view = await openScene(stage, head, document.getElementById("scene-block").textContent);
    } catch (error) {
      find(".without").hidden = false;
      switches.hidden = panel.hidden = find(".reset").hidden = true;
      return;
    }
    started.forEach((each) => each());
    if (head.ground !== null) find(".scale").textContent = `squares of ${view.cell < 1e-3 ? `${Number((1e6 * view.cell).toPrecision(3))} \u00b5m` : view.cell < 0.01 ? `${Number((1e3 * view.cell).toPrecision(3))} mm` : view.cell < 1 ? `${Number((100 * view.cell).toPrecision(3))} cm` : `${Number(view.cell.toPrecision(3))} m`}`;
    go(still ? end : start);
    requestAnimationFrame(() => stage.classList.add("alive"));
    if (!still) play();
  });
  eye.observe(stage);
})();
