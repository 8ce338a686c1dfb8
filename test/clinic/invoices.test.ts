import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { createInvoiceDoctorNames, createInvoiceResolver } from '../../src/clinic/read/invoices.ts';
import type { ListPage } from '../../src/clinic/read/lists.ts';
import type { ClinicRecord } from '../../src/clinic/read/reading-calls.ts';
import { compileRecords } from '../../src/clinic/read/records.ts';
import { RESOURCES, type ResourceName } from '../../src/clinic/schema/resources.ts';
import { invoiceDuplicate, sameDecimal } from '../../src/clinic/write/natural-keys.ts';
import { HOUR_MS } from '../../src/model/time.ts';
import { firstTenant, frontDeskToken, type Json, NOW, readAll } from '../sandbox/clinic/support.ts';
import { openApi } from './open-api.ts';
import { failureOf, profileOf, unhurried, type WrittenProfile } from './open-client.ts';
import { startScriptedServer } from './scripted-server.ts';

const profile = profileOf();

/** A record as the documented profile reads it. */
function recordOf<Name extends ResourceName>(name: Name, row: object): ClinicRecord<Name> {
  const mapped = compileRecords(RESOURCES[name] as never, profile[name].fields as never, profile)(row);
  if ('unusable' in mapped) throw new Error(mapped.unusable.field);
  return mapped.record as ClinicRecord<Name>;
}

describe('an invoice whose lines are followed to their doctors', () => {
  const doctor = (id: string) => ({ id, lastName: `Dottor ${id}` });
  const episode = recordOf('episodes', {
    id: 'e1',
    practices: [
      { practiceId: 1, doctors: [doctor('a'), doctor('b')] },
      { practiceId: 'p2', doctors: [doctor('b')] },
      { practiceId: 'p3' },
    ],
  });
  const links = (...pairs: [string | null, string | number | null][]) => ({
    description: 'x',
    LinkedPractices: pairs.map(([episodeId, practiceId]) => ({ episodeId, practiceId })),
  });

  function open(delays = { clock: 0 }) {
    const asked: string[] = [];
    const resolve = createInvoiceResolver(
      async (_tenantId, id) => {
        asked.push(id);
        if (id === 'broken') return { unusable: { recordId: id, code: 'wrong-type', field: 'practices' } };
        return id === 'e1' ? { found: episode } : { absent: true };
      },
      () => delays.clock,
    );
    return { asked, resolve, delays };
  }

  test('has several practices and doctors in a line, each doctor once, and says of every other link why not', async () => {
    const { resolve, asked } = open();
    const items = [
      links(['e1', 1], ['e1', 'p2'], ['e1', 'p3']),
      links(['gone', 'p1'], ['e1', 'none'], [null, 'p1'], ['e1', null], ['broken', 'p1']),
      { description: 'no links' },
      { description: 'null', LinkedPractices: null },
      { description: 'empty', LinkedPractices: [] },
    ];
    const resolved = await resolve('t', recordOf('invoices', { id: 'i', Items: items }), unhurried());
    expect(resolved.lines.map((line) => line.doctors.map(({ id }) => id))).toEqual([['a', 'b'], [], [], [], []]);
    expect(resolved.lines[0]?.links.map((link) => [link.practiceId, link.doctors.length, link.fault])).toEqual([
      ['1', 2, null],
      ['p2', 1, null],
      ['p3', 0, null],
    ]);
    expect(resolved.lines[1]?.links.map(({ fault }) => fault)).toEqual([
      'episode-gone',
      'practice-unknown',
      'link-incomplete',
      'link-incomplete',
      'episode-unreadable',
    ]);
    expect(resolved.doctors.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(asked.sort()).toEqual(['broken', 'e1', 'gone']);
  });

  test('reads an episode once for many invoices, of one tenant, and again after a while', async () => {
    const { resolve, asked, delays } = open();
    const invoice = recordOf('invoices', { id: 'i', Items: [links(['e1', 'p2'])] });
    for (let index = 0; index < 5; index += 1) await resolve('t', invoice, unhurried());
    expect(asked).toHaveLength(1);
    await resolve('another', invoice, unhurried());
    expect(asked).toHaveLength(2);
    delays.clock = 301_000;
    await resolve('t', invoice, unhurried());
    expect(asked).toHaveLength(3);
  });

  test('has the names behind an invoice remembered until its links change, or for six hours', async () => {
    const { resolve, asked, delays } = open();
    const names = createInvoiceDoctorNames(resolve, () => delays.clock);
    const invoice = recordOf('invoices', { id: 'i', Items: [links(['e1', 'p2'])] });
    const namesOf = (one: ClinicRecord<'invoices'>) => names.of('t', one, unhurried());
    expect(await namesOf(invoice)).toEqual(['Dottor b']);
    delays.clock = 6 * HOUR_MS - 1;
    expect(await namesOf(invoice)).toEqual(['Dottor b']);
    expect(asked).toHaveLength(1);
    expect(await namesOf(recordOf('invoices', { id: 'i', Items: [links(['e1', 1])] }))).toEqual([
      'Dottor a',
      'Dottor b',
    ]);
    expect(asked).toHaveLength(2);
    delays.clock += 6 * HOUR_MS;
    await namesOf(invoice);
    expect(asked).toHaveLength(3);
    delays.clock += HOUR_MS;
    names.retainOnly(new Map([['another', {}]]));
    await namesOf(invoice);
    expect(asked).toHaveLength(4);
  });

  test('passes on what keeps it from reading', async () => {
    const resolve = createInvoiceResolver(() => Promise.reject(new Error('away')), Date.now);
    const invoice = recordOf('invoices', { id: 'i', Items: [links(['e1', 'p2'])] });
    await expect(resolve('t', invoice, unhurried())).rejects.toThrow('away');
  });
});

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

describe('invoices beside another program that creates some in the same section', () => {
  let sandbox: ClinicSandbox;
  let world: { token: string; tenantId: string; values: Partial<ClinicRecord<'invoices'>> };
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 60, now: NOW, invoiceCreationMs: 15 });
    const token = await frontDeskToken(sandbox);
    const { id: tenantId } = firstTenant(sandbox);
    const list = (path: string): Promise<Json[]> => readAll(sandbox, token, `/v2/tenants/${tenantId}${path}`);
    const [[section], [patient]] = [await list('/accounting/sections'), await list('/patients')];
    const line = { description: 'Visita', quantity: '1', unitPrice: '50.00', vatRate: '22' } as never;
    const values = { sectionId: String(section?.id), patientId: String(patient?.id), issueDate: '2026-03-20' };
    world = { token, tenantId, values: { ...values, items: [line] } };
  });
  afterAll(() => sandbox.close());

  const open = (written: WrittenProfile = {}) => openApi(sandbox.baseUrl, profileOf(written), world.token);

  test.each<[400 | 409 | 422, NonNullable<WrittenProfile['errors']>['outOfSequence']]>([
    [409, {}],
    [422, { statuses: [422], says: ['^out_of_sequence$'] }],
    [400, { statuses: [400], says: ['section is busy'] }],
  ])('are tried again when the clinic says %i', async (status, outOfSequence) => {
    sandbox.rules.outOfSequenceStatus = status;
    const apis = [open({ errors: { outOfSequence } }), open({ errors: { outOfSequence } })];
    const create = (api = apis[0]) => api?.invoices.create(world.tenantId, world.values, unhurried());
    const made = await Promise.all([...apis, ...apis, ...apis].map(create));
    expect(new Set(made.map((invoice) => invoice?.number)).size).toBe(6);
  });

  test('are given up after some tries', async () => {
    const always = { kind: 'status', status: 409, body: { error: 'out_of_sequence' } };
    sandbox.faults.add({ fault: always, match: { method: 'POST', path: '/invoices' } });
    const failure = await failureOf(open().invoices.create(world.tenantId, world.values, unhurried()));
    sandbox.faults.clear();
    expect(failure).toMatchObject({ actor: 'conflict', code: 'out-of-sequence' });
  });

  test('are not tried again when another rule refuses them', async () => {
    sandbox.rules.outOfSequenceStatus = 422;
    const api = open({ errors: { outOfSequence: { statuses: [422], says: ['^out_of_sequence$'] } } });
    const asked = sandbox.counts.requests({ method: 'POST', status: 422 });
    const wrong = { ...world.values, patientId: 'nobody' };
    const failure = await failureOf(api.invoices.create(world.tenantId, wrong, unhurried()));
    expect(failure).toMatchObject({ actor: 'contract', code: 'rule-refused' });
    expect(sandbox.counts.requests({ method: 'POST', status: 422 })).toBe(asked + 1);
    expect(
      await failureOf(api.invoices.create(world.tenantId, { issueDate: '2026-03-20' }, unhurried())),
    ).toMatchObject({
      code: 'bad-value',
    });
  });
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
    ['all of which are there', [one, one], [given, given], 1],
    ['none of which is there', [], [given, given], 2],
    ['one alone, which is there', [one], [given], 1],
  ])('%s', async (_what, added, values, posts) => {
    expect(await lost(added, values)).toMatchObject({ outcome: { id: 'i' }, posts });
  });

  test.each<[string, object[], object[]]>([
    ['one of two that are alike', [one], [given, given]],
    ['one of two that differ', [{ ...one, reference: 'b' }], [given, { ...given, reference: 'b' }]],
  ])('are not sent again when some are there and others are not: %s', async (_what, added, values) => {
    const failure = { actor: 'remote', code: 'fate-unknown', ambiguous: true };
    expect(await lost(added, values)).toMatchObject({ outcome: failure, posts: 1 });
  });
});

test('a status that is named in the clinic’s word is not taken for there by another word of the same meaning', async () => {
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
