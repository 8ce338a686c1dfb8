import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { TracedReminders } from '../../../src/core/model/reminders.ts';
import type { TimeWindow } from '../../../src/core/model/time.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import type { ForgottenTenant } from '../../../src/features/forget/ports.ts';
import { findNewer, findRecords } from '../../../src/features/forget/records.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { patientOf } from '../../tenant/world.ts';

const YEAR_MS = 365 * DAY_MS;

/** Opens a clinic that has the patient `p1` and records the requests for its lists. */
function openWorld({ streams = ['appointments'], futureDays = 30 } = {}) {
  const clinic = createModelClinic();
  clinic.patientList.push(patientOf('p1'));
  const asked: TimeWindow[] = [];
  const { readAppointments } = clinic;
  clinic.readAppointments = (query, signal) => {
    asked.push(query.window);
    return readAppointments(query, signal);
  };
  const traces: { now: TracedReminders } = { now: { reminders: [], links: [] } };
  const tenant = {
    ...{ clinic, clock: () => NOW },
    targets: new Map(
      streams.map((stream) => [stream, { stream, configuration: { window: { pastDays: 7, futureDays } } }]),
    ),
    reminderTraces: { find: async () => traces.now },
  } as unknown as ForgottenTenant;
  const book = (id: string, changes: Parameters<typeof appointmentOf>[1] = {}) =>
    clinic.appointments.set(id, appointmentOf(id, { patientId: 'p1', ...changes }));
  const find = (progress: Parameters<typeof findRecords>[2] = () => {}) =>
    findRecords(tenant, { patientId: 'p1' }, progress, NEVER);
  return { clinic, tenant, asked, traces, book, find };
}

const forbidden = (status = 403) =>
  new MirrorError('x', { actor: 'authorization', code: 'forbidden', retry: 'never', status });

describe('appointments of a patient', () => {
  test('are requested without a gap from ten years ago to the end of the widest window, at least a year ahead', async () => {
    for (const [futureDays, endAt] of [
      [30, NOW + YEAR_MS],
      [500, NOW + 500 * DAY_MS],
    ] as const) {
      const { asked, find } = openWorld({ futureDays });
      const steps: number[] = [];
      await find((_, done) => steps.push(done ?? -1));
      expect([asked[0]?.fromAt, asked.at(-1)?.toAt]).toEqual([NOW - 10 * YEAR_MS, endAt]);
      for (const [index, { fromAt }] of asked.slice(1).entries()) expect(fromAt).toBe(asked[index]?.toAt);
      expect(steps).toEqual(asked.map((_, index) => index));
    }
  });

  test('are those of the patient only; upcoming means neither cancelled nor begun', async () => {
    const { book, find } = openWorld();
    book('soon');
    book('past', { inHours: -48 });
    book('cancelled', { status: 'cancelled' });
    book('other', { patientId: 'p2' });
    const { ids, upcoming } = await find();
    expect([[...ids.appointments].sort(), [...upcoming]]).toEqual([['cancelled', 'past', 'soon'], ['soon']]);
  });

  test('of several patients are only the visit of the patient, also after a reminder for one patient', async () => {
    const { book, find, traces } = openWorld();
    book('g', { patientId: 'p2', patientIds: ['p2', 'p1'] });
    book('h', { patientId: 'p2', patientIds: ['p2', 'p3'] });
    expect([...(await find()).ids.appointments]).toEqual(['g~patient:p1']);
    traces.now = { reminders: ['g', 'h'].map((appointmentId) => ({ id: 'r', appointmentId })), links: [] } as never;
    expect([...(await find()).ids.appointments]).toEqual(['g~patient:p1', 'g']);
  });

  test('that were booked or cancelled meanwhile are found by a later look', async () => {
    const { book, find, tenant } = openWorld();
    book('a');
    const records = await find();
    book('a', { status: 'cancelled' });
    book('b');
    await findNewer(tenant, records, NEVER);
    expect([[...records.ids.appointments], [...records.upcoming]]).toEqual([['a', 'b'], ['b']]);
  });

  test('of a list that was cut off are a warning: appointments-partial', async () => {
    const { clinic, book, find } = openWorld();
    book('a');
    clinic.truncatedAfter = 0;
    expect((await find()).warnings).toContain('appointments-partial');
  });
});

describe('the patient', () => {
  test('has a warning for each kind of answer of the clinic', async () => {
    const { clinic, find } = openWorld();
    const found = async (answer: unknown) => {
      clinic.readPatient = async () => answer as never;
      const { warnings, isGone } = await find();
      return [...warnings, isGone];
    };
    expect(await found({ found: patientOf('p1') })).toEqual(['still-in-clinic', false]);
    expect(await found({ absent: true })).toEqual(['clinic-has-no-patient', true]);
    expect(await found({ unusable: { code: 'bad' } })).toEqual(['patient-unusable', false]);
  });

  test('and invoices that the connection must not read are a warning; any other failure aborts', async () => {
    const { clinic, find } = openWorld({ streams: ['invoices'] });
    clinic.readPatient = () => Promise.reject(forbidden());
    clinic.readInvoices = () => Promise.reject(forbidden());
    expect([...(await find()).warnings]).toEqual(['patient-unread', 'invoices-unread']);
    clinic.readPatient = () => Promise.reject(forbidden(401));
    await expect(find()).rejects.toMatchObject({ status: 401 });
  });
});

test('invoices are read if only a target uses them, and only those of the patient', async () => {
  const invoice = (id: string, patientId: string) => ({ id, patientId }) as never;
  for (const [stream, ids] of [
    ['invoices', ['i1']],
    ['patients', []],
  ] as const) {
    const { clinic, find } = openWorld({ streams: [stream] });
    clinic.invoiceList.push(invoice('i1', 'p1'), invoice('i2', 'p2'));
    expect([...(await find()).ids.invoices]).toEqual(ids);
  }
});

test('a reminder leads to an appointment that no list shows; one that is another patient’s now stays', async () => {
  const { clinic, book, find, traces } = openWorld();
  book('theirs', { patientId: 'p2', inHours: -90_000 });
  traces.now = {
    reminders: [
      { id: 'r1', appointmentId: 'unlisted', remainingMs: 1 },
      { id: 'r2', appointmentId: 'theirs', remainingMs: 1 },
      { id: 'r3', appointmentId: null, remainingMs: 1 },
      { id: 'r4', appointmentId: 'theirs', remainingMs: 1 },
    ],
    links: ['link'],
  };
  const { ids, reminders } = await find();
  expect([...ids.appointments]).toEqual(['unlisted']);
  expect([reminders.reminders.map(({ id }) => id), reminders.links]).toEqual([['r1', 'r3'], ['link']]);
  expect(clinic.counts.lookups).toBe(2);
});
