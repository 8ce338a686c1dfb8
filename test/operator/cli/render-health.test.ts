import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderHealth } from '../../../src/operator/cli/render-health.ts';
import type { HealthView } from '../../../src/operator/control/record-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { connections, counts, expectTidy, flat, foreign, names, oneOf } from './arbitraries.ts';

const healths: fc.Arbitrary<HealthView> = fc.record({
  tenant: names,
  asOf: fc.nat(NOW),
  connections: fc.array(connections, { maxLength: 3 }),
  targets: fc.array(
    fc.record({
      target: names,
      connector: names,
      stream: fc.constantFrom('appointments', 'patients', 'invoices'),
      inSync: counts,
      heldOtherwise: fc.dictionary(names, counts, { maxKeys: 4 }),
      unusable: fc.dictionary(names, counts, { maxKeys: 2 }),
      excluded: fc.record({
        counts: fc.dictionary(fc.constantFrom('no-consent', 'agenda', 'another'), counts, { maxKeys: 3 }),
        records: fc.array(fc.record({ record: foreign, why: fc.constantFrom('no-consent', 'another') }), {
          maxLength: 40,
        }),
      }),
      failing: fc.array(
        fc.record({
          record: foreign,
          why: names,
          about: fc.option(names),
          page: fc.constantFrom(null, 'https://app.hubspot.com/contacts/48250713/record/0-1/171591000101'),
          sinceAt: fc.nat(NOW),
          attempts: counts,
          nextTryAt: fc.nat(NOW),
          parked: fc.boolean(),
        }),
        { maxLength: 30 },
      ),
      pending: counts,
      changedByHand: counts,
      copied: fc.array(foreign, { maxLength: 30 }),
      refusedThere: fc.dictionary(names, fc.array(foreign, { maxLength: 30 }), { maxKeys: 2 }),
      held: counts,
      unread: fc.option(names),
    }),
    { maxLength: 3 },
  ),
});

test('has at most 100 columns and no control characters for the terminal', () =>
  fc.assert(fc.property(healths, (view) => expectTidy(renderHealth(view)))));

const someTarget = oneOf(healths.map(({ targets }) => targets[0]).filter((each) => each !== undefined));
const rendered = (changes: Partial<typeof someTarget>) =>
  flat(renderHealth({ ...oneOf(healths), targets: [{ ...someTarget, ...changes }] }));

test('names an unknown property that differs', () => {
  expect(rendered({ heldOtherwise: { unknown: 2 } })).toContain(
    'Objects that differ from the last write: a field that is not known (2)',
  );
});

test('lists the first twenty records and counts the rest', () => {
  const records = Array.from({ length: 23 }, (_, index) => ({ record: `r${index}`, why: 'no-consent' }));
  const text = rendered({ excluded: { counts: { 'no-consent': 23 }, records } });
  expect(text).toContain('Excluded, 23: no patient consent for this target');
  expect(text).toContain('r19 … and 3 more (--all)');
});

test.each([
  ['egress-name', 'the change contains more patient data than the target allows: record unchanged (egress-name)'],
  ['incomplete-phone', 'it lacks a value of the object: record unchanged (incomplete-phone)'],
  ['not-in-any-list', 'Excluded, 1: not-in-any-list'],
])('shows the code of a rule without a text: %s', (code, says) => {
  expect(rendered({ excluded: { counts: { [code]: 1 }, records: [] } })).toContain(says);
});

test('shows a parked record as waiting, and the URL of an object completely on a separate line', () => {
  const page = `https://crm.example/${'x'.repeat(120)}`;
  const failing = { record: 'p1', why: 'refused', about: null, sinceAt: NOW, attempts: 2, nextTryAt: NOW, page };
  const view = { ...oneOf(healths), targets: [{ ...someTarget, failing: [{ ...failing, parked: true }] }] };
  const lines = renderHealth(view).split('\n');
  expect(lines).toContain(`      ${page}`);
  expect(lines).toContainEqual(expect.stringMatching(/^ {4}p1 +refused \(waits for data or a decision\)/));
});

test('shows excluded records as unknown if the target was not read (server-error)', () => {
  expect(rendered({ unread: 'server-error' })).toContain(
    'The clinic was not read (server-error): excluded records are unknown.',
  );
  expect(rendered({ unread: null })).not.toContain('The clinic was not read');
});
