"use strict";
// The robot in three dimensions. `openScene` reads what page_data.py wrote, and draws a moment.
const openScene = (() => {
  const {
    BufferAttribute, BufferGeometry, Color, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, Group,
    HemisphereLight, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, NeutralToneMapping,
    OrbitControls, PCFShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion, Scene,
    ShaderMaterial, ShadowMaterial, SphereGeometry, toCreasedNormals, Vector3, WebGLRenderer,
  } = THREE;
  const CREASE = 0.6, FIELD = 28, FULL_TURN = 5;
  const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Numbers

  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  };
  const columns = (block, [count, width, at]) => {
    const low = new Float32Array(block, at, width), step = new Float32Array(block, at + 4 * width, width);
    const values = new Float32Array(count * width);
    let from = at + 8 * width;
    for (let c = 0; c < width; c++) {
      if (step[c] === 0) { for (let i = 0; i < count; i++) values[i * width + c] = low[c]; continue; }
      const deltas = new Uint16Array(block, from, count);
      from += 2 * count;
      for (let i = 0, level = 0; i < count; i++) {
        level = (level + deltas[i]) & 65535;
        values[i * width + c] = level === 65535 ? NaN : low[c] + step[c] * level;
      }
    }
    return values;
  };
  const meshOf = (block, { low, step, vertices, faces, wide, at }) => {
    const index = new (wide ? Uint32Array : Uint16Array)(block, at, 3 * faces);
    const levels = new Uint16Array(block, at + index.byteLength, 3 * vertices);
    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(index, 1));
    geometry.setAttribute("position", new BufferAttribute(Float32Array.from(levels, (n, i) => low[i % 3] + step[i % 3] * n), 3));
    return toCreasedNormals(geometry, CREASE);
  };
  const point = (values, k, f, into, n = 3, c = 0) => {  // between two moments
    const a = k * n + c, b = f > 0 ? a + n : a;
    return into.set(...[0, 1, 2].map((i) => values[a + i] * (1 - f) + values[b + i] * f));
  };

  // What is drawn

  const tube = (points, radius, sides = 8) => {  // along a line with gaps; each vertex knows its moment
    const count = points.length / 3, place = [], normal = [], moment = [], index = [];
    const at = new Vector3(), along = new Vector3(), side = new Vector3(), other = new Vector3();
    const shown = (k) => k >= 0 && k < count && !Number.isNaN(points[3 * k]);
    for (let k = 0; k < count; k++) {
      at.fromArray(points, 3 * k);
      const before = shown(k - 1) ? k - 1 : k, after = shown(k + 1) ? k + 1 : k;
      const ahead = new Vector3().fromArray(points, 3 * after).sub(new Vector3().fromArray(points, 3 * before));
      if (ahead.lengthSq() > 0) along.copy(ahead).normalize();
      side.addScaledVector(along, -side.dot(along));
      if (!(side.lengthSq() > 1e-6)) side.set(1, 0, 0).cross(along).lengthSq() > 0.1 || side.set(0, 1, 0).cross(along);
      side.normalize();
      other.crossVectors(along, side);
      for (let i = 0; i < sides; i++) {
        const c = Math.cos((2 * Math.PI * i) / sides), s = Math.sin((2 * Math.PI * i) / sides);
        const out = side.clone().multiplyScalar(c).addScaledVector(other, s);
        normal.push(out.x, out.y, out.z);
        place.push(at.x + radius * out.x, at.y + radius * out.y, at.z + radius * out.z);
        moment.push(k);
        if (shown(k) && shown(k + 1)) {
          const a = k * sides + i, b = k * sides + ((i + 1) % sides);
          index.push(a, b, a + sides, b, b + sides, a + sides);
        }
      }
    }
    const geometry = new BufferGeometry();
    geometry.setIndex(index);
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(place.map((x) => (Number.isNaN(x) ? 0 : x))), 3));
    geometry.setAttribute("normal", new BufferAttribute(new Float32Array(normal), 3));
    geometry.setAttribute("moment", new BufferAttribute(new Float32Array(moment), 1));
    return geometry;
  };
  const paints = [];  // materials whose colour follows the page: "--robot", "--series-0"
  const matte = (color, opacity = 1, more = {}) => {
    const material = new MeshStandardMaterial({ opacity, transparent: opacity < 1, roughness: 0.55, metalness: 0.05, ...more });
    if (color.startsWith("--")) paints.push({ material, color }); else material.color.set(color);
    return material;
  };
  const growing = (color, now) => {  // a trail is there up to now
    const material = matte(color);
    material.onBeforeCompile = (shader) => {
      shader.uniforms.now = now;
      shader.vertexShader = `attribute float moment; varying float vMoment;\n${shader.vertexShader}`
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvMoment = moment;");
      shader.fragmentShader = `uniform float now; varying float vMoment;\n${shader.fragmentShader}`
        .replace("#include <clipping_planes_fragment>", "if (vMoment > now) discard;\n#include <clipping_planes_fragment>");
    };
    return material;
  };

  class Actor {
    constructor(entry, block, meshes, order) {
      this.entry = entry;
      this.group = new Group();
      [this.position, this.quaternion, this.stretch] = ["position", "quaternion", "stretch"].map((key) => columns(block, entry[key]));
      this.count = entry.carriers.length;
      this.matrices = Array.from({ length: this.count }, () => new Matrix4());
      const alike = new Map();
      for (const [mesh, carrier, color, opacity] of entry.parts) {
        const key = [mesh, color, opacity].join();
        if (!alike.has(key)) alike.set(key, { mesh, color, opacity, carriers: [] });
        alike.get(key).carriers.push(carrier);
      }
      this.batches = [...alike.values()].map(({ mesh, color, opacity, carriers }) => {
        // Robots that stand in the same place: the first is in front.
        const offset = { polygonOffset: order > 0, polygonOffsetFactor: order, polygonOffsetUnits: 4 * order, depthWrite: entry.group !== "limits" };
        const material = matte(color || "--robot", opacity, offset);
        const batch = new InstancedMesh(meshes[mesh], material, carriers.length);
        batch.frustumCulled = false;
        batch.castShadow = opacity > 0.6;
        batch.receiveShadow = true;
        batch.renderOrder = opacity < 1 ? 2 : 0;
        this.group.add(batch);
        return { batch, carriers };
      });
    }
    place(k, f) {
      const position = new Vector3(), from = new Quaternion(), to = new Quaternion(), scale = new Vector3();
      for (let c = 0; c < this.count; c++) {
        point(this.position, k, f, position, 3 * this.count, 3 * c);
        const at = 4 * (k * this.count + c), turn = (q, i) => q.set(this.quaternion[i + 1], this.quaternion[i + 2], this.quaternion[i + 3], this.quaternion[i]).normalize();
        turn(from, at);
        if (f > 0) from.slerp(turn(to, at + 4 * this.count), f);
        const s = k * this.count + c, stretch = f > 0 ? this.stretch[s] * (1 - f) + this.stretch[s + this.count] * f : this.stretch[s];
        this.matrices[c].compose(position, from, scale.set(1, 1, stretch));
      }
      this.upload();
    }
    upload() {
      for (const { batch, carriers } of this.batches) {
        carriers.forEach((carrier, i) => batch.setMatrixAt(i, this.matrices[carrier]));
        batch.instanceMatrix.needsUpdate = true;
      }
    }
  }

  class Line {  // a reference, or a trail with its dot
    constructor(entry, block, size, now) {
      this.entry = entry;
      this.points = columns(block, entry.points);
      this.group = new Group();
      const trail = entry.kind === "trail";
      const look = trail ? growing(entry.color, now) : matte(entry.color, 0.28, { depthWrite: false });
      const body = this.body = new Mesh(tube(this.points, size * (trail ? 0.0032 : 0.0085)), look);
      body.frustumCulled = false;
      body.renderOrder = trail ? 0 : 1;
      this.dot = new Mesh(new SphereGeometry(size * (trail ? 0.009 : 0.0125), 20, 14), trail ? matte(entry.color, 1, { depthTest: false, transparent: true }) : matte(entry.color, 0.45, { depthWrite: false }));
      this.dot.renderOrder = trail ? 8 : body.renderOrder;  // seen through the gripper that holds it
      this.group.add(body, this.dot);
    }
    place(k, f) {
      point(this.points, k, f, this.dot.position);
      this.dot.visible = !Number.isNaN(this.dot.position.x);
    }
  }

  class Arrow {  // straight for a force; for a torque an arc about its axis
    constructor(entry, block, size, largest) {
      this.entry = entry;
      this.largest = largest;
      this.size = size;
      [this.tail, this.vector] = [columns(block, entry.tail), columns(block, entry.vector)];
      this.group = new Group();
      this.turns = !/^(N|kN)$/.test(entry.unit);
      const look = matte(entry.group === "inputs" ? "--series-1" : "--series-3", 1, { side: DoubleSide, transparent: true });
      const thick = 0.0055 * size;
      this.head = new Mesh(new ConeGeometry(2.6 * thick, 6 * thick, 20).translate(0, 3 * thick, 0), look);
      if (this.turns) {
        const steps = 60, radius = (this.radius = 0.1 * size), arc = [];
        for (let i = 0; i <= steps; i++) arc.push(radius * Math.cos((FULL_TURN * i) / steps), radius * Math.sin((FULL_TURN * i) / steps), 0);
        this.steps = steps;
        this.shaft = new Mesh(tube(arc, 0.8 * thick), look);
      } else {
        this.shaft = new Mesh(new CylinderGeometry(thick, thick, 1, 14).translate(0, 0.5, 0).rotateX(Math.PI / 2), look);
        this.head.geometry.rotateX(Math.PI / 2);
      }
      this.shaft.frustumCulled = false;
      this.shaft.renderOrder = this.head.renderOrder = 10;
      this.group.add(this.shaft, this.head);
    }
    place(k, f) {
      const vector = point(this.vector, k, f, new Vector3()), share = vector.length() / this.largest;
      point(this.tail, k, f, this.group.position);
      this.group.visible = share > 0.004;
      if (!this.group.visible) return;
      this.head.scale.setScalar(Math.min(1, 0.3 + 4 * share));
      this.group.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), vector.normalize());
      if (this.turns) {
        const angle = FULL_TURN * Math.min(1, share), steps = Math.max(1, Math.round((this.steps * angle) / FULL_TURN));
        this.shaft.geometry.setDrawRange(0, steps * 48);
        this.head.position.set(this.radius * Math.cos(angle), this.radius * Math.sin(angle), 0);
        this.head.rotation.z = angle;
      } else {
        const length = 0.24 * this.size * Math.min(1, share);
        this.shaft.scale.set(1, 1, length);
        this.head.position.z = length;
      }
    }
  }

  const nice = (value) => {
    const power = 10 ** Math.floor(Math.log10(value)), rest = value / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
  };
  const floorOf = (height, middle, size, cell) => {  // squares that fade, and a soft shadow
    const plane = new PlaneGeometry(8 * size, 8 * size), place = [middle.x, middle.y, height - 0.0015 * size];
    const squares = new Mesh(plane, new ShaderMaterial({
      transparent: true, depthWrite: false, side: DoubleSide,
      uniforms: { color: { value: new Color() }, cell: { value: cell }, fade: { value: 2.2 * size }, middle: { value: middle } },
      vertexShader: "varying vec2 at; void main() { vec4 world = modelMatrix * vec4(position, 1.0); at = world.xy; gl_Position = projectionMatrix * viewMatrix * world; }",
      fragmentShader: `
        varying vec2 at; uniform vec3 color, middle; uniform float cell, fade;
        float lines(vec2 p, float wide) { vec2 d = fwidth(p), e = abs(fract(p - 0.5) - 0.5) / max(d, 1e-6); return (1.0 - min(min(e.x, e.y) / wide, 1.0)) * (1.0 - clamp(1.6 * max(d.x, d.y), 0.0, 1.0)); }
        void main() {
          float near = 1.0 - smoothstep(0.25, 1.0, length(at - middle.xy) / fade);
          gl_FragColor = vec4(color, near * max(0.5 * lines(at / cell, 1.2), 0.9 * lines(at / (5.0 * cell), 1.4)));
        }`,
    }));
    squares.position.set(...place);
    const shadow = new Mesh(plane, new ShadowMaterial({ opacity: 0.2, depthWrite: false }));
    shadow.position.set(...place);
    shadow.receiveShadow = true;
    shadow.renderOrder = -1;
    return { squares, shadow };
  };

  return async (holder, head, text) => {
    const canvas = holder.querySelector("canvas"), layer = holder.querySelector(".labels");
    const context = canvas.getContext("webgl2", { antialias: true, alpha: true, powerPreference: "low-power" });
    if (!context) throw new Error("no WebGL");
    const renderer = new WebGLRenderer({ canvas, context });
    const block = await unpacked(text), time = columns(block, head.time), meshes = head.meshes.map((mesh) => meshOf(block, mesh));
    renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    renderer.toneMapping = NeutralToneMapping;
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = PCFShadowMap;
    const scene = new Scene(), camera = new PerspectiveCamera(FIELD, 1, 0.01, 1000), controls = new OrbitControls(camera, canvas);
    const low = new Vector3(...head.low), high = new Vector3(...head.high), up = new Vector3(...head.up);
    const middle = low.clone().add(high).multiplyScalar(0.5), size = high.clone().sub(low).length(), reach = Math.max(...high.clone().sub(low).toArray());
    const cell = nice(reach / 6), now = { value: 0 };
    camera.up.copy(up);
    [camera.near, camera.far] = [size / 200, 60 * size];
    canvas.style.touchAction = "pan-y";  // a finger that moves upwards scrolls the page

    const sky = new HemisphereLight(0xffffff, 0xbcc5ce, 2.3), sun = new DirectionalLight(0xffffff, 2.1);
    sky.position.copy(up);
    sun.position.copy(new Vector3(0.55, -0.4, 1).applyQuaternion(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), up))).multiplyScalar(2 * size).add(middle);
    sun.target.position.copy(middle);
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    Object.assign(sun.shadow.camera, { left: -size, right: size, top: size, bottom: -size, near: 0.1 * size, far: 5 * size });
    sun.shadow.radius = 5;
    sun.shadow.normalBias = 0.004 * size;
    scene.add(sky, sun, sun.target);
    const ground = head.ground === null ? null : floorOf(head.ground, middle, size, cell);
    if (ground) scene.add(ground.squares, ground.shadow);

    const actors = head.actors.map((entry, order) => new Actor(entry, block, meshes, order));
    const lines = head.curves.map((entry) => new Line(entry, block, reach, now));
    const peak = {};
    for (const { unit, group, vector } of head.arrows) {
      const values = columns(block, vector);
      for (let i = 0; i < values.length; i += 3) peak[unit + group] = Math.max(peak[unit + group] || 0, Math.hypot(values[i], values[i + 1], values[i + 2]) || 0);
    }
    const arrows = head.arrows.map((entry) => new Arrow(entry, block, reach, peak[entry.unit + entry.group]));
    const shown = [...actors, ...lines, ...arrows];
    shown.forEach((each) => scene.add(each.group));
    if (arrows.length) {  // they are seen through bodies: what is drawn before them no longer hides
      const veil = new Mesh(new PlaneGeometry(size, size), new MeshBasicMaterial({ transparent: true, colorWrite: false, depthWrite: false }));
      veil.onBeforeRender = () => renderer.clearDepth();
      veil.frustumCulled = false;
      veil.renderOrder = 9;
      scene.add(veil);
    }

    // Names stand above the canvas, as plain text.
    const labels = [];
    const label = (words, at, kind) => {
      const element = document.createElement("span");
      element.textContent = words;
      element.className = kind;
      layer.append(element);
      labels.push({ element, at, kind });
    };
    for (const actor of actors) {
      for (const [words, carrier] of actor.entry.texts) label(words, () => new Vector3().setFromMatrixPosition(actor.matrices[carrier]).add(actor.group.position), "text");
      const some = actors.indexOf(actor) === 0 && actor.count <= 40 ? actor.entry.carriers : [];
      some.forEach((words, carrier) => words !== "world" && label(words, () => new Vector3().setFromMatrixPosition(actor.matrices[carrier]).add(actor.group.position), "names"));
    }
    for (const line of lines) if (line.entry.kind === "trail") label(line.entry.name, () => line.dot.visible && line.dot.position.clone().add(line.group.position), "names");
    const hidden = new Set(["names"]);

    let waiting = false, moved = false, shownTime = 0, last = { k: -1 };
    const render = () => {
      waiting = false;
      renderer.render(scene, camera);
      const { clientWidth: width, clientHeight: height } = canvas;
      for (const { element, at, kind } of labels) {
        const place = !hidden.has(kind) && at();
        element.hidden = !place;
        if (!place) continue;
        place.project(camera);
        element.style.transform = `translate(${((place.x + 1) / 2) * width}px, ${((1 - place.y) / 2) * height}px)`;
      }
    };
    const ask = () => { if (!waiting) { waiting = true; requestAnimationFrame(render); } };
    const draw = (t) => {
      shownTime = t;
      let a = 0, b = time.length - 1;
      while (b - a > 1) { const half = (a + b) >> 1; if (time[half] <= t) a = half; else b = half; }
      const k = t >= time[time.length - 1] ? time.length - 1 : a;
      const f = k + 1 < time.length ? Math.min(1, Math.max(0, (t - time[k]) / (time[k + 1] - time[k] || 1))) : 0;
      now.value = k + f;
      if (k !== last.k || f !== last.f) shown.forEach((each) => each.place(k, f));
      last = { k, f };
      ask();
    };
    // Joints away from home: each displaces what it carries, after it was displaced by its parents.
    const bend = (values) => {
      const robot = actors[0], displaced = [];
      robot.place(0, 0);
      head.joints.forEach(({ parent, carriers, point: origin, turn, slide, home }, j) => {
        const change = values[j] - home, axis = new Vector3(...turn), fixed = new Vector3(...origin);
        const rotation = new Quaternion().setFromAxisAngle(axis, change * axis.length());
        const shift = fixed.clone().sub(fixed.applyQuaternion(rotation)).addScaledVector(new Vector3(...slide), change);
        displaced[j] = new Matrix4().compose(shift, rotation, new Vector3(1, 1, 1));
        if (parent >= 0) displaced[j].premultiply(displaced[parent]);
        for (const carrier of carriers) robot.matrices[carrier].premultiply(displaced[j]);
      });
      robot.upload();
      ask();
    };
    // Compared robots, which may stand in the same place, beside each other: how far a group moves.
    const groups = [...new Set(actors.map((each) => each.entry.group))].filter((group) => !["believed", "limits"].includes(group));
    let apart = false;
    const aside = (k) => up.clone().cross(new Vector3(...head.view)).setLength(apart && k >= 0 ? (k - (groups.length - 1) / 2) * 1.1 * reach : 0);
    const spread = (on) => {
      apart = on;
      for (const each of [...actors, ...lines]) each.group.position.copy(aside(groups.indexOf(each.entry.group)));
      for (const { group, body, dot } of lines.filter((line) => line.entry.kind === "reference")) {  // one each
        group.remove(...group.children.slice(2));
        body.visible = !on;
        dot.scale.setScalar(on ? 0 : 1);
        if (on) groups.forEach((_, k) => { const copy = body.clone(); copy.visible = true; copy.position.copy(aside(k)); group.add(copy); });
      }
      fit();
    };
    const fit = () => {
      const toward = new Vector3(...head.view), right = up.clone().cross(toward).normalize(), above = toward.clone().cross(right);
      const open = Math.tan((FIELD * Math.PI) / 360);
      let far = 0;
      for (let i = 0; i < 8; i++) {
        const corner = new Vector3(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z).sub(middle);
        far = Math.max(far, corner.dot(toward) + (Math.abs(corner.dot(right)) + aside(0).length()) / (open * camera.aspect), corner.dot(toward) + Math.abs(corner.dot(above)) / open);
      }
      controls.target.copy(middle);
      camera.position.copy(middle).addScaledVector(toward, 1.04 * far);
      controls.update();
      moved = false;
      ask();
    };
    const paint = () => {
      paints.forEach(({ material, color }) => material.color.set(theme(color)));
      if (ground) ground.squares.material.uniforms.color.value.set(theme("--squares")).convertLinearToSRGB();
      if (ground) ground.shadow.material.opacity = matchMedia("(prefers-color-scheme: dark)").matches ? 0.45 : 0.2;
      ask();
    };
    const resize = () => {
      const { clientWidth: width, clientHeight: height } = canvas;
      if (!width || !height) return;
      renderer.setSize(width, height, false);
      camera.aspect = width / height;
      camera.updateProjectionMatrix();
      if (moved) ask(); else fit();
    };
    controls.addEventListener("start", () => { moved = true; });
    controls.addEventListener("change", ask);
    canvas.addEventListener("webglcontextlost", () => holder.classList.remove("alive"));
    canvas.addEventListener("webglcontextrestored", () => { holder.classList.add("alive"); ask(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    new ResizeObserver(resize).observe(canvas);
    paint();
    resize();
    const show = (group, visible) => {
      hidden[visible ? "delete" : "add"](group);
      for (const each of shown) {
        const own = [each.entry.group, each.entry.kind, each instanceof Arrow ? "arrows" : ""];
        scene[own.some((one) => hidden.has(one)) ? "remove" : "add"](each.group);
      }
      ask();
    };
    let resting = false;
    const rest = (on) => {  // a browser gives the cards of a notebook some 16 contexts together
      if (on !== resting) renderer[on ? "forceContextLoss" : "forceContextRestore"]();
      resting = on;
    };
    return { draw, show, bend, spread, reset: fit, rest, cell };
  };
})();
