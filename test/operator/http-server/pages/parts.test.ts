import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Health, SyncStatus } from '../../../../src/core/model/schemas.ts';
import { SYNC_HEALTH_WORDS } from '../../../../src/core/model/sync-state.ts';
import { MINUTE_MS } from '../../../../src/core/model/time.ts';
import { message } from '../../../../src/messages/message.ts';
import { code, command, link, paragraph, toned } from '../../../../src/operator/documents/document.ts';
import {
  actionButton,
  copyable,
  failureNotice,
  healthMark,
  inlineHtml,
  nextStep,
  pager,
  printHtml,
  said,
  syncMark,
  table,
} from '../../../../src/operator/http-server/pages/parts.ts';
import { NOW } from '../../../domain/arbitraries.ts';
import { OWNER } from './open-pages.ts';
import { pageContext, wordsOf } from './page-context.ts';

const english = pageContext();
const italian = pageContext({ language: 'it' });

test('a text is written as text in every part of a page, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'<>"\'&a'), minLength: 1 }), (text) => {
      const written = [
        said(english, text),
        copyable(english, text),
        table(text, [text], [{ cells: [text], address: text, id: text }]),
        actionButton(english, { address: text, text, fields: { [text]: text } }),
        failureNotice(english, text, { code: text, texts: { message: text, remedy: text } }),
        pager(english, text),
        printHtml(english, [
          paragraph(text, code(text), command(text), link(text, text), toned('act', text)),
          { is: 'facts', facts: [[text, text]] },
          { is: 'section', id: text, heading: text, sideText: text, blocks: [{ is: 'empty', text }] },
          { is: 'steps', label: text, steps: [{ name: text, state: 'done', at: null, lines: [text] }] },
        ]),
      ].join('');
      expect(written.replaceAll(/<[a-z0-9]+(?: [a-z-]+(?:="[^"<>]*")?)*>|<\/[a-z0-9]+>/g, '')).not.toMatch(/[<>"']/);
    }),
  );
});

describe('a table', () => {
  const columns = ['Target', 'Held', { title: 'Open', isPlain: true }];

  test('leaves out a column without any value, and keeps all columns without rows', () => {
    const heads = (rows: Parameters<typeof table>[2]) => wordsOf(table('', columns, rows));
    expect(heads([{ cells: ['a', null, 'x'] }, { cells: ['b'] }])).toBe('Target Open a x b');
    expect(heads([{ cells: ['a', null, null] }, { cells: ['b', 0, null] }])).toBe('Target Held a b 0');
    expect(heads([])).toBe('Target Held Open');
  });

  test('sets figures to the right, and names a value by its column except in a plain one', () => {
    const shown = String(table('', columns, [{ cells: ['a', 3, 'x'] }]));
    expect(shown).toContain('<td role="cell" data-label="Held" class="figure">3</td>');
    expect(shown).toContain('<td role="cell" data-label="">x</td>');
  });

  test('links the first cell of a row that has a page', () => {
    const shown = String(table('', columns, [{ cells: ['a', 3, 'x'], address: '/a' }, { cells: ['b', 1, 'y'] }]));
    expect(shown.match(/<a [^>]*>[^<]*<\/a>/g)).toEqual(['<a class="row" href="/a">a</a>']);
  });

  test('of a document says how many rows it leaves out', () => {
    const rows = ['a', 'b', 'c'].map((id) => ({ cells: [id] }));
    const more = (count: number) => `${count} more`;
    const document = (page: number) =>
      wordsOf(
        printHtml(english, [{ is: 'table', caption: '', headings: ['Id'], rows, most: { page, terminal: 9 }, more }]),
      );
    expect([document(2), document(3)]).toEqual(['Id a b 1 more', 'Id a b c']);
  });

  test('of a document folds its groups above twenty rows, each with its number, and says what a group leaves out', () => {
    const rowsOf = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        cells: [`r${at}.`],
        id: `r${at}`,
        group: at < 20 ? 'create' : 'remove',
      }));
    const document = (count: number, page = 100) =>
      String(
        printHtml(english, [
          {
            ...{ is: 'table', caption: 'Plan', headings: ['Id'], rows: rowsOf(count), most: { page, terminal: 9 } },
            more: (rest: number) => `${rest} more`,
          },
        ]),
      );
    expect(document(20)).not.toContain('<details');
    const folds = (page: string) => page.split('<details').slice(1).map(wordsOf);
    const [create = '', remove = ''] = folds(document(22));
    expect(create).toMatch(/create 20 Plan, create Id r0\. .* r19\.$/);
    expect(remove).toMatch(/remove 2 Plan, remove Id r20\. r21\.$/);
    expect(folds(document(22, 21))[1]).toMatch(/remove 2 .* r20\. 1 more$/);
    expect(folds(document(22, 10))).toEqual([
      expect.stringMatching(/create 20 .* r9\. 10 more$/),
      expect.stringMatching(/remove 2 2 more$/),
    ]);
  });

  test('of a document is part of a folded section, if the section is folded', () => {
    const section = { is: 'section', id: 's', heading: 'doctor', sideText: 'Dr Rossi', folded: '3 to create' } as const;
    const page = String(printHtml(english, [{ ...section, blocks: [{ is: 'empty', text: 'inside' }] }]));
    expect(wordsOf(page)).toBe('doctor Dr Rossi 3 to create inside');
    expect(page).toMatch(/^<details id="s"><summary>.*3 to create<\/span><\/summary>/);
  });
});

describe('a form that changes something', () => {
  const act = { address: '/sync', text: 'Sync now', fields: { step: 'show' } };

  test('sends the proof of the visitor with it', () => {
    const shown = String(actionButton(english, act));
    expect(shown).toContain(`<input type="hidden" name="csrf" value="${OWNER.csrf}">`);
    expect(shown).toContain('<input type="hidden" name="step" value="show">');
    expect(shown).toContain('<form method="post" action="/sync">');
  });

  test('has no CSRF proof on a page without a visitor', () => {
    expect(String(actionButton(pageContext({ visitor: null }), act))).not.toContain('csrf');
  });
});

describe('the sync status and the health', () => {
  const sync: SyncStatus[] = ['in-sync', 'behind', 'on-hold', 'unknown'];
  const health: Health[] = ['ok', 'retrying', 'action-required'];

  test('have each another word and another mark, in both languages', () => {
    for (const context of [english, italian]) {
      const words = SYNC_HEALTH_WORDS[context.language];
      const shapes = sync.map((each) => {
        const mark = syncMark(context, { sync: each, firstSync: null });
        expect(wordsOf(mark)).toBe(words[each]);
        return /<svg.*<\/svg>/.exec(String(mark))?.[0];
      });
      expect(new Set(shapes).size).toBe(sync.length);
      expect(health.map((each) => wordsOf(healthMark(context, each)))).toEqual(health.map((each) => words[each]));
    }
  });

  test('show since when a target was in sync, if known', () => {
    const state = { sync: 'in-sync', firstSync: null } as const;
    expect(wordsOf(syncMark(english, state, NOW - MINUTE_MS))).toBe('in sync as of 09:59');
    expect(wordsOf(syncMark(italian, state, NOW - MINUTE_MS))).toBe('sincronizzato alle 09:59');
  });
});

describe('the next step', () => {
  test('is a command that a click copies, or a sentence', () => {
    expect(String(nextStep(english, 'clinic-mirror sync a'))).toContain('data-copy="clinic-mirror sync a"');
    expect(String(nextStep(english, 'ask the vendor'))).toBe('<span class="quiet">ask the vendor</span>');
  });

  test('is marked as English if it has no text in the language of the page', () => {
    expect(String(said(italian, 'the calendar is gone'))).toBe('<span lang="en">the calendar is gone</span>');
    expect(String(said(english, 'the calendar is gone'))).toBe('the calendar is gone');
    expect(String(said(italian, message('no-such-record')))).not.toContain('lang=');
  });

  test('is absent from a failure without a remedy', () => {
    const failing = { code: 'calendar-gone', texts: { message: 'It is gone.', remedy: null } };
    expect(wordsOf(failureNotice(english, 'Sync now', failing))).toBe('Sync now : It is gone. calendar-gone');
    expect(wordsOf(failureNotice(english, null, failing))).toBe('It is gone. calendar-gone');
    const remedied = { ...failing, texts: { ...failing.texts, remedy: 'Log in again.' } };
    expect(wordsOf(failureNotice(english, null, remedied))).toContain('Log in again.');
  });
});

describe('a sentence of a view', () => {
  test('shows an empty range as one time, and only the clock time of an end', () => {
    const range = (minutes: number) =>
      wordsOf(`${inlineHtml(english, { is: 'range', startAt: NOW, endAt: NOW + minutes * MINUTE_MS })}`);
    expect([range(0), range(30)]).toEqual(['10:00', '10:00 –10:30']);
  });

  test('folds its lines if they have a name', () => {
    const lines = { is: 'lines', lines: ['title', 'time'] } as const;
    expect(String(inlineHtml(english, { ...lines, folded: null }))).not.toContain('<details');
    const folded = { ...lines, folded: { id: 'fields-1', summary: 'Field by field' } };
    expect(String(inlineHtml(english, folded))).toMatch(/<details id="fields-1"><summary>Field by field<.*<li>time</);
  });

  test('shows nothing for null and false', () => {
    expect(wordsOf(printHtml(english, [paragraph('a', null, false, 'b')]))).toBe('ab');
  });
});

test('a list without a next page leads nowhere', () => {
  expect(pager(english, null)).toBeNull();
  expect(String(pager(english, '/queues?after=1'))).toContain('rel="next" href="/queues?after=1"');
});
