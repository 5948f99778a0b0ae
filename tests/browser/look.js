// What is wrong with how a page looks at present, in words; nothing is right.
() => {
  const wrong = [], root = document.documentElement;
  const tell = (element) => `<${element.tagName.toLowerCase()}${element.className && element.className.baseVal === undefined ? ` class="${element.className}"` : ""}> "${element.textContent.trim().slice(0, 40)}"`;
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.body.querySelectorAll("*")].filter((one) => {
      if (one.getBoundingClientRect().right <= innerWidth + 1) return false;
      for (let up = one.parentElement; up; up = up.parentElement) if (getComputedStyle(up).overflowX !== "visible") return false;
      return true;
    });
    wrong.push(`wider than its window by ${root.scrollWidth - innerWidth} px: ${wide.slice(0, 3).map(tell).join(", ")}`);
  }

  // Texts: their lines, their colours, and what is behind them.

  const colour = (text) => {
    const numbers = text.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
    if (text.startsWith("color(srgb")) return [...numbers.slice(0, 3).map((x) => 255 * x), numbers[3] ?? 1];
    return [...numbers.slice(0, 3), numbers[3] ?? 1];
  };
  const over = (above, below) => [0, 1, 2].map((i) => above[i] * above[3] + below[i] * (1 - above[3]));
  const behind = (element) => {
    const layers = [];
    for (let up = element; up; up = up.parentElement) {
      const own = colour(getComputedStyle(up).backgroundColor);
      if (own[3] > 0) layers.push(own);
      if (own[3] === 1) break;
    }
    return layers.reverse().reduce((below, above) => over(above, below), [255, 255, 255]);
  };
  const luminance = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const lines = [], pale = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, style, noscript, title, option, .labels, .katex-mathml, .visually-hidden, [aria-hidden=true]:not(.katex-html)")) continue;
    if (element.closest("details:not([open])") && !element.closest("summary")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
    if (!boxes.length) continue;
    const look = getComputedStyle(element), drawn = element.closest("svg");
    const ink = colour(drawn ? (look.fill === "none" ? look.color : look.fill) : look.color);
    const ground = behind(element), ratio = contrast(over(ink, ground), ground);
    const large = parseFloat(look.fontSize) >= 24 || (parseFloat(look.fontSize) >= 18.6 && Number(look.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) pale.set(`${look.color} on ${ground.map(Math.round)}, ${ratio.toFixed(2)}`, tell(element));
    if (element.closest("nav, .compared, .katex-html, .md-header, .md-nav, .md-sidebar, .md-tabs, .md-top")) continue;  // stand above what scrolls below them; a formula's parts are one text
    for (const box of boxes) lines.push({ element, box, drawn });
  }
  for (const [colours, where] of pale) wrong.push(`pale: ${colours}: ${where}`);

  // Nothing is printed over anything else.

  lines.sort((a, b) => a.box.top - b.box.top);
  const clashes = [];
  for (let i = 0; i < lines.length; i++) {
    const { element, box } = lines[i];
    for (let k = i + 1; k < lines.length && lines[k].box.top < box.bottom - 3; k++) {
      const other = lines[k];
      if (other.element === element) continue;
      const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const high = Math.min(box.bottom, other.box.bottom) - other.box.top;
      const slack = lines[i].drawn ? 0.35 * Math.min(box.height, other.box.height) : 3;
      if (wide > 2 && high > slack) clashes.push(`${tell(element)} over ${tell(other.element)}`);
    }
  }
  wrong.push(...clashes.slice(0, 6).map((each) => `overprinted: ${each}`));
  for (const formula of document.querySelectorAll(".katex-display")) {
    const number = formula.querySelector(".katex-tag");
    if (!number) continue;
    const place = number.getBoundingClientRect();
    for (const part of formula.querySelectorAll(".base")) {
      const box = part.getBoundingClientRect();
      if (box.right > place.left + 1 && box.left < place.right && box.bottom > place.top && box.top < place.bottom) {
        wrong.push(`the number ${number.textContent} is printed over its formula`);
        break;
      }
    }
  }
  return wrong;
}
