import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../../../src/core/model/time.ts';
import type { HoldView } from '../../../../../src/features/holds/hold-view.ts';
import type { HeldItem } from '../../../../../src/operator/control/target-objects.ts';
import { chosenIn, renderHold, renderHolds } from '../../../../../src/operator/http-server/pages/holds/render-hold.ts';
import { NOW } from '../../../../domain/arbitraries.ts';
import { OWNER } from '../open-pages.ts';
import { pageContext, wordsOf } from '../page-context.ts';

const ZONE = 'Europe/Rome';

function itemOf(record: string, changes: Partial<HeldItem> = {}): HeldItem {
  return { record, startAt: NOW, agenda: { id: 'a1', name: 'Dr. Blu' }, status: null, fieldChanges: [], ...changes };
}

function viewOf(items: HeldItem[], changes: Partial<HoldView> = {}, hold: Partial<HoldView['hold']> = {}): HoldView {
  return {
    hold: {
      ...{ id: 'h1', tenant: 'rossi', target: 'doctor', kind: 'vanished', state: 'open', seen: 'seen-1' },
      ...{ recordIds: items.map(({ record }) => record), linkCount: 40, limit: null, createdAt: NOW, decidedAt: null },
      ...{ expiresAt: NOW + DAY_MS, ...hold },
    },
    ...{ connector: 'caldav', calendar: null, zone: ZONE, usual: null, items, unread: null, isDivisible: true },
    ...{ requests: [], ...changes },
  };
}

const shown = (view: HoldView, level: 'viewer' | 'operator' = 'operator') =>
  String(renderHold(pageContext({ visitor: { ...OWNER, level } }), view));
const boxes = (page: string, name: string) =>
  [...page.matchAll(/type="checkbox" name="(\w+)" value="([^"]*)"/g)].flatMap(([, each, value]) =>
    each === name ? [value] : [],
  );
const choices = (page: string) => [...page.matchAll(/name="choice" value="(\w+)"/g)].map(([, choice]) => choice);

describe('a hold', () => {
  const items = [
    itemOf('one'),
    itemOf('two', { agenda: { id: 'a2', name: null } }),
    itemOf('three', { startAt: null, agenda: null }),
  ];

  test('has its buttons and boxes for an operator while it is open, and for no one else', () => {
    expect(choices(shown(viewOf(items)))).toEqual(['keep', 'selected', 'all']);
    expect(boxes(shown(viewOf(items)), 'item')).toEqual(['one', 'two', 'three']);
    for (const page of [shown(viewOf(items), 'viewer'), shown(viewOf(items, {}, { state: 'approved' }))]) {
      expect(page).not.toMatch(/<button class|<input|<form/);
      expect(page).toContain('>two</a>');
    }
  });

  test('that is decided as a whole has no choice of items', () => {
    const page = shown(viewOf(items, { isDivisible: false }, { kind: 'first-run' }));
    expect(choices(page)).toEqual(['keep', 'all']);
    expect(page).not.toContain('type="checkbox"');
  });

  test('of removed objects names its kind, its reason and the exceeded limit', () => {
    const limit = { share: 0.2, count: 10 };
    const view = viewOf(items, { isDivisible: false }, { kind: 'manual-changes', limit });
    const page = shown(view);
    expect(page).toContain('restorations of many events removed by hand');
    expect(page).toContain('leave them removed for a week');
    expect(page).toContain('More than 10 changes of doctor, and more than 20 % of the total');
    expect(String(renderHolds(pageContext(), [{ ...view.hold, usual: null }]))).toContain(
      'restorations of many events removed by hand',
    );
  });

  test('offers items by agenda and by day, those without one included', () => {
    const page = shown(viewOf(items));
    expect(boxes(page, 'agenda')).toEqual(['a1', 'a2', '-']);
    expect(boxes(page, 'day')).toEqual(['2026-06-15', '-']);
    expect(boxes(shown(viewOf([itemOf('one'), itemOf('two')])), 'agenda')).toEqual([]);
  });

  test('of more than a thousand items is chosen only by day', () => {
    const many = (count: number) => shown(viewOf(Array.from({ length: count }, (_, at) => itemOf(`r${at}`))));
    expect(boxes(many(1_000), 'item')).toHaveLength(1_000);
    expect([boxes(many(1_001), 'item'), boxes(many(1_001), 'day')]).toEqual([[], ['2026-06-15']]);
  });

  test('is decided in the state that was shown, by a page and by the command', () => {
    const page = shown(viewOf(items));
    expect(page).toContain('name="seen" value="seen-1"');
    expect(page).toContain('data-copy="clinic-mirror holds approve rossi h1 --seen seen-1"');
  });

  test('shows the usual number, unreadable parts and earlier approvals', () => {
    const requests = [{ by: { name: 'anna' }, what: { items: 3 } }] as never;
    const days = [null, 2, 0, 5].map((count, at) => ({ date: `2026-06-1${at}`, count }));
    const usual = { days, range: { least: 0, most: 5, days: 3 } };
    const words = wordsOf(shown(viewOf(items, { usual, unread: 'server-error', requests })));
    expect(words).toContain('Usual: 0 to 5 a day (3 known days).');
    expect(words).toContain('server-error');
    expect(words).toContain('anna has requested approval of 3');
  });

  test('says first what is held, for whom and where, by the exceeded limit of which target', () => {
    const limit = { share: 0.2, count: 10 };
    const words = wordsOf(
      shown(viewOf([...items, itemOf('four')], { calendar: 'Dr Blu' }, { limit, exceededIn: 'room' })),
    );
    expect(words).toMatch(/^4 removals from “Dr Blu”, doctor wait for your decision: Dr\. Blu 2, a2 1\./);
    expect(words).toContain('More than 10 changes of room, and more than 20 % of the total');
    expect(words).toContain('The same read exceeded the limit of room, so the changes in doctor wait too.');
    const many = Array.from({ length: 5 }, (_, at) => itemOf(`r${at}`, { agenda: { id: `a${at}`, name: null } }));
    expect(wordsOf(shown(viewOf(many)))).toContain(': a0 1, a1 1, a2 1, 2 other agendas.');
    expect(wordsOf(shown(viewOf(items, {}, { state: 'approved' })))).not.toContain('wait for your decision');
  });

  test('has its decision with the numbers before the list, within one form', () => {
    const page = shown(viewOf(items));
    expect(page).toMatch(
      /class="decided">.*class="buttons sticky".*Keep all 3….*Remove all 3….*value="one".*<\/form>$/s,
    );
    expect(wordsOf(shown(viewOf(items, { isDivisible: false }, { kind: 'replaced' })))).toMatch(/Reject 3… Approve 3…/);
  });

  test('folds many days into months and many agendas into a list, and loses none', () => {
    const many = Array.from({ length: 60 }, (_, at) =>
      itemOf(`r${at}`, { startAt: NOW + at * DAY_MS, agenda: { id: `a${at % 20}`, name: null } }),
    );
    const page = shown(viewOf(many));
    expect(
      [...page.matchAll(/id="month-([\d-]+)"><summary>(\w+ \d+) <span class="quiet">(\d+)/g)].map(
        ([, ...found]) => found,
      ),
    ).toEqual([
      ['2026-06', 'June 2026', '16'],
      ['2026-07', 'July 2026', '31'],
      ['2026-08', 'August 2026', '13'],
    ]);
    expect([boxes(page, 'item').length, boxes(page, 'day').length, boxes(page, 'agenda').length]).toEqual([60, 60, 20]);
    expect(page).toContain('8 other agendas');
    expect(shown(viewOf(many.slice(0, 14)))).not.toContain('id="month-');
  });

  test('writes an id and the name of an agenda as text', () => {
    const hostile = '<b>"x"</b>';
    const page = shown(viewOf([itemOf(hostile, { agenda: { id: hostile, name: hostile } }), items[1] as HeldItem]));
    expect(page).not.toContain('<b>');
    expect(boxes(page, 'item')).toContain('&lt;b&gt;&quot;x&quot;&lt;/b&gt;');
  });
});

test('the list of holds leads to each, and marks those that wait for a decision', () => {
  const holds = [viewOf([itemOf('one')]).hold, viewOf([], {}, { id: 'h 2', state: 'rejected' }).hold].map(
    (hold, at) => ({ ...hold, usual: at === 0 ? { days: [], range: { least: 0, most: 3, days: 30 } } : null }),
  );
  const page = String(renderHolds(pageContext(), holds));
  expect(page.match(/href="[^"]+"/g)).toEqual(['href="/tenants/rossi/holds/h1"', 'href="/tenants/rossi/holds/h%202"']);
  expect(page.match(/<span class="act">/g)).toHaveLength(1);
  expect(page.match(/0 to 3 a day/g)).toHaveLength(1);
  expect(String(renderHolds(pageContext(), []))).toContain('class="empty"');
});

describe('the choice in a form', () => {
  const items = [
    itemOf('one'),
    itemOf('two', { startAt: NOW + 15 * HOUR_MS, agenda: { id: 'a2', name: null } }),
    itemOf('three', { startAt: null, agenda: null }),
  ];
  const chosen = (form: string) => chosenIn(new URLSearchParams(form), items, ZONE).map(({ record }) => record);

  test.each([
    ['item=one&item=one&item=other', ['one']],
    ['day=2026-06-15', ['one']],
    // 23:00 UTC is the day after in Rome.
    ['day=2026-06-16', ['two']],
    ['day=-', ['three']],
    ['agenda=a2&agenda=-', ['two', 'three']],
    ['item=one&agenda=a2', ['one', 'two']],
    ['item=&day=&agenda=', []],
    ['', []],
  ])('"%s" is %j', (form, records) => {
    expect(chosen(form)).toEqual(records);
  });

  test('is never more than the hold has, and each once', () => {
    const value = fc.constantFrom('one', 'two', 'three', 'a1', 'a2', '-', '2026-06-15', '', 'x');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('item', 'day', 'agenda'), value)), (fields) => {
        const records = chosenIn(new URLSearchParams(fields), items, ZONE);
        expect(items.filter((item) => records.includes(item))).toEqual(records);
      }),
    );
  });
});
