/** Makes pictures of pages small: with a palette they take a third. Pages have few colours, and edges of letters are blended of them. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** What a palette holds at most, and the bits of each of red, green and blue that are kept to come down to as many. */
const MOST_COLOURS = 256;
const BITS_KEPT = [8, 6, 5, 4, 3] as const;

/**
 * Returns the picture with a palette; too many colours are rounded.
 * @param png 8 bits each of red, green, blue and, ignored, alpha, not interlaced, as browsers write it
 * @see https://www.w3.org/TR/png-3/ (chunks 11.2, filters 9.2)
 */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels, bytesPerPixel } = decode(png);
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at += 1) {
    const from = at * bytesPerPixel;
    colours[at] = ((pixels[from] ?? 0) << 16) | ((pixels[from + 1] ?? 0) << 8) | (pixels[from + 2] ?? 0);
  }
  for (const bits of BITS_KEPT) {
    const palette = paletteOf(colours, bits);
    if (palette.size <= MOST_COLOURS) return encode(width, height, colours, palette, bits);
  }
  return png;
}

function rounded(colour: number, bits: number): number {
  const mask = (0xff << (8 - bits)) & 0xff;
  return colour & ((mask << 16) | (mask << 8) | mask);
}

/** Returns each rounded colour with its index and its most frequent original colour, so that colours of areas remain exact. */
function paletteOf(colours: Uint32Array, bits: number): Map<number, { index: number; colour: number }> {
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = new Map<number, { index: number; colour: number }>();
  for (const [colour] of [...counts].sort(([, one], [, other]) => other - one)) {
    const key = rounded(colour, bits);
    if (!palette.has(key)) palette.set(key, { index: palette.size, colour });
  }
  return palette;
}

function encode(
  width: number,
  height: number,
  colours: Uint32Array,
  palette: Map<number, { index: number; colour: number }>,
  bits: number,
): Buffer {
  const rows = Buffer.alloc(height * (width + 1));
  for (let at = 0; at < colours.length; at += 1) {
    const row = Math.floor(at / width);
    rows[row * (width + 1) + 1 + (at % width)] = palette.get(rounded(colours[at] ?? 0, bits))?.index ?? 0;
  }
  const table = Buffer.alloc(palette.size * 3);
  for (const { index, colour } of palette.values()) table.writeUIntBE(colour, index * 3, 3);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const chunks = [chunk('IHDR', head), chunk('PLTE', table), chunk('IDAT', deflateSync(rows, { level: 9 }))];
  return Buffer.concat([SIGNATURE, ...chunks, chunk('IEND', Buffer.alloc(0))]);
}

function chunk(kind: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), content]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(content.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

function decode(png: Buffer): { width: number; height: number; pixels: Buffer; bytesPerPixel: number } {
  const parts: Buffer[] = [];
  let head = Buffer.alloc(13);
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    const kind = png.toString('latin1', at + 4, at + 8);
    const content = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    if (kind === 'IHDR') head = Buffer.from(content);
    if (kind === 'IDAT') parts.push(content);
  }
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const bytesPerPixel = { 2: 3, 6: 4 }[head[9] ?? 0];
  if (head[8] !== 8 || bytesPerPixel === undefined || head[12] !== 0) throw new Error('a picture of another kind');
  return { width, height, bytesPerPixel, pixels: unfiltered(inflateSync(Buffer.concat(parts)), width, bytesPerPixel) };
}

/** Each row starts with the type of its filter, which defines the reference of the row's differences. */
function unfiltered(data: Buffer, width: number, bytesPerPixel: number): Buffer {
  const length = width * bytesPerPixel;
  const height = data.length / (length + 1);
  const pixels = Buffer.alloc(height * length);
  for (let row = 0; row < height; row += 1) {
    const filter = data[row * (length + 1)] ?? 0;
    for (let column = 0; column < length; column += 1) {
      const at = row * length + column;
      const left = column < bytesPerPixel ? 0 : (pixels[at - bytesPerPixel] ?? 0);
      const above = row === 0 ? 0 : (pixels[at - length] ?? 0);
      const corner = row === 0 || column < bytesPerPixel ? 0 : (pixels[at - length - bytesPerPixel] ?? 0);
      pixels[at] = (data[row * (length + 1) + 1 + column] ?? 0) + predicted(filter, left, above, corner);
    }
  }
  return pixels;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  if (filter !== 4) return 0;
  const [toLeft, toAbove, toCorner] = [above - corner, left - corner, left + above - 2 * corner].map(Math.abs);
  if ((toLeft ?? 0) <= (toAbove ?? 0) && (toLeft ?? 0) <= (toCorner ?? 0)) return left;
  return (toAbove ?? 0) <= (toCorner ?? 0) ? above : corner;
}
