import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { type ClinicAccess, readClinic, readClinicRaw, writeClinic } from '../../../src/operator/control/clinic.ts';
import { failureOf, unhurried } from '../../clinic/open-client.ts';
import { firstTenant, frontDeskToken, NOW } from '../../sandbox/clinic/support.ts';
import { openClinicAccess } from './open-clinic-access.ts';

let sandbox: ClinicSandbox;
let access: ClinicAccess;
beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 100, now: NOW });
  access = openClinicAccess(sandbox, await frontDeskToken(sandbox), clinicProfileSchema.parse({}));
});
afterAll(() => sandbox.close());

const DAYS = { from: '2026-03-01T00:00:00+01:00', to: '2026-03-20T00:00:00+01:00' };
const window = Object.entries(DAYS);

function ask(resource: string, more: object = {}) {
  return { resource, verb: 'read', ids: [], values: {}, parameters: [] as [string, string][], pdf: null, ...more };
}

const FIELDS: Readonly<Record<string, string>> = {
  ...{ agendaId: 'agendaId', calendarId: 'agendaId', sedeId: 'locationId', prestazioneId: 'treatmentId' },
  ...{ paziente: 'patientId', stato: 'status' },
};

/** Returns a value for a filter from an appointment in these days that has one. */
async function valueFor(name: string): Promise<string> {
  const field = FIELDS[name] ?? '';
  const pages = await Array.fromAsync(readClinic(access, ask('appointments', { parameters: window }), unhurried()));
  return String(pages.flatMap(({ records }) => records).find((record) => record[field] != null)?.[field]);
}

/** What the records of a list tell in a field. */
async function fieldOf(resource: string, field: string): Promise<string[]> {
  const pages = await Array.fromAsync(readClinic(access, ask(resource), unhurried()));
  return pages.flatMap(({ records }) =>
    records.flatMap((record) => (record[field] == null ? [] : String(record[field]))),
  );
}

describe('an unknown filter value never gives an empty answer', () => {
  test.each([
    ['agendaId', 'agenda', 'agendas'],
    ['status', 'status', 'appointments.statuses'],
  ])('%s of appointments', async (name, what, where) => {
    const question = ask('appointments', { parameters: [...window, [name, 'no-such-one']] });
    for (const reading of [readClinic, readClinicRaw]) {
      const failure = await failureOf(Array.fromAsync(reading(access, question, unhurried())));
      expect(failure).toMatchObject({ actor: 'settings', code: 'unknown-filter-value' });
      expect(failure.message).toContain(`${name}: the clinic has no ${what} "no-such-one"`);
      expect(failure.remedy).toContain(where);
    }
  });

  test('a typing error is answered with the nearest name', async () => {
    const [agenda] = sandbox.appointments ? [...sandbox.appointments(firstTenant(sandbox).id)] : [];
    const id = agenda?.agendaId ?? '';
    const question = ask('appointments', { parameters: [...window, ['agendaId', `${id}x`]] });
    const failure = await failureOf(Array.fromAsync(readClinic(access, question, unhurried())));
    expect(failure.message).toContain(`Nearest: ${id}`);
  });

  test('a treatment in a filter of availability', async () => {
    const values = { fromAt: DAYS.from, toAt: DAYS.to };
    const question = ask('availabilities', { ids: ['no-such-one', 'private'], values });
    const failure = await failureOf(Array.fromAsync(readClinic(access, question, unhurried())));
    expect(failure).toMatchObject({ code: 'unknown-filter-value' });
    expect(failure.message).toContain('the clinic has no treatment "no-such-one"');
  });

  test('a known value may have no record', async () => {
    const [one] = [...sandbox.appointments(firstTenant(sandbox).id)];
    const far = [
      ['from', '2031-03-01T00:00:00+01:00'],
      ['to', '2031-03-02T00:00:00+01:00'],
    ];
    const question = ask('appointments', { parameters: [...far, ['agendaId', one?.agendaId ?? '']] });
    const pages = await Array.fromAsync(readClinic(access, question, unhurried()));
    expect(pages.flatMap(({ records }) => records)).toEqual([]);
  });

  test.each(['calendarId', 'sedeId', 'prestazioneId', 'paziente', 'stato'])(
    'the records of a clinic that ignores %s are not accepted as the answer',
    async (name) => {
      const one = await valueFor(name);
      const question = ask('appointments', { parameters: [...window, [name, one]] });
      for (const reading of [readClinic, readClinicRaw]) {
        const failure = await failureOf(Array.fromAsync(reading(access, question, unhurried())));
        expect(failure).toMatchObject({ actor: 'settings', code: 'filter-ignored' });
        expect(failure.message).toContain(`${name}: the clinic ignores this filter`);
        if (name === 'paziente') expect(`${failure.message} ${failure.remedy}`).not.toContain(one);
      }
    },
  );

  test('an unknown value of an ignored filter is reported', async () => {
    const question = ask('appointments', { parameters: [...window, ['calendarId', 'no-such-one']] });
    const failure = await failureOf(Array.fromAsync(readClinic(access, question, unhurried())));
    expect(failure).toMatchObject({ code: 'unknown-filter-value' });
  });

  test('a filter that the clinic supports gives its records', async () => {
    const question = ask('appointments', { parameters: [...window, ['agendaId', await valueFor('agendaId')]] });
    for (const reading of [readClinic, readClinicRaw]) {
      const pages = await Array.fromAsync(reading(access, question, unhurried()));
      expect(pages.flatMap(({ records }) => records).length).toBeGreaterThan(0);
    }
  });

  test.each([
    ['calendarId', async () => (await fieldOf('agendas', 'id')).join('; ')],
    ['calendarId', async () => (await fieldOf('agendas', 'id')).join(', ')],
    ['calendarId', async () => '*'],
    ['calendarId', async () => ''],
    ['calendarId', async () => '!no-such-one'],
    ['stato', async () => 'all'],
    ['stato', async () => 'Active'],
    ['stato', async () => 'ne:Cancelled'],
    ['treatmentCode', async () => (await fieldOf('treatments', 'code'))[0] ?? ''],
    ['guarantorPatientId', () => valueFor('paziente')],
    ['patientNumber', async () => '77'],
  ])(
    'the records do not show whether a clinic supports %s of this kind: they are accepted as the answer',
    async (name, value) => {
      const question = ask('appointments', { parameters: [...window, [name, await value()]] });
      for (const reading of [readClinic, readClinicRaw]) {
        const pages = await Array.fromAsync(reading(access, question, unhurried()));
        expect(pages.flatMap(({ records }) => records).length).toBeGreaterThan(0);
      }
    },
  );

  test('a treatment’s code is accepted if the filter supports codes', async () => {
    const [code = ''] = await fieldOf('treatments', 'code');
    const far: [string, string][] = [
      ['from', '2031-03-01T00:00:00+01:00'],
      ['to', '2031-03-02T00:00:00+01:00'],
    ];
    const asked = (value: string) => ask('appointments', { parameters: [...far, ['treatmentCode', value]] });
    const pages = await Array.fromAsync(readClinic(access, asked(code), unhurried()));
    expect(pages.flatMap(({ records }) => records)).toEqual([]);
    const failure = await failureOf(Array.fromAsync(readClinic(access, asked('no-such-one'), unhurried())));
    expect(failure).toMatchObject({ code: 'unknown-filter-value' });
  });

  test.each([
    ['patientName', 'Rossi'],
    ['isNewPatient', 'true'],
    ['calendarType', 'week'],
    ['paymentStatus', 'Paid'],
  ])('%s requests no agenda, patient or status', async (name, value) => {
    const far: [string, string][] = [
      ['from', '2031-03-01T00:00:00+01:00'],
      ['to', '2031-03-02T00:00:00+01:00'],
    ];
    const question = ask('appointments', { parameters: [...far, [name, value]] });
    const pages = await Array.fromAsync(readClinic(access, question, unhurried()));
    expect(pages.flatMap(({ records }) => records)).toEqual([]);
  });
});

test('a refused booking gives the reason, and no patient’s name is requested', async () => {
  const [one] = [...sandbox.appointments(firstTenant(sandbox).id)];
  const values = {
    ...{ agendaId: one?.agendaId, patientId: one?.patientId, patientFirstName: 'Mario', patientLastName: 'Rossi' },
    ...{ start: '2026-03-02T10:00:00+01:00', end: '2026-03-02T09:00:00+01:00' },
  };
  const failure = await failureOf(writeClinic(access, ask('appointments', { verb: 'create', values }), unhurried()));
  expect([400, 422]).toContain(failure.status);
  expect(`${failure.message} ${failure.remedy}`).not.toMatch(/Mario|Rossi|has no patient/);
});
