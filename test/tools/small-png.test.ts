import { deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withPalette } from '../../tools/small-png.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(kind: string, content: Buffer): Buffer {
  const framed = Buffer.alloc(content.length + 12);
  framed.writeUInt32BE(content.length, 0);
  framed.write(kind, 4, 'latin1');
  framed.set(content, 8);
  return framed;
}

/** Returns a picture with the given colours (red, green and blue, one byte each); `filters` repeat over the rows. */
function pictureOf(width: number, colours: readonly (readonly number[])[], filters: readonly number[]): Buffer {
  const height = colours.length / width;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const at = (row: number, column: number, part: number) =>
    row < 0 || column < 0 ? 0 : (colours[row * width + column]?.[part] ?? 0);
  const rows = Array.from({ length: height }, (_, row) => {
    const filter = filters[row % filters.length] ?? 0;
    const bytes = [filter];
    for (let column = 0; column < width; column += 1) {
      for (const part of [0, 1, 2]) {
        const [left, above] = [at(row, column - 1, part), at(row - 1, column, part)];
        const corner = at(row - 1, column - 1, part);
        const near = [left, above, corner].toSorted(
          (one, other) => Math.abs(left + above - corner - one) - Math.abs(left + above - corner - other),
        );
        const foretold = [0, left, above, (left + above) >> 1, near[0] ?? 0][filter] ?? 0;
        bytes.push((at(row, column, part) - foretold + 256) & 0xff);
      }
    }
    return Buffer.from(bytes);
  });
  const data = chunk('IDAT', deflateSync(Buffer.concat(rows)));
  return Buffer.concat([SIGNATURE, chunk('IHDR', head), data, chunk('IEND', Buffer.alloc(0))]);
}

/** The colours of a picture with a palette, one after the other. */
function coloursOf(png: Buffer, width: number): number[][] {
  const parts = new Map<string, Buffer>();
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    parts.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const rows = inflateSync(parts.get('IDAT') ?? Buffer.alloc(0));
  const palette = parts.get('PLTE') ?? Buffer.alloc(0);
  return [...rows].flatMap((index, at) =>
    at % (width + 1) === 0 ? [] : [[...palette.subarray(index * 3, index * 3 + 3)]],
  );
}

const colour = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255));

test('a picture of few colours is unchanged by a palette, for every filter', () => {
  const pictures = fc
    .tuple(
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(colour, { minLength: 1, maxLength: 9 }),
    )
    .chain(([width, height, few]) =>
      fc.record({
        width: fc.constant(width),
        colours: fc.array(fc.constantFrom(...few), { minLength: width * height, maxLength: width * height }),
        filters: fc.array(fc.constantFrom(0, 1, 2, 3, 4), { minLength: 1, maxLength: 6 }),
      }),
    );
  fc.assert(
    fc.property(pictures, ({ width, colours, filters }) => {
      expect(coloursOf(withPalette(pictureOf(width, colours, filters)), width)).toEqual(colours);
    }),
  );
});

test('with more colours than the palette, uniform areas are exact and other colours are close', () => {
  const area = [18, 34, 51];
  const many = Array.from({ length: 600 }, (_, index) => [index % 256, (index * 7) % 256, (index * 13) % 256]);
  const colours = [...many, ...Array.from({ length: 600 }, () => area)];
  const shown = coloursOf(withPalette(pictureOf(40, colours, [0, 1, 2, 3])), 40);
  expect(shown.slice(600)).toEqual(colours.slice(600));
  const apart = shown.map((one, at) =>
    Math.max(...one.map((part, index) => Math.abs(part - (colours[at]?.[index] ?? 0)))),
  );
  expect(Math.max(...apart)).toBeLessThan(64);
});
