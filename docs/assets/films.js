// A button stops the films of a page; readers who prefer less motion find them stopped.
// A stopped film is hidden behind a drawing of its first picture.
for (const films of document.querySelectorAll(".films")) {
  const button = document.createElement("button");
  const images = [...films.querySelectorAll("img")];
  const what = images.length > 1 ? "the films" : "the film";
  const stills = new Map();
  let stopped = matchMedia("(prefers-reduced-motion: reduce)").matches;

  function show(image) {
    if (stopped && image.complete && image.naturalWidth && !stills.has(image)) {
      const still = document.createElement("canvas");
      still.width = image.naturalWidth;
      still.height = image.naturalHeight;
      still.getContext("2d").drawImage(image, 0, 0);
      still.setAttribute("aria-hidden", "true");
      image.before(still);
      stills.set(image, still);
    } else if (!stopped && stills.has(image)) {
      stills.get(image).remove();
      stills.delete(image);
    }
    image.style.opacity = stills.has(image) ? "0" : "";
  }

  function showAll() {
    button.textContent = stopped ? `Play ${what}` : `Stop ${what}`;
    images.forEach(show);
  }

  button.type = "button";
  button.addEventListener("click", () => { stopped = !stopped; showAll(); });
  for (const image of images) image.addEventListener("load", () => show(image));
  (films.querySelector(".buttons p") ?? films).append(button);
  showAll();
}
