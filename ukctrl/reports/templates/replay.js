"use strict";
(() => {
  const holder = document.getElementById("replay");
  const data = JSON.parse(document.getElementById("replay-data").textContent);
  const canvas = holder.querySelector("canvas"), pen = canvas.getContext("2d");
  const [button, slider, clock] = ["button", "input", "output"].map((tag) => holder.querySelector(tag));
  const { low, high, time, frames } = data, count = time.length, span = time[count - 1] - time[0];
  const center = low.map((a, i) => (a + high[i]) / 2);
  const radius = Math.hypot(...low.map((a, i) => high[i] - a)) / 2;
  let azimuth = -0.98, elevation = 0.42, zoom = 1, now = span, started = null;
  holder.hidden = false;

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const project = (p) => {
    const [x, y, z] = p.map((value, i) => value - center[i]);
    const [ca, sa, ce, se] = [Math.cos(azimuth), Math.sin(azimuth), Math.cos(elevation), Math.sin(elevation)];
    const scale = (zoom * 0.46 * Math.min(canvas.width, canvas.height)) / radius;
    return [canvas.width / 2 + scale * (y * ca - x * sa),
            canvas.height / 2 - scale * (z * ce - se * (x * ca + y * sa))];
  };
  const stroke = (points, name, width, alpha = 1) => {
    pen.beginPath();
    let down = false;
    for (const point of points) {
      if (point === null) { down = false; continue; }
      const at = project(point);
      if (down) pen.lineTo(...at); else pen.moveTo(...at);
      down = true;
    }
    pen.strokeStyle = color(name);
    pen.globalAlpha = alpha;
    pen.lineWidth = width * devicePixelRatio;
    pen.lineJoin = pen.lineCap = "round";
    pen.stroke();
    pen.globalAlpha = 1;
  };
  const dot = (point, name, size) => {
    pen.beginPath();
    pen.arc(...project(point), size * devicePixelRatio, 0, 7);
    pen.fillStyle = color(name);
    pen.fill();
  };
  const label = (point, text) => {
    pen.fillStyle = color("--muted");
    pen.font = `${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
    pen.fillText(text, ...project(point));
  };

  const draw = () => {
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    for (let i = 0; i <= 4; i++) {
      const x = low[0] + ((high[0] - low[0]) * i) / 4, y = low[1] + ((high[1] - low[1]) * i) / 4;
      stroke([[x, low[1], low[2]], [x, high[1], low[2]]], "--grid", 1);
      stroke([[low[0], y, low[2]], [high[0], y, low[2]]], "--grid", 1);
    }
    stroke([[low[0], high[1], low[2]], [low[0], high[1], high[2]]], "--grid", 1);
    label([high[0], low[1], low[2]], " x");
    label([low[0], high[1], low[2]], " y");
    label([low[0], high[1], high[2]], " z");
    let k = time.findIndex((t) => t - time[0] >= now - 1e-12);
    if (k < 0) k = count - 1;
    frames.forEach((frame, i) => {
      const series = `--series-${i % 8}`;
      stroke(frame.reference, series, 7, 0.25);
      stroke(frame.position.slice(0, k + 1), series, 1.8);
      if (frame.reference[k] && frame.position[k]) stroke([frame.reference[k], frame.position[k]], "--alert", 1.5);
      if (frame.position[k]) dot(frame.position[k], series, 4.5);
    });
    clock.textContent = `${(time[0] + now).toFixed(2)} s`;
    slider.value = span > 0 ? now / span : 1;
    button.textContent = started === null ? "\u25b6" : "\u275a\u275a";
  };
  const tick = (stamp) => {
    if (started === null) return;
    const rate = Math.max(1, span / 12);
    now = Math.min(span, ((stamp - started) / 1000) * rate);
    if (now >= span) started = null;
    draw();
    if (started !== null) requestAnimationFrame(tick);
  };

  button.onclick = () => {
    if (started !== null) { started = null; draw(); return; }
    if (now >= span) now = 0;
    started = performance.now() - (now * 1000) / Math.max(1, span / 12);
    requestAnimationFrame(tick);
  };
  slider.oninput = () => { started = null; now = slider.value * span; draw(); };
  canvas.onpointermove = (event) => {
    if (!event.buttons) return;
    azimuth -= event.movementX * 0.01;
    elevation = Math.min(1.57, Math.max(-1.57, elevation + event.movementY * 0.01));
    draw();
  };
  canvas.onpointerdown = (event) => canvas.setPointerCapture(event.pointerId);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom = Math.min(20, Math.max(0.3, zoom * Math.exp(-event.deltaY * 0.001)));
    draw();
  }, { passive: false });
  matchMedia("(prefers-color-scheme: dark)").onchange = draw;
  new ResizeObserver(draw).observe(canvas);
  draw();
})();
