import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../src/core/model/schemas.ts';
import { SYNC_HEALTH_WORDS } from '../../../src/core/model/sync-state.ts';
import {
  firstRows,
  inZone,
  outputOptionsOf,
  printed,
  printer,
  stateWord,
  withOutputOptions,
  zoneOf,
} from '../../../src/operator/cli/output.ts';
import { renderTable, renderTime, wrap } from '../../../src/operator/cli/table.ts';

const AT = Date.UTC(2026, 6, 1, 12, 30);
const WIDE = [['x'.repeat(300), 'in-sync']];
const COLUMNS = ['target', { heading: 'state', isState: true }];

function terminal(columns: number, colours = true) {
  return outputOptionsOf({ isTTY: true, columns, hasColors: () => colours });
}

describe('a table', () => {
  test('is no wider than its terminal', () => {
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 250 }), (columns) => {
        const lines = withOutputOptions(terminal(columns, false), () => renderTable(COLUMNS, WIDE)).split('\n');
        expect(Math.max(...lines.map((line) => line.length))).toBe(columns);
      }),
    );
  });

  test('is not cut in a pipe, and neither is a long URL in a sentence', () => {
    const pipe = outputOptionsOf({ isTTY: false, columns: 80, hasColors: () => true });
    expect(withOutputOptions(pipe, () => renderTable(COLUMNS, WIDE))).toContain('x'.repeat(300));
    expect(withOutputOptions(pipe, () => wrap(`see ${'y'.repeat(300)}`))).toContain('y'.repeat(300));
  });

  test('has coloured states only in a terminal, with the same layout', () => {
    const plain = withOutputOptions(terminal(80, false), () =>
      renderTable(COLUMNS, [
        ['a', 'in sync'],
        ['b', 'failed'],
      ]),
    );
    const coloured = withOutputOptions(terminal(80), () =>
      renderTable(COLUMNS, [
        ['a', 'in sync'],
        ['b', 'failed'],
      ]),
    );
    expect(coloured).toContain('\u001B[32min sync');
    expect(coloured).toContain('\u001B[31mfailed');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what colours are made of
    expect(coloured.replaceAll(/\u001B\[\d+m/g, '')).toBe(plain);
    expect(plain).not.toContain('\u001B');
  });
});

test('each state of sync and health has a colour: green for ok, yellow for waiting, red for action', () => {
  const colours = {
    'in sync': 32,
    ok: 32,
    behind: 33,
    'on hold': 33,
    unknown: 33,
    retrying: 33,
    'action required': 31,
  };
  expect(Object.keys(colours).sort()).toEqual(Object.values(SYNC_HEALTH_WORDS.en).sort());
  for (const [word, colour] of Object.entries(colours)) {
    expect(withOutputOptions(terminal(80), () => stateWord(word))).toContain(`\u001B[${colour}m${word}`);
  }
});

test('words that are no state keep their colour', () => {
  expect(withOutputOptions(terminal(80), () => stateWord('doctor-1'))).toBe('doctor-1');
});

describe('times', () => {
  test('are shown in the zone, and the zone is shown once below', () => {
    const text = inZone('Europe/Rome', () => `${renderTime(AT)} and ${renderTime(AT)}`);
    expect(text).toBe('2026-07-01 14:30:00 and 2026-07-01 14:30:00\n\nTimes: Europe/Rome (--utc: UTC)');
  });

  test('are UTC if no zone is known, and the zone is not shown without a time', () => {
    expect(inZone(null, () => renderTime(AT))).toBe('2026-07-01 12:30:00Z');
    expect(inZone('Europe/Rome', () => 'No holds exist.')).toBe('No holds exist.');
  });

  test('of one clinic are in its zone; of several clinics in the zone of all of these clinics', () => {
    const rome = { name: '', zone: 'Europe/Rome', formerly: null, hasReminders: false, triggersEveryMinutes: null };
    const outlines = new Map([
      ['a', rome],
      ['b', rome],
    ]);
    expect([zoneOf({ outlines }), zoneOf({ outlines }, 'a'), zoneOf({ outlines }, 'none')]).toEqual([
      'Europe/Rome',
      'Europe/Rome',
      null,
    ]);
    const both = new Map([...outlines, ['c', { ...rome, zone: 'Atlantic/Azores' }]]);
    expect([zoneOf({ outlines: both }), zoneOf({ outlines: both }, 'c')]).toEqual([null, 'Atlantic/Azores']);
  });
});

describe('printed text', () => {
  test('shows what would control the terminal or disguise the text as escapes, which JSON reads unchanged', () => {
    const name = 'Anna\u009b31m\u009d0;x\u202e\u200b\u001b]0;x\u0007';
    const json = JSON.stringify({ name });
    expect(printed(json)).not.toMatch(/[^\P{Cc}\t\n]|[\u200b\u202e]/u);
    expect(JSON.parse(printed(json))).toEqual({ name });
  });

  test('keeps the colours of states', () => {
    expect(printed('\u001b[32mok\u001b[39m\u001b[2J')).toBe('\u001b[32mok\u001b[39m\\u001b[2J');
  });
});

describe('JSON', () => {
  test('has instants in UTC as RFC 3339, and other numbers unchanged', () => {
    const value = { at: AT, inSyncAsOf: AT, sinceAt: null, links: 12, pinnedUntil: AT, format: 2 };
    expect(JSON.parse(toJson(value))).toEqual({
      at: '2026-07-01T12:30:00.000Z',
      inSyncAsOf: '2026-07-01T12:30:00.000Z',
      sinceAt: null,
      links: 12,
      pinnedUntil: '2026-07-01T12:30:00.000Z',
      format: 2,
    });
  });
});

describe('a long list', () => {
  const rows = Array.from({ length: 30 }, (_, index) => `row ${index}`);
  const print = (asked: object) => {
    let printed = '';
    printer(
      (text) => {
        printed = text;
      },
      () => true,
    )(asked, rows, () => {
      const { shown, more } = firstRows(rows, 25);
      return [...shown, ...more].join('\n');
    });
    return printed.split('\n');
  };

  test('is shown up to the default limit, up to the requested limit, or completely', () => {
    expect(print({})).toHaveLength(26);
    expect(print({}).at(-1)).toBe('… and 5 more (--all)');
    expect(print({ limit: 3 })).toEqual(['row 0', 'row 1', 'row 2', '… and 27 more (--all)']);
    expect(print({ all: true })).toEqual(rows);
    expect(print({ limit: 0 })).toEqual(rows);
  });

  test('is complete as JSON, regardless of the limit', () => {
    expect(JSON.parse(print({ json: true, limit: 3 }).join('\n'))).toEqual(rows);
  });
});
