import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListPage } from '../../../src/clinic/read/lists.ts';
import type { ClinicRecord } from '../../../src/clinic/read/reading-calls.ts';
import { compileRecords } from '../../../src/clinic/read/records.ts';
import { RESOURCES, type ResourceName } from '../../../src/clinic/schema/resources.ts';
import { invoiceDuplicate, sameDecimal } from '../../../src/clinic/write/natural-keys.ts';
import { openApi } from '../open-api.ts';
import { failureOf, profileOf, unhurried } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const profile = profileOf();

/** A record as the documented profile reads it. */
function recordOf<Name extends ResourceName>(name: Name, row: object): ClinicRecord<Name> {
  const mapped = compileRecords(RESOURCES[name] as never, profile[name].fields as never, profile)(row);
  if ('unusable' in mapped) throw new Error(mapped.unusable.field);
  return mapped.record as ClinicRecord<Name>;
}

describe('an invoice whose create lost its answer', () => {
  const section = (lastNumber: number | null) => recordOf('sections', { id: 's', lastNumber });
  const item = { description: 'Visita', quantity: 1, unitPrice: 80.5 };
  const stored = (id: string, number: string | null, more: object = {}) =>
    recordOf('invoices', {
      id,
      number,
      sectionId: 's',
      patientId: 'p',
      issueDate: '2026-03-20',
      Items: [item],
      ...more,
    });
  const values = { sectionId: 's', patientId: 'p', issueDate: '2026-03-20', items: stored('x', null).items };

  async function find(after: number | null, ...invoices: ClinicRecord<'invoices'>[]) {
    async function* pages(): AsyncGenerator<ListPage<ClinicRecord<'invoices'>>> {
      yield { records: invoices, unusable: [] };
    }
    return invoiceDuplicate(values, section(5), { section: async () => section(after), invoices: pages });
  }

  test('was not made when its section gave out no number', async () => {
    expect(await find(5, stored('old', '5/A'))).toBeNull();
  });

  test('is the one with a number that was given out since, not an earlier one that is the same', async () => {
    expect(await find(7, stored('old', '5/A'), stored('new', '7/A'))).toMatchObject({ id: 'new' });
    expect(await find(6, stored('old', '2026-0005'), stored('new', '2026-0006'))).toMatchObject({ id: 'new' });
  });

  test('was not made when the numbers went to others', async () => {
    expect(await find(6, stored('other', '6/A', { patientId: 'q' }))).toBeNull();
    expect(await find(6, stored('other', '6/A', { Items: [{ ...item, unitPrice: 81 }] }))).toBeNull();
    expect(await find(6, stored('other', '6/A', { issueDate: '2026-03-19' }))).toBeNull();
  });

  test('has an unknown fate where numbers can not tell, and is not sent again', async () => {
    expect(await failureOf(find(6, stored('same', 'A')))).toMatchObject({ code: 'fate-unknown', ambiguous: true });
    expect(await failureOf(find(null))).toMatchObject({ code: 'fate-unknown', ambiguous: true });
  });
});

test('decimals are the same number however they are written', () => {
  expect([sameDecimal('80.5', '80.50'), sameDecimal('080', '80'), sameDecimal('-0', '0')]).toEqual([true, true, true]);
  expect([sameDecimal('8', '80'), sameDecimal('-1', '1'), sameDecimal(null, '0')]).toEqual([false, false, false]);
  const hundredths = fc.integer({ min: -10_000_000, max: 10_000_000 });
  const text = (value: number) => (value / 100).toFixed(2);
  fc.assert(fc.property(hundredths, (value) => sameDecimal(text(value), String(value / 100))));
  fc.assert(fc.property(hundredths, hundredths, (a, b) => sameDecimal(text(a), text(b)) === (a === b)));
});

describe('reimbursements whose answer was lost', () => {
  const one = { amount: 10, date: '2026-03-20', reference: 'a' };
  const given = { ...one, amount: '10' };

  /** A clinic that adds these of what it is sent, and loses the answer once. */
  async function lost(added: readonly object[], values: object[]) {
    let [posts, reimbursements] = [0, [one] as object[]];
    await using server = await startScriptedServer(({ method }) => {
      if (method === 'POST' && posts === 0) {
        reimbursements = [...reimbursements, ...added];
        posts += 1;
        return { status: 503 };
      }
      if (method === 'POST') posts += 1;
      return { json: { id: 'i', reimbursements } };
    });
    const { invoices } = openApi(server.url, profile, 'token');
    const outcome = await invoices.addReimbursements('t', 'i', values, unhurried()).catch((error: unknown) => error);
    return { outcome, posts };
  }

  test.each<[string, object[], object[], number]>([
    ['two stored values are not sent again', [one, one], [given, given], 1],
    ['two missing values are sent again', [], [given, given], 2],
    ['a single stored value is not sent again', [one], [given], 1],
  ])('%s', async (_what, added, values, posts) => {
    expect(await lost(added, values)).toMatchObject({ outcome: { id: 'i' }, posts });
  });

  test.each<[string, object[], object[]]>([
    ['one of two that are alike', [one], [given, given]],
    ['one of two that differ', [{ ...one, reference: 'b' }], [given, { ...given, reference: 'b' }]],
  ])('are not sent again if only one exists: %s', async (_what, added, values) => {
    const failure = { actor: 'remote', code: 'fate-unknown', ambiguous: true };
    expect(await lost(added, values)).toMatchObject({ outcome: failure, posts: 1 });
  });
});

test('a status in a clinic word does not match another word of the same meaning', async () => {
  const row = { id: 'a', agendaId: 'g', start: '2026-03-20T10:00:00Z', end: '2026-03-20T11:00:00Z', status: 'Waiting' };
  await using server = await startScriptedServer(({ method }) =>
    method === 'PUT' ? { status: 409, json: { error: 'status_conflict' } } : { json: row },
  );
  const statuses = { Booked: 'booked', Waiting: 'arrived', CheckedIn: 'arrived' } as const;
  const { appointments } = openApi(server.url, profileOf({ appointments: { statuses } }), 'token');
  const set = (status: string) => appointments.setStatus('t', 'a', { status }, unhurried());
  expect(await set('arrived')).toMatchObject({ id: 'a', status: 'arrived' });
  expect(await set('waiting')).toMatchObject({ id: 'a', status: 'arrived' });
  expect(await failureOf(set('checked-in'))).toMatchObject({ code: 'transition-refused' });
});
