// The page that explores encodings: controls, two pictures, and a mark in them.
// The numbers come from encoding.js; nothing is fetched.
"use strict";

(() => {
  const { channels: CHANNELS, presets: PRESETS } = window.explorer;
  const PI = Math.PI;
  // A step of a slider is an index into these.
  const STEPS = {
    channels: CHANNELS,
    max_wavelength: [0, 1, 2, 3, 4].flatMap((e) => [1, 2, 5].map((n) => n * 10 ** e)),
    offset: [-2, -1, -0.5, 0, 0.5, 1, 2, 4, 8],
    scale: [0.01, 0.1, 0.25, 0.5, 1, 2, PI, 5, 10, 100, 1000],
  };
  const CHOICES = {
    layout: [
      ["interleaved", "interleaved"],
      ["concatenated", "concatenated"],
      ...["freq axis phase", "freq phase axis", "phase axis freq", "phase freq axis"].map(
        (words) => [words, words],
      ),
    ],
    remainder: ["truncate", "pad", "error"].map((word) => [word, word]),
    coordinate_range: [
      [null, "none"],
      [[0, 1], "0 to 1"],
      [[-1, 1], "-1 to 1"],
      [[0, 2 * PI], "0 to 2 pi"],
    ],
  };
  const TICKS = ["endpoint", "cos_first", "align_corners"];
  const LARGEST = { 1: 128, 2: 32 };
  const STARTS = {
    rank: 1,
    sizes: { 1: [64], 2: [16, 16] }, // of each rank, which keeps its own
    channels: 64,
    preset: "",
    given: {},
    leftOut: [],
  };

  const element = (id) => document.getElementById(id);
  const form = element("explorer");
  // `given` are the options that were moved; the others are those of the preset.
  // `leftOut` is what the last change of axes could not keep.
  let state;
  let cursor;
  let shown; // null where there is no such encoding

  const copy = (value) => JSON.parse(JSON.stringify(value));
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const clamp = (value, most) => Math.min(Math.max(value, 0), most - 1);
  const shape = () => state.sizes[state.rank];
  const defaultsOf = () =>
    state.preset ? encoding.presetOptions(state.preset, state.rank, state.channels) : {};
  const options = () => ({
    ...encoding.DEFAULTS,
    ...encoding.merged(defaultsOf(), state.given),
  });
  // Corners are those of a range: the package refuses them without, and beside `eps`.
  const hasCorners = (found) => Boolean(found.coordinate_range) && !(found.eps > 0);

  // --- Controls ----------------------------------------------------------------------

  function fillSelect(id, pairs, chosen) {
    const select = element(id);
    const made = pairs.map(([value, text]) => new Option(text, JSON.stringify(value)));
    select.replaceChildren(...made);
    select.value = JSON.stringify(chosen);
  }

  function showSlider(name, value) {
    const steps = STEPS[name];
    const slider = element(name);
    slider.max = steps.length - 1;
    // What a preset has between the steps keeps its value until the slider moves.
    const distance = (step) => Math.abs(step - value);
    const nearest = steps.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    slider.value = steps.indexOf(nearest);
    showText(name, numberInWords(value));
  }

  function numberInWords(value) {
    const digits = Math.abs(value) < 1 ? 3 : 6;
    return String(Number(value.toPrecision(digits)));
  }

  function showText(id, text) {
    element(`${id}-text`).value = text;
    element(id).setAttribute("aria-valuetext", text);
  }

  function showPresets() {
    const usable = Object.keys(PRESETS).filter((name) => state.rank in PRESETS[name].ranks);
    const pairs = [["", "none: the defaults"], ...usable.map((name) => [name, name])];
    fillSelect("preset", pairs, state.preset);
    const sentence = state.preset ? PRESETS[state.preset].sentence : "";
    element("sentence").textContent = sentence.replaceAll("`", "");
  }

  function showShape() {
    element("rank").value = state.rank;
    element("size0").max = LARGEST[state.rank];
    shape().forEach((size, axis) => {
      element(`size${axis}`).value = size;
      showText(`size${axis}`, String(size));
    });
    for (const id of ["size1", "axis_order"]) {
      element(id).closest("label").hidden = state.rank === 1;
    }
    showSlider("channels", state.channels);
    const axes = state.rank === 1 ? "one axis" : "two axes";
    const names = state.leftOut.join(", ");
    element("left-out").textContent = names && `Left out for ${axes}: ${names}.`;
  }

  function showOptions(found) {
    for (const name of ["max_wavelength", "offset", "scale"]) {
      showSlider(name, found[name]);
    }
    if (found.frequencies) showText("max_wavelength", "none: frequencies are given");
    for (const [name, pairs] of Object.entries(CHOICES)) {
      const own = pairs.some(([value]) => same(value, found[name]));
      const text = String(found[name]).replace(",", " to ");
      fillSelect(name, own ? pairs : [...pairs, [found[name], text]], found[name]);
    }
    for (const name of TICKS) element(name).checked = found[name];
    element("axis_order").checked = same(found.axis_order, [1, 0]);
    element("align_corners").disabled = !hasCorners(found);
  }

  function valueOf(control) {
    if (control.id in STEPS) return STEPS[control.id][control.value];
    if (control.id === "axis_order") return control.checked ? [1, 0] : null;
    return control.type === "checkbox" ? control.checked : JSON.parse(control.value);
  }

  function onInput(event) {
    const { id } = event.target;
    state.leftOut = [];
    if (id === "rank") setRank(Number(event.target.value));
    else if (id.startsWith("size")) shape()[id.at(-1)] = Number(event.target.value);
    else if (id === "channels") state.channels = valueOf(event.target);
    else if (id === "preset") Object.assign(state, { preset: valueOf(event.target), given: {} });
    else setOption(id, valueOf(event.target));
    render();
  }

  function setRank(rank) {
    state.rank = rank;
    if (state.preset && !(rank in PRESETS[state.preset].ranks)) {
      state.leftOut.push(`preset ${state.preset}`);
      state.preset = "";
    }
    if (rank === 1) leaveOut("axis_order");
    if (!hasCorners(options())) leaveOut("align_corners");
    // What is so by default without the preset need not be said any more.
    for (const [name, value] of Object.entries(state.given)) setOption(name, value);
    cursor = { place: 0, channel: 0 };
  }

  function leaveOut(name) {
    if (!(name in state.given)) return;
    state.leftOut.push(name);
    delete state.given[name];
  }

  function setOption(name, value) {
    const given = encoding.merged(state.given, { [name]: value });
    const without = { ...given };
    delete without[name];
    // What is so without being said need not be said.
    const unsaid = { ...encoding.DEFAULTS, ...encoding.merged(defaultsOf(), without) };
    state.given = same(unsaid[name], value) && !unsaid.frequencies ? without : given;
  }

  // --- The same in Python ------------------------------------------------------------

  function python(value) {
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    return JSON.stringify(value).replaceAll(",", ", ");
  }

  function inPython(named) {
    return Object.entries(named).map(([name, value]) => `${name}=${python(value)}`);
  }

  function layerInPython(name) {
    const { channels, preset, given } = state;
    const made = preset ? `${name}.from_preset` : name;
    const first = preset ? [python(preset), channels] : [channels];
    return `${made}(${[...first, ...inPython(given)].join(", ")})`;
  }

  function tableInPython() {
    const { rank, channels, preset, given } = state;
    const size = rank === 1 ? shape()[0] : `(${shape().join(", ")})`;
    const named = inPython({ ...(preset && { preset }), ...given });
    return `sinusoidal_table(${[size, channels, ...named].join(", ")})`;
  }

  function code() {
    const layer = `PositionalEncoding${state.rank}D`;
    return [
      `from keras_posenc import ${layer}, sinusoidal_table`,
      "",
      `layer = ${layerInPython(layer)}`,
      `table = ${tableInPython()}`,
    ].join("\n");
  }

  function showCode(refused) {
    element("code").textContent = refused
      ? `# This raises a ValueError.\n${code()}`
      : `${code()}  # the same numbers`;
  }

  // --- Colours -----------------------------------------------------------------------

  const DIVERGING = {
    light: [[33, 82, 186], [247, 247, 247], [190, 30, 45]],
    dark: [[96, 150, 255], [28, 30, 34], [255, 110, 100]],
  };
  const SEQUENTIAL = [[40, 20, 90], [30, 110, 140], [70, 180, 110], [250, 230, 60]];

  function isDark() {
    const probe = getComputedStyle(document.body).backgroundColor;
    const [red, green, blue] = probe.match(/[\d.]+/g).map(Number);
    return red + green + blue < 3 * 128;
  }

  // A colour between stops that are equally far apart, for a share from 0 to 1.
  function colourAt(stops, share) {
    const scaled = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const first = Math.min(Math.floor(scaled), stops.length - 2);
    const mix = (channel, other) => channel + (scaled - first) * (other - channel);
    return stops[first].map((channel, i) => mix(channel, stops[first + 1][i]));
  }

  function showScale(kind, stops) {
    const colours = stops.map((stop) => `rgb(${stop})`).join(", ");
    const bar = document.querySelector(`.${kind} i`);
    bar.style.background = `linear-gradient(to right, ${colours})`;
  }

  // --- Pictures: one dot per number, which the page scales up -------------------------

  // Where the numbers of a picture are: `at` from a dot to [place, channel] or null,
  // `of` the other way.
  function heatMap() {
    const [size] = shape();
    return {
      width: size,
      height: state.channels,
      at: (x, y) => [x, y],
      of: (place, channel) => [place, channel],
    };
  }

  function tiles() {
    const [rows, columns] = shape();
    const across = state.channels > 64 ? 16 : Math.min(state.channels, 8);
    const [wide, high] = [columns + 1, rows + 1];
    return {
      width: across * wide - 1,
      height: Math.ceil(state.channels / across) * high - 1,
      at(x, y) {
        const channel = Math.floor(y / high) * across + Math.floor(x / wide);
        if (x % wide === columns || y % high === rows) return null;
        if (channel >= state.channels) return null;
        return [(y % high) * columns + (x % wide), channel];
      },
      of: (place, channel) => [
        (channel % across) * wide + (place % columns),
        Math.floor(channel / across) * high + Math.floor(place / columns),
      ],
    };
  }

  // All pairs of positions of a sequence; the row is that of the mark.
  function pairs() {
    const [size] = shape();
    return {
      width: size,
      height: size,
      at: (x, y) => [y, x],
      of: (place) => [place, place],
    };
  }

  // Every place of a grid, beside that of the mark.
  function grid() {
    const [rows, columns] = shape();
    return {
      width: columns,
      height: rows,
      at: (x, y) => [cursor.place, y * columns + x],
      of: (place) => [place % columns, Math.floor(place / columns)],
    };
  }

  function dotProduct(place, other) {
    const { values } = shown;
    let sum = 0;
    for (let channel = 0; channel < state.channels; channel += 1) {
      sum += values[place * state.channels + channel] * values[other * state.channels + channel];
    }
    return sum;
  }

  function paint(id, view, colour) {
    const canvas = element(id);
    Object.assign(canvas, { width: view.width, height: view.height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(view.width, view.height);
    for (let y = 0; y < view.height; y += 1) {
      for (let x = 0; x < view.width; x += 1) {
        const found = view.at(x, y);
        if (found) image.data.set([...colour(...found), 255], 4 * (y * view.width + x));
      }
    }
    context.putImageData(image, 0, 0);
    mark(context, view.of(cursor.place, cursor.channel));
    // Neither a strip nor a tower, whatever the numbers.
    const height = Math.min(Math.max(view.height, view.width / 2), view.width);
    canvas.style.aspectRatio = `${view.width} / ${height}`;
  }

  function mark(context, [x, y]) {
    context.fillStyle = "#ff2bd6"; // in neither map of colours
    // One dot of many would not be seen.
    const size = 1 + 2 * Math.floor(context.canvas.width / 60);
    context.fillRect(x - (size - 1) / 2, y - (size - 1) / 2, size, size);
  }

  function paintTable() {
    const stops = DIVERGING[isDark() ? "dark" : "light"];
    const number = (place, channel) => shown.values[place * state.channels + channel];
    paint("table", shown.table, (place, channel) =>
      colourAt(stops, (number(place, channel) + 1) / 2),
    );
    showScale("signed", stops);
  }

  function paintSimilarity() {
    const products = new Map();
    const { width, height, at } = shown.similarity;
    let [low, high] = [Infinity, -Infinity];
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const [place, other] = at(x, y);
        const product = dotProduct(place, other);
        products.set(`${place} ${other}`, product);
        [low, high] = [Math.min(low, product), Math.max(high, product)];
      }
    }
    const share = (product) => (product - low) / (high - low || 1);
    paint("similarity", shown.similarity, (place, other) =>
      colourAt(SEQUENTIAL, share(products.get(`${place} ${other}`))),
    );
    showScale("sequential", SEQUENTIAL);
    element("lowest").textContent = low.toFixed(1);
    element("highest").textContent = high.toFixed(1);
  }

  // --- Words -------------------------------------------------------------------------

  function placeInWords(place) {
    if (state.rank === 1) return String(place);
    const columns = shape()[1];
    return `(${Math.floor(place / columns)}, ${place % columns})`;
  }

  function waveInWords({ axis, frequency, cosine }) {
    if (!frequency && !cosine) return "zeros";
    const kind = cosine ? "cosine" : "sine";
    const line = encoding.coordinates(options(), axis, shape()[axis]);
    const turn = (2 * PI) / Math.abs(frequency * (line[1] - line[0]));
    const along = state.rank === 1 ? "" : ` along axis ${axis}`;
    return `a ${kind}${along}, ${turn.toPrecision(3)} positions long`;
  }

  function showWords() {
    const { place, channel } = cursor;
    const number = shown.values[place * state.channels + channel];
    element("readout").value =
      `Position ${placeInWords(place)}, channel ${channel}: ${number.toFixed(4)}. ` +
      `The channel is ${waveInWords(shown.waves[channel])}.`;
    const [table, similarity] =
      state.rank === 1
        ? ["Encoding: positions from left to right, channels downwards", "all pairs"]
        : ["Encoding: a map for each channel", `to position ${placeInWords(place)}`];
    element("table-caption").textContent = table;
    element("similarity-caption").textContent = `Similarity (dot product), ${similarity}`;
  }

  // --- The mark ----------------------------------------------------------------------

  function moveTo(place, channel) {
    const count = shown.values.length / state.channels;
    cursor = { place: clamp(place, count), channel: clamp(channel, state.channels) };
    draw();
  }

  function onPoint(event) {
    const { id, width, height } = event.target;
    const box = event.target.getBoundingClientRect();
    const x = clamp(Math.floor(((event.clientX - box.left) / box.width) * width), width);
    const y = clamp(Math.floor(((event.clientY - box.top) / box.height) * height), height);
    if (id === "similarity") {
      const [row, column] = shown.similarity.at(x, y);
      moveTo(state.rank === 1 ? row : column, cursor.channel);
      return;
    }
    const found = shown.table.at(x, y);
    if (found) moveTo(...found);
  }

  function onKey(event) {
    const columns = state.rank === 1 ? 0 : shape()[1];
    const down = columns ? [columns, 0] : [0, 1];
    const steps = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: down.map((step) => -step),
      ArrowDown: down,
      PageUp: [0, -1],
      PageDown: [0, 1],
      // As far as there are positions.
      Home: [-Infinity, 0],
      End: [Infinity, 0],
    };
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    moveTo(cursor.place + step[0], cursor.channel + step[1]);
  }

  // --- All of it ---------------------------------------------------------------------

  function draw() {
    paintTable();
    paintSimilarity();
    showWords();
  }

  function compute() {
    const found = options();
    showOptions(found); // first: they are to be seen where they are refused, too
    shown = null;
    shown = {
      values: encoding.table(shape(), state.channels, found),
      waves: encoding.waves(state.rank, state.channels, found),
      table: state.rank === 1 ? heatMap() : tiles(),
      similarity: state.rank === 1 ? pairs() : grid(),
    };
  }

  // Shows why there is no such encoding, as the package would say, in place of the
  // last one, which keeps its room: the controls stay where they are.
  function showRefusal(message) {
    element("refusal").textContent = message;
    element("refusal").hidden = !message;
    element("drawn").classList.toggle("refused", Boolean(message));
    showCode(Boolean(message));
  }

  function render() {
    showPresets();
    showShape();
    try {
      compute();
    } catch (error) {
      showRefusal(error.message);
      return;
    }
    showRefusal("");
    moveTo(cursor.place, cursor.channel);
  }

  function start() {
    state = copy(STARTS);
    cursor = { place: 0, channel: 0 };
    render();
  }

  form.addEventListener("input", onInput);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    start();
  });
  for (const id of ["table", "similarity"]) {
    element(id).addEventListener("pointerdown", onPoint);
    element(id).addEventListener("keydown", onKey);
  }
  const redraw = () => shown && draw();
  // For tests: the numbers of the pictures.
  window.explorer.values = () => shown && Array.from(shown.values);
  new MutationObserver(redraw).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  start();
})();
