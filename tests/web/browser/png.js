// Makes a picture smaller: a palette of its most frequent colours instead of any colour.
"use strict";
const zlib = require("zlib");

const crcs = Int32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});
const chunk = (name, data) => {
  const body = Buffer.concat([Buffer.from(name), data]);
  const crc = body.reduce((crc, byte) => crcs[(crc ^ byte) & 255] ^ (crc >>> 8), -1) ^ -1;
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeInt32BE(crc, 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
};

// The pixels of a picture as Chromium writes it: 8 bits for each of 3 or 4 channels.
const pixels = (png) => {
  const data = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const [length, name] = [png.readUInt32BE(at), png.toString("latin1", at + 4, at + 8)];
    const content = png.subarray(at + 8, at + 8 + length);
    if (name === "IHDR") [width, height, channels] = [content.readUInt32BE(0), content.readUInt32BE(4), content[9] === 6 ? 4 : 3];
    if (name === "IDAT") data.push(content);
  }
  const raw = zlib.inflateSync(Buffer.concat(data));
  const line = width * channels;
  const out = Buffer.alloc(line * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (line + 1)];
    for (let x = 0; x < line; x++) {
      const left = x < channels ? 0 : out[y * line + x - channels];
      const up = y ? out[(y - 1) * line + x] : 0;
      const corner = y && x >= channels ? out[(y - 1) * line + x - channels] : 0;
      const [a, b, c] = [up - corner, left - corner, left + up - 2 * corner].map(Math.abs);
      const nearest = a <= b && a <= c ? left : b <= c ? up : corner;
      out[y * line + x] = raw[y * (line + 1) + 1 + x] + [0, left, up, (left + up) >> 1, nearest][filter];
    }
  }
  return { width, height, channels, out };
};

module.exports = (png) => {
  const { width, height, channels, out } = pixels(png);
  const counts = new Map();
  const colour = (at) => (out[at] << 16) | (out[at + 1] << 8) | out[at + 2];
  for (let at = 0; at < out.length; at += channels) counts.set(colour(at), (counts.get(colour(at)) || 0) + 1);
  const far = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
  // The most frequent ones that differ: half of the palette for what is frequent, half for what is far from it.
  const byCount = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const palette = [];
  for (const apart of [300, 120, 40, 0])
    for (const one of byCount) if (palette.length < 64 && palette.every((other) => far(one, other) > apart)) palette.push(one);
  const places = new Map(byCount.map((one) => [one, palette.reduce((best, other, n) => (far(one, other) < far(one, palette[best]) ? n : best), 0)]));
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = places.get(colour((y * width + x) * channels));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
  const parts = [chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", zlib.deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([png.subarray(0, 8), ...parts]);
};
