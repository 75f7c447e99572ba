// The encoding of a grid, in float64: what keras_posenc.sinusoidal_table computes.
// tests/site compares the two. Names are those of the package (_sinusoidal.py).
"use strict";

const encoding = (() => {
  const DEFAULTS = {
    max_wavelength: 10000,
    endpoint: false,
    frequencies: null,
    layout: "interleaved",
    cos_first: false,
    axis_order: null,
    split: null,
    remainder: "truncate",
    offset: 0,
    scale: 1,
    coordinate_range: null,
    align_corners: false,
    eps: 0,
  };
  const LAYOUTS = {
    interleaved: "axis freq phase",
    concatenated: "axis phase freq",
  };

  const perAxis = (value, axis) => (Array.isArray(value) ? value[axis] : value);

  // The options that `name` leaves without a meaning, where it is given beside a preset.
  function replacedBy(name, value) {
    if (name === "frequencies" && value !== null) return ["max_wavelength", "endpoint"];
    if (name === "max_wavelength" || name === "endpoint") return ["frequencies"];
    if (name === "coordinate_range" && value === null) return ["align_corners", "eps"];
    return [];
  }

  // The options of a preset with those that win over them.
  function merged(preset, given) {
    const options = { ...preset };
    for (const [name, value] of Object.entries(given)) {
      for (const replaced of replacedBy(name, value)) delete options[replaced];
    }
    return { ...options, ...given };
  }

  function presetOptions(name, rank, channels) {
    const byChannels = window.explorer.presets[name].ranks[rank];
    const options = byChannels && (byChannels.any ?? byChannels[channels]);
    if (!options) {
      throw new Error(`The preset ${name} has no encoding for ${channels} channels.`);
    }
    return options;
  }

  // Frequencies along each axis, each of them a sine and a cosine.
  function bandsOf(options, rank, channels) {
    if (options.split) return options.split.map((part) => Math.floor(part / 2));
    const round = options.remainder === "truncate" ? Math.ceil : Math.floor;
    return Array(rank).fill(round(channels / (2 * rank)));
  }

  function requireChannels(options, rank, channels, bands) {
    const sum = (options.split ?? [channels]).reduce((a, b) => a + b);
    if (sum !== channels) {
      throw new Error(`split must add up to ${channels} channels, not ${sum}.`);
    }
    if (options.remainder === "error" && !options.split && channels % (2 * rank)) {
      throw new Error(`channels must be divisible by ${2 * rank}: remainder="error".`);
    }
    bands.forEach((count, axis) => {
      const given = frequenciesAlong(options, axis);
      if (given && given.length !== count) {
        throw new Error(`frequencies must hold ${count} numbers for axis ${axis}.`);
      }
    });
  }

  function frequenciesAlong(options, axis) {
    const given = options.frequencies;
    return given && Array.isArray(given[axis]) ? given[axis] : given;
  }

  function frequency(options, axis, band, bands) {
    const given = frequenciesAlong(options, axis);
    if (given) return given[band];
    const steps = options.endpoint ? Math.max(bands[axis] - 1, 1) : bands[axis];
    return perAxis(options.max_wavelength, axis) ** -(band / steps);
  }

  // One wave per channel: its axis, its frequency, and whether it is a cosine.
  function waves(rank, channels, options) {
    options = { ...DEFAULTS, ...options };
    const bands = bandsOf(options, rank, channels);
    requireChannels(options, rank, channels, bands);
    const order = options.axis_order ?? [...bands.keys()];
    const all = [];
    bands.forEach((count, axis) => {
      for (let band = 0; band < count; band += 1) {
        for (const phase of [0, 1]) {
          all.push({
            key: { axis: order.indexOf(axis), freq: band, phase },
            axis,
            frequency: frequency(options, axis, band, bands),
            cosine: Boolean(phase) !== options.cos_first,
          });
        }
      }
    });
    // A layout is a sort key, slowest first.
    const words = (LAYOUTS[options.layout] ?? options.layout).split(" ");
    const difference = (a, b, word) => a.key[word] - b.key[word];
    all.sort((a, b) => words.reduce((found, w) => found || difference(a, b, w), 0));
    const zeros = { axis: 0, frequency: 0, cosine: false };
    return Array.from({ length: channels }, (_, channel) => all[channel] ?? zeros);
  }

  // The coordinates of the positions along an axis of `size` positions.
  function coordinates(options, axis, size) {
    options = { ...DEFAULTS, ...options };
    const scale = perAxis(options.scale, axis);
    const offset = perAxis(options.offset, axis);
    const positions = Array.from({ length: size }, (_, position) => position);
    if (!options.coordinate_range) return positions.map((i) => scale * (i + offset));
    const [low, high] = options.coordinate_range;
    const parts = options.align_corners ? size - 1 : size + options.eps;
    const step = parts > 0 ? (high - low) / parts : 0;
    return positions.map((i) => scale * (low + step * (i + offset)));
  }

  // The table of a grid of one or two axes, row by row, channels last.
  function table(shape, channels, options) {
    const along = shape.map((size, axis) => coordinates(options, axis, size));
    const columns = shape[1] ?? 1;
    const count = shape[0] * columns;
    const values = new Float64Array(count * channels);
    waves(shape.length, channels, options).forEach((wave, channel) => {
      const sine = wave.cosine ? Math.cos : Math.sin;
      const onAxis = along[wave.axis].map((x) => sine(wave.frequency * x));
      for (let place = 0; place < count; place += 1) {
        const row = Math.floor(place / columns);
        const position = wave.axis === 0 ? row : place - row * columns;
        values[place * channels + channel] = onAxis[position];
      }
    });
    return values;
  }

  return { DEFAULTS, merged, presetOptions, waves, coordinates, table };
})();

// sinusoidal_table(shape, channels, preset=..., **options), as a flat array.
window.table = ({ shape, channels, preset = null, ...given }) => {
  const from = preset ? encoding.presetOptions(preset, shape.length, channels) : {};
  return Array.from(encoding.table(shape, channels, encoding.merged(from, given)));
};
