import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MatchView } from '../../../src/features/match/propose.ts';
import type { MatchResult } from '../../../src/features/match/schemas.ts';
import {
  renderDecision,
  renderForgetPreview,
  renderHold,
  renderHolds,
  renderMatches,
  renderMatchResult,
  renderReceipt,
  renderReceipts,
  renderRuns,
  renderUndo,
} from '../../../src/operator/cli/render-decisions.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { counts, expectTidy, flat, foreign, names, oneOf, times } from './arbitraries.ts';

const matches: fc.Arbitrary<MatchView> = fc.record({
  ...{ tenant: names, target: names, connector: names, asOf: fc.nat(NOW) },
  ...{ contacts: counts, patients: counts, alike: counts, pairs: counts, ambiguous: counts, tooCommon: counts },
});

const matchResults: fc.Arbitrary<MatchResult> = fc.record({
  ...{ tenant: names, target: names, approved: counts, done: counts, already: counts },
  refused: fc.array(
    fc.record({
      line: counts,
      record: foreign,
      why: fc.constantFrom('contact-changed', 'patient-left-out', 'another'),
    }),
    { maxLength: 30 },
  ),
});

const holds: fc.Arbitrary<Parameters<typeof renderHolds>[0]['items'][number]> = fc.record({
  id: fc.stringMatching(/^[a-z2-9]{5}$/),
  tenant: names,
  target: names,
  kind: fc.constantFrom('cancelled', 'vanished', 'first-run', 'replaced'),
  state: fc.constantFrom('open', 'approved', 'rejected'),
  partOf: fc.constant(null),
  items: counts,
  linkCount: counts,
  limit: fc.option(fc.record({ count: counts, share: fc.constantFrom(0.2, 0.5) })),
  exceededIn: names,
  usual: fc.option(
    fc.record({
      days: fc.array(fc.record({ date: fc.constant('2026-06-15'), count: fc.option(counts) }), { maxLength: 3 }),
      range: fc.option(fc.record({ least: counts, most: counts, days: fc.integer({ min: 1, max: 30 }) })),
    }),
  ),
  seen: fc.stringMatching(/^[a-z2-9]{8}$/),
  createdAt: fc.nat(NOW),
  decidedAt: times,
  expiresAt: fc.nat(NOW),
});

describe('every answer has at most 100 columns and no control characters for the terminal', () => {
  test('match', () => {
    fc.assert(fc.property(matches, fc.option(names), (view, file) => expectTidy(renderMatches(view, file))));
    const verb = fc.constantFrom('apply' as const, 'undo' as const);
    fc.assert(fc.property(matchResults, verb, (result, given) => expectTidy(renderMatchResult(result, given))));
  });
  test('holds', () =>
    fc.assert(
      fc.property(fc.array(holds, { maxLength: 4 }), (items) => expectTidy(renderHolds({ items, next: null }))),
    ));
});

describe('holds', () => {
  const hold = { ...oneOf(holds), tenant: 'aurora', seen: 'abcdefgh', partOf: null };

  test('name the exceeded limit, and the target that exceeded it', () => {
    const limited = { ...hold, id: 'aaaaa', limit: { count: 10, share: 0.2 }, exceededIn: 'doctor-2' };
    expect(renderHolds({ items: [limited], next: null })).toContain(
      'aaaaa: above the limit of doctor-2: 10 objects and 20 %',
    );
    expect(renderHolds({ items: [{ ...limited, limit: null }], next: null })).not.toContain('limit');
  });

  test('show the commands for the first open hold below them, and none if all are decided', () => {
    const items = [
      { ...hold, id: 'aaaaa', state: 'approved' as const },
      { ...hold, id: 'bbbbb', state: 'open' as const },
    ];
    const text = renderHolds({ items, next: null });
    expect(text).toContain('clinic-mirror holds approve aurora bbbbb --seen abcdefgh');
    expect(text).toContain('clinic-mirror holds reject aurora bbbbb --seen abcdefgh');
    expect(renderHolds({ items: items.slice(0, 1), next: null })).not.toContain('clinic-mirror');
  });

  test('are limited to a hundred, and the rest is counted', () => {
    const items = Array.from({ length: 103 }, () => hold);
    expect(renderHolds({ items, next: null })).toContain('… and 3 more (--all)');
  });

  test('with a partial decision name the hold of the remaining records', () => {
    const decided = { ...hold, id: 'ccccc', target: 'room', items: 2, state: 'rejected' as const, partOf: 'bbbbb' };
    expect(renderDecision({ hold: decided } as unknown as Parameters<typeof renderDecision>[0])).toBe(
      'Hold ccccc of room is rejected: 2 records. The remaining records wait in hold bbbbb.',
    );
  });

  test('show one record per line, in the form that --only reads', () => {
    expect(renderHold({ records: ['1', '2'] } as Parameters<typeof renderHold>[0])).toBe('1\n2');
  });
});

describe('matches', () => {
  const view = { ...oneOf(matches), tenant: 'aurora', target: 'crm', pairs: 2 };

  test('show how to write and use the file, or that no decision is open', () => {
    expect(flat(renderMatches(view, null))).toContain('clinic-mirror match aurora crm --out <file>');
    const written = flat(renderMatches(view, 'pairs.csv'));
    expect(written).toContain('pairs with patient data: delete the file after use');
    expect(written).toContain('clinic-mirror match aurora crm --apply pairs.csv');
    expect(renderMatches({ ...view, pairs: 0 }, 'pairs.csv')).toMatch(/No decisions are open\.$/);
  });

  test('that were skipped have their line and the reason; a code without a text is shown as a code', () => {
    const refused = [
      { line: 3, record: 'p1', why: 'contact-gone' },
      { line: 4, record: 'p2', why: 'another' },
    ] as MatchResult['refused'];
    const text = renderMatchResult({ ...oneOf(matchResults), refused }, 'apply');
    expect(text).toContain('Not changed, 2:');
    expect(text).toMatch(/^ +3 +p1 +the contact no longer exists$/m);
    expect(text).toMatch(/^ +4 +p2 +another$/m);
    expect(renderMatchResult({ ...oneOf(matchResults), refused: [] }, 'apply')).not.toContain('Not changed');
  });
});

describe('an undo', () => {
  const line = { target: 'room', effect: 'updated', record: '1' } as const;
  const view = { run: 'r1', tenant: 'aurora', pinnedUntil: null };
  const rendered = (changes: object) =>
    renderUndo({ ...view, ...changes } as unknown as Parameters<typeof renderUndo>[0]);

  test('counts items by target, effect and result, and says of a dry run that nothing was written', () => {
    const records = [
      { ...line, result: 'restored' },
      { ...line, result: 'restored' },
      { ...line, target: 'doctor', result: 'restored' },
    ];
    const text = rendered({ dryRun: true, records });
    expect(text).toContain('Run r1 of aurora; nothing was written.');
    expect(text).toMatch(/^doctor +updated +1 .*\nroom +updated +2 /m);
  });

  test('shows the expiry of restored objects, and how to return to the rules', () => {
    const text = flat(rendered({ dryRun: false, records: [], pinnedUntil: NOW }));
    expect(text).toContain('Run r1 of aurora is undone.');
    expect(text).toContain('clinic-mirror undo r1 --release');
    expect(rendered({ dryRun: false, records: [] })).not.toContain('--release');
  });
});

test('runs that can be undone show the dry run of the newest', () => {
  const run = { run: 'r9', tenant: 'aurora', at: NOW, updated: 2, deleted: 1 };
  expect(renderRuns({ runs: [run, { ...run, run: 'r8' }] } as Parameters<typeof renderRuns>[0])).toMatch(
    /clinic-mirror undo r9 --dry-run$/,
  );
  expect(renderRuns({ runs: [] })).not.toContain('clinic-mirror');
});

describe('a receipt', () => {
  const target = { target: 'crm', connector: 'hubspot', found: 3, erased: 1, waiting: 1, failed: 1, reach: 'wholly' };
  const receipt = {
    ...{ receipt: 'f1', tenant: 'aurora', at: NOW, tombstone: 't1', upcoming: 0, warnings: [], signature: null },
    targets: [{ ...target, failure: null }],
    state: { journalLines: 2, pins: 0, holds: 0, auditFindings: 0, reminders: 0, answerLinks: 0, examples: 0 },
  } as unknown as Parameters<typeof renderReceipt>[0];

  test('lists the data removed from the state, and the obstacle to the erasure of a target', () => {
    const failed = [{ ...target, failure: 'crm-away' }] as unknown as typeof receipt.targets;
    const text = flat(renderReceipt({ ...receipt, targets: failed }));
    expect(text).toContain('Deleted from the state: 2 journal lines.');
    expect(text).toContain('not complete: crm-away');
    expect(flat(renderReceipt(receipt))).toMatch(/ complete .*No future appointments are removed from calendars/);
  });

  test('counts failed erasures among those that wait', () => {
    expect(renderReceipts({ publicKey: 'PEM', receipts: [receipt] })).toMatch(/^f1 .* 1 +3 +1 +2$/m);
  });
});

describe('a preview of forget by address', () => {
  const counted = { isForgotten: false, appointments: 0, invoices: 0, upcoming: 0, targets: [], warnings: [] };
  const preview = { tenant: 'aurora', ...counted, reminders: 2, answerLinks: 1 };

  test('lists the ids of several patients, or the messages of an unknown patient', () => {
    const several = renderForgetPreview({ ...preview, patients: ['p1', 'p2'] });
    expect(several).toMatch(/^2 patients have this contact.*\n\np1\np2$/);
    expect(flat(renderForgetPreview({ ...preview, patients: [] }))).toMatch(/id is unknown; .* 2 reminders, 1 answer/);
    expect(renderForgetPreview({ ...preview, patients: null })).toContain('One patient of aurora');
  });
});
