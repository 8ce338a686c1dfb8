import { describe, expect, test } from 'vitest';
import type { PlanLineView, PlanView, StoredPlan, TargetPlanView } from '../../../src/core/model/plan-view.ts';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import { planDocument } from '../../../src/operator/documents/plan.ts';
import { PLAN } from '../../../src/operator/documents/texts/plan.ts';

const NOW = Date.UTC(2026, 5, 22, 8);
const { en: words } = PLAN;

const TARGET: TargetPlanView = {
  ...{ target: 'doctor', calendar: 'Dr Bianchi', links: 9, unchanged: 9, failing: 0, waiting: 0, released: 0 },
  ...{ existing: null, lines: [] },
};
const PLANNED: PlanView = {
  ...{ tenant: 'rossi', asOf: NOW, unconfirmed: 0, skippedTargets: [], targets: [TARGET] },
  snapshot: { completeness: 'complete', reason: null, records: 9, unusable: 0 },
};

function lineOf(record: string, changes: Partial<PlanLineView> = {}): PlanLineView {
  return {
    ...{ record, operation: 'create', reason: 'new', fields: [], startAt: NOW, title: 'Busy', decision: 'write' },
    ...{ fingerprint: null, fieldChanges: [], agenda: null },
    ...changes,
  };
}

function sectionOf(target: Partial<TargetPlanView>) {
  const section = planDocument({ ...PLANNED, targets: [{ ...TARGET, ...target }] }, 'en').blocks.at(-1);
  if (section?.is !== 'section') throw new TypeError('no section');
  return section;
}
const textOf = (value: unknown) => JSON.stringify(value);
const commandsIn = (target: Partial<TargetPlanView>) =>
  [...textOf(sectionOf(target)).matchAll(/"is":"command","text":"([^"]+)"/g)].map(([, command]) => command);
const tableOf = (...lines: PlanLineView[]) => {
  const table = sectionOf({ lines }).blocks.at(-1);
  if (table?.is !== 'table') throw new TypeError('no table');
  return table;
};

describe('a plan', () => {
  test('counts the changes that the policy of a target withholds, in both languages', () => {
    const writePolicy = { name: 'upsert-only', notRemoved: 3, notUpdated: 0 } as const;
    expect(textOf(sectionOf({ writePolicy }))).toContain('policy upsert-only: 3 objects remain');
    expect(textOf(sectionOf({}))).not.toContain('policy');
    const italian = planDocument({ ...PLANNED, targets: [{ ...TARGET, writePolicy }] }, 'it');
    expect(textOf(italian)).toContain('politica upsert-only: 3 oggetti restano');
  });

  test('names its sources first, and the unreadable ones', () => {
    const [facts] = planDocument(
      {
        ...{ ...PLANNED, unconfirmed: 3, skippedTargets: [{ target: 'crm', code: 'login-refused' }] },
        snapshot: { completeness: 'partial', reason: 'page-cap', records: 9, unusable: 2 },
      },
      'en',
    ).blocks;
    for (const sentence of [words.partial('page-cap'), words.unusable(2), words.unconfirmed(3)]) {
      expect(textOf(facts)).toContain(sentence);
    }
    expect(textOf(facts)).toContain(words.left('crm', 'login-refused'));
    expect(textOf(planDocument(PLANNED, 'en').blocks[0])).not.toContain(words.unusable(0));
  });

  test('that is stored carries the command that applies it; another does not', () => {
    const stored = { ...PLANNED, id: 'p-1', expiresAt: NOW } as unknown as StoredPlan;
    expect(textOf(planDocument(stored, 'en'))).toContain('clinic-mirror apply rossi p-1');
    expect(textOf(planDocument(PLANNED, 'en'))).not.toContain('clinic-mirror apply');
  });
});

describe('the changes of several targets or agendas', () => {
  const lines = [
    lineOf('1', { agenda: 'Dr Rossi' }),
    lineOf('2', { agenda: 'Dr Rossi', operation: 'update' }),
    lineOf('3', { agenda: 'Dr Verdi', operation: 'delete', decision: 'on-hold' }),
  ];

  test('are counted by target, agenda and kind before the lists', () => {
    const [, counts] = planDocument({ ...PLANNED, targets: [{ ...TARGET, lines }] }, 'en').blocks;
    if (counts?.is !== 'table') throw new TypeError('no table');
    expect(counts.rows.map(({ cells }) => cells.slice(1))).toEqual([
      ['Dr Rossi', 1, 1, null, null, null],
      ['Dr Verdi', null, null, null, 1, null],
    ]);
    const [, single] = planDocument({ ...PLANNED, targets: [{ ...TARGET, lines: lines.slice(0, 2) }] }, 'en').blocks;
    expect(single?.is).toBe('section');
  });

  test('are grouped by kind and agenda for a page', () => {
    expect(tableOf(...lines).rows.map(({ group }) => group)).toEqual([
      '+ create · Dr Rossi',
      '~ update · Dr Rossi',
      '− remove · Dr Verdi',
    ]);
  });

  test('fold the targets of a page from the sixth target on, with their counts', () => {
    const foldsOf = (count: number) => {
      const targets = Array.from({ length: count }, (_, at) => ({ ...TARGET, target: `doctor-${at}`, lines }));
      return planDocument({ ...PLANNED, targets }, 'en').blocks.flatMap((block) =>
        block.is === 'section' ? [block.folded] : [],
      );
    };
    expect(foldsOf(5)).toEqual(Array.from({ length: 5 }, () => undefined));
    expect(new Set(foldsOf(6))).toEqual(
      new Set([[words.create(1), words.update(1), words.held(1), words.unchanged(9)].join(' · ')]),
    );
  });
});

test.each([
  ['en', 'to write', 'written'],
  ['it', 'da scrivere', 'scritto'],
] as const)('a plan says of a change in %s that it is to be written, in the terminal', (language, said, never) => {
  const plan = planDocument({ ...PLANNED, targets: [{ ...TARGET, lines: [lineOf('1')] }] }, language);
  const shown = printTerminal(plan);
  expect(shown).toMatch(new RegExp(`\\b${said}\\b`));
  expect(shown).not.toMatch(new RegExp(`\\b${never}\\b`));
});

describe('a target', () => {
  test('counts what is done by operation, what is held or refused by decision, and leaves out what is none', () => {
    const lines = [
      ...[lineOf('1'), lineOf('2'), lineOf('3', { operation: 'update' })],
      ...[
        lineOf('4', { operation: 'delete', decision: 'on-hold' }),
        lineOf('5', { operation: 'delete', decision: 'refused' }),
      ],
    ];
    const [summary] = sectionOf({ lines, waiting: 4 }).blocks;
    const counts = [
      words.create(2),
      words.update(1),
      words.held(1),
      words.refused(1),
      words.waiting(4),
      words.unchanged(9),
    ];
    expect(summary).toEqual({ is: 'paragraph', content: [counts.join(' · ')] });
  });

  test('without changes reports this, and has no table', () => {
    const { blocks } = sectionOf({ released: 2 });
    expect(blocks).toEqual([{ is: 'paragraph', content: [`${words.nothing(9)} · ${words.released(2)}`] }]);
  });

  test('shows the command for existing contacts, for failures, and for held changes', () => {
    const held = [lineOf('1', { decision: 'on-hold' })];
    expect(commandsIn({ existing: { contacts: 5, alike: 2 }, failing: 1, lines: held })).toEqual([
      'clinic-mirror match rossi doctor',
      'clinic-mirror health rossi doctor',
      'clinic-mirror holds list rossi',
    ]);
    expect(commandsIn({ existing: { contacts: 5, alike: 0 }, lines: [lineOf('1')] })).toEqual([]);
  });

  test('names the kind and the limit of a hold of removed objects, and no other hold', () => {
    const restoration = lineOf('1', { reason: 'removed-by-hand', decision: 'on-hold' });
    const removal = lineOf('2', { reason: 'vanished', operation: 'delete', decision: 'on-hold' });
    const shown = (...lines: PlanLineView[]) =>
      [words.seeRestorations, words.seeHeld].map((text) => textOf(sectionOf({ lines })).includes(text));
    expect(shown(restoration)).toEqual([true, false]);
    expect(shown(removal)).toEqual([false, true]);
    expect(shown(restoration, removal)).toEqual([true, true]);
    expect(shown({ ...restoration, decision: 'write' })).toEqual([false, false]);
  });

  test('reports existing contacts in the CRM, or why they cannot be read', () => {
    expect(textOf(sectionOf({ existing: { contacts: 5, alike: 0 } }))).toContain(words.contacts(5, 0));
    expect(sectionOf({ existing: { contacts: 0, alike: 0 } }).blocks).toHaveLength(1);
    expect(textOf(sectionOf({ existing: { unread: 'login-refused' } }))).toContain(
      words.contactsUnread('login-refused'),
    );
  });
});

describe('a line', () => {
  test('has its operation, a link to its explanation, and its decision marked unless it goes', () => {
    const { rows } = tableOf(lineOf('a/1'), lineOf('2', { operation: 'delete', decision: 'on-hold' }));
    expect(rows.map(({ id }) => id)).toEqual(['line-doctor-a/1', 'line-doctor-2']);
    expect(textOf(rows[0]?.cells)).toContain('/tenants/rossi/explain?id=a%2F1');
    expect(rows.map(({ cells }) => cells.at(-1))).toEqual([
      { is: 'tone', tone: 'quiet', content: words.isWritten },
      { is: 'tone', tone: 'hold', content: words.isHeld },
    ]);
  });

  test('shows the fields of an update at once, and those of creations and deletions on request', () => {
    const fieldChanges = [
      { field: 'title', before: { kind: 'text', text: 'Old' }, after: { kind: 'text', text: 'New' } } as const,
    ];
    const { rows } = tableOf(
      lineOf('1', { operation: 'update', reason: 'content-changed', fields: ['title'], fieldChanges }),
      lineOf('2', { fieldChanges }),
    );
    const [update, creation] = rows.map(({ cells }) => textOf(cells));
    expect(update).toContain('"folded":null');
    expect(creation).toContain('"folded":{"id":"fields-doctor-2"');
  });
});
