import { describe, expect, test } from 'vitest';
import { createInvoiceDoctorNames, createInvoiceResolver } from '../../../src/clinic/read/invoices.ts';
import type { ClinicRecord } from '../../../src/clinic/read/reading-calls.ts';
import { compileRecords } from '../../../src/clinic/read/records.ts';
import { RESOURCES, type ResourceName } from '../../../src/clinic/schema/resources.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { profileOf, unhurried } from '../open-client.ts';

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

  test('throws the error that prevents the read', async () => {
    const resolve = createInvoiceResolver(() => Promise.reject(new Error('away')), Date.now);
    const invoice = recordOf('invoices', { id: 'i', Items: [links(['e1', 'p2'])] });
    await expect(resolve('t', invoice, unhurried())).rejects.toThrow('away');
  });
});
