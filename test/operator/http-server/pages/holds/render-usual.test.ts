import { describe, expect, test } from 'vitest';
import type { UsualChanges } from '../../../../../src/features/holds/usual.ts';
import { renderUsual } from '../../../../../src/operator/http-server/pages/holds/render-usual.ts';
import { pageContext, wordsOf } from '../page-context.ts';

/** Thirty days up to 30 June, of which the first are not known. */
function usualOf(counts: readonly number[], range: UsualChanges['range']): UsualChanges {
  const unknown = 30 - counts.length;
  const days = Array.from({ length: 30 }, (_, at) => ({
    date: `2026-06-${String(at + 1).padStart(2, '0')}`,
    count: counts[at - unknown] ?? null,
  }));
  return { days, range };
}

const shown = (usual: UsualChanges, held: number, language: 'en' | 'it' = 'en') =>
  String(renderUsual(pageContext({ language }), usual, held));
/** Classes and heights of the bars, from left to right. */
const barsOf = (page: string) =>
  [...page.matchAll(/<rect class="([\w-]+)" x="\d+" y="\d+" width="\d+" height="(\d+)"/g)].map(([, kind, height]) => [
    kind,
    Number(height),
  ]);

describe('the histogram', () => {
  test('draws each known day and the hold by one scale, and a day without changes as a line', () => {
    const page = shown(usualOf([...Array.from({ length: 28 }, () => 0), 10, 1], { least: 0, most: 0, days: 30 }), 40);
    const bars = barsOf(page);
    expect(bars).toHaveLength(31);
    expect(bars.slice(0, 28)).toEqual(Array.from({ length: 28 }, () => ['usual-day', 1]));
    expect(bars.slice(28)).toEqual([
      ['usual-day', 25],
      ['usual-day', 3],
      ['this-hold', 100],
    ]);
    expect(page).toContain('<span class="top">40</span>');
    expect(wordsOf(page)).toContain('Usual: 0 a day, on at least nine of ten days. Most: 10 on 29 Jun.');
  });

  test('shades the days that are not known, and says from when on they are', () => {
    const page = shown(usualOf([0, 3, 1], { least: 0, most: 3, days: 3 }), 12);
    expect(barsOf(page).map(([kind]) => kind)).toEqual([
      ...Array.from({ length: 27 }, () => 'unknown-day'),
      ...['usual-day', 'usual-day', 'usual-day', 'this-hold'],
    ]);
    expect(wordsOf(page)).toContain('Usual: 0 to 3 a day (3 known days). Known since 28 Jun.');
    expect(
      shown(
        usualOf(
          Array.from({ length: 30 }, () => 1),
          { least: 1, most: 1, days: 30 },
        ),
        12,
      ),
    ).not.toContain('Known since');
  });

  test('says that no day is known', () => {
    const page = shown(usualOf([], null), 12);
    expect(wordsOf(page)).toContain('No day is known yet.');
    expect(barsOf(page).at(-1)).toEqual(['this-hold', 100]);
  });

  test('fits a day above the hold', () => {
    expect(barsOf(shown(usualOf([50], { least: 50, most: 50, days: 1 }), 10)).slice(-2)).toEqual([
      ['usual-day', 100],
      ['this-hold', 20],
    ]);
  });

  test('has a label and a table with the same numbers, in both languages', () => {
    const usual = usualOf([2, 0], { least: 0, most: 2, days: 2 });
    const page = shown(usual, 12);
    expect(page).toContain('role="img" aria-label="This hold: 12. Usual: 0 to 2 a day (2 known days)."');
    const rows = [...page.matchAll(/<tr role="row" id="row-usual-2026-06-(\d+)">.*?<\/tr>/g)].map(([row]) =>
      wordsOf(row),
    );
    expect(rows).toHaveLength(30);
    expect(rows.slice(0, 3)).toEqual(['30 Jun 0', '29 Jun 2', '28 Jun not known']);
    expect(wordsOf(shown(usual, 12, 'it'))).toContain(
      'Di solito: da 0 a 2 al giorno (2 giorni noti). Noto dal 29 giu.',
    );
  });
});
