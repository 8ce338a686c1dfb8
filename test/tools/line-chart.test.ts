import { expect, test } from 'vitest';
import { type Picture, renderPicture } from '../../tools/line-chart.ts';

const PICTURE: Picture = {
  title: 'Growth <of> a clinic',
  xTitle: 'appointments',
  scale: 'log',
  panels: [
    {
      title: 'Time (s)',
      lines: [
        {
          name: 'first',
          points: [
            [1_000, 1],
            [300_000, 100],
          ],
        },
        { name: 'quiet', points: [[1_000, 0.1]] },
      ],
    },
  ],
};

/** Returns the texts of a picture in their order. */
function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text = '']) => text);
}

/** Returns the points of the lines with a class. */
function pointsOf(svg: string, name: string): number[][] {
  const all = [...svg.matchAll(new RegExp(`<polyline class="${name}" points="([^"]*)"`, 'g'))];
  return all.map(([, points = '']) => points.split(/[ ,]/).map(Number));
}

test('a picture has its escaped title, the title of each axis, and names of lines', () => {
  const svg = renderPicture(PICTURE);
  expect(svg).toContain('<title>Growth &lt;of&gt; a clinic</title>');
  expect(textsOf(svg)).toEqual(expect.arrayContaining(['Time (s)', 'appointments', 'first', 'quiet']));
  expect(svg).toContain('prefers-color-scheme: dark');
});

test('a logarithmic axis has a tick for each power of ten', () => {
  expect(textsOf(renderPicture(PICTURE))).toEqual(expect.arrayContaining(['1,000', '10,000', '100,000']));
});

test('the line of proportional growth ends in the last point and stays inside the panel', () => {
  const svg = renderPicture(PICTURE);
  const [line = []] = pointsOf(svg, 'line s0');
  const [even = []] = pointsOf(svg, 'even');
  expect(even.slice(2)).toEqual(line.slice(2));
  expect(even[0]).toBeGreaterThanOrEqual(line[0] ?? Number.NaN);
  // Down is more: the dashed line begins below a line that grows more slowly.
  expect(even[1]).toBeGreaterThan(line[1] ?? Number.NaN);
});

test('a linear axis begins at zero, has few ticks, and no line of proportional growth', () => {
  const points = Array.from({ length: 100 }, (_, index) => [index, 300 + index] as const);
  const svg = renderPicture({ ...PICTURE, scale: 'linear', panels: [{ title: 'MB', lines: [{ name: 'a', points }] }] });
  expect(textsOf(svg).filter((text) => /^\d+$/.test(text))).toEqual(
    expect.arrayContaining(['0', '100', '200', '300', '400']),
  );
  expect(textsOf(svg).length).toBeLessThan(16);
  expect(pointsOf(svg, 'even')).toEqual([]);
  expect(svg).not.toContain('<circle');
});
