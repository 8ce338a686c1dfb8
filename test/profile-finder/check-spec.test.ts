import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { renderProfileCheck } from '../../src/cli/render-check-spec.ts';
import { clinicProfileSchema } from '../../src/clinic/schema/profile.ts';
import { DAY_MS } from '../../src/model/time.ts';
import { checkSpecification, concluded, type ProfileCheck, readRows } from '../../src/profile-finder/check-spec.ts';
import { committedProfile, openClient, profileOf, unhurried, type WrittenProfile } from '../clinic/open-client.ts';
import { firstTenant, frontDeskToken, NOW } from '../sandbox/clinic/support.ts';
import { answered } from './answers.ts';
import { DOCUMENTED, withAppointments } from './documents.ts';

const ROW = {
  id: 'a-17',
  agendaId: 'g-3',
  patientId: 'p-8',
  patient: { firstName: 'Annamaria', lastName: 'Bellini' },
  start: '2026-03-29T09:00:00+02:00',
  end: '2026-03-29T09:30:00+02:00',
  status: 'Booked',
  notes: 'afraid of needles',
  telefono: '3331234567',
};

function shown(rows: readonly unknown[], written: WrittenProfile = {}) {
  const read = readRows(rows, profileOf(written));
  if (read === null) throw new Error('there were no rows');
  return read;
}

test('check-spec and probe report a zone that rows contain and the profile ignores', () => {
  const rows = [1, 2].map((id) => ({
    ...{ ...ROW, id, start: '2026-03-29T09:00:00', end: '2026-03-29T09:30:00' },
    site: { tz: 'Asia/Tokyo' },
  }));
  const document = JSON.stringify({ openapi: '3.0.0', info: { title: 'x', version: '1' }, paths: {} });
  const values = (check: ProfileCheck) => renderProfileCheck(check).replaceAll(/\s+/g, ' ');
  const sentence = 'appointments: site.tz names the zone Asia/Tokyo in 2 records';
  const profile = profileOf({ appointments: { fields: { zone: ['timeZone'] } } });
  expect(values(checkSpecification(document, profile, JSON.stringify(rows)))).toContain(sentence);
  // A probe concludes in the same way, from rows of the clinic itself.
  const compared = { findings: [], changes: [] } as unknown as Parameters<typeof concluded>[0];
  expect(values(concluded(compared, profile, [], (proposed) => readRows(rows, proposed)))).toContain(sentence);
  const named = profileOf({ appointments: { fields: { zone: ['site.tz'] } } });
  expect(values(checkSpecification(document, named, JSON.stringify(rows)))).not.toContain('site.tz names');
});

describe('the values that a profile reads from some rows', () => {
  test('are shown with one row, the clinic’s value next to the parsed one, and the unread parts', () => {
    const { fields, notRead, ...counts } = shown([ROW, { ...ROW, id: 'a-18', status: 'Cancelled' }, ROW, ROW]);
    expect(counts).toEqual({
      of: 'clinic',
      remarks: [],
      rows: 4,
      read: 4,
      unusable: [],
      statuses: [
        { status: 'booked', values: ['Booked'], rows: 3 },
        { status: 'cancelled', values: ['Cancelled'], rows: 1 },
      ],
    });
    const start = '2026-03-29T09:00:00+02:00';
    expect(fields).toContainEqual({ field: 'start', path: 'start', value: start, read: start });
    expect(fields).toContainEqual({ field: 'status', path: 'status', value: 'Booked', read: 'booked' });
    expect(fields).toContainEqual({
      field: 'patientLastName',
      path: 'patient.lastName',
      value: '(text)',
      read: '(text)',
    });
    expect(notRead).toEqual(['telefono']);
  });

  test('reveal a wrong path: unreadable values are marked next to the value', () => {
    const { fields, read, unusable } = shown([ROW], { appointments: { fields: { start: ['status'] } } });
    expect([read, unusable]).toEqual([0, [{ code: 'bad-time', field: 'start', rows: 1 }]]);
    expect(fields).toContainEqual(expect.objectContaining({ field: 'start', path: 'status', read: 'cannot be read' }));
  });

  test('show twenty of many rows, chosen from every part of the list', () => {
    const many = Array.from({ length: 95 }, (_, index) => ({
      ...ROW,
      id: `a-${index}`,
      status: index < 48 ? 'Booked' : 'Lost',
    }));
    expect(shown(many)).toMatchObject({
      rows: 20,
      statuses: [{ rows: 12 }, { status: 'unknown', values: ['Lost'], rows: 8 }],
    });
  });

  test('contain no patient data, for any path in a profile', () => {
    const word = fc.stringMatching(/^[A-Z][a-z]{5,9}$/);
    const sentence = fc.tuple(word, word).map((words) => words.join(' '));
    const field = fc.constantFrom(
      'id',
      'agendaId',
      'doctorId',
      'start',
      'status',
      'source',
      'notes',
      'locationId',
      'duration',
    );
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 6, maxLength: 6 }), sentence, field, (names, note, mistaken) => {
        const rows = names.map((name, index) => ({
          ...ROW,
          id: `a-${index}`,
          cognome: name,
          notes: note,
          patient: { firstName: name, lastName: name },
        }));
        for (const path of ['cognome', 'notes', 'patient.lastName']) {
          const read = shown(rows, { appointments: { fields: { [mistaken]: [path] } } });
          const said = JSON.stringify(read);
          expect([...names, note].filter((secret) => said.includes(secret))).toEqual([]);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('fit into 100 columns, at the end of the output', () => {
    const rows = shown([{ ...ROW, agendaId: `agenda-${'1'.repeat(200)}` }]);
    const check = { fits: true, toDecide: [], findings: [], proposedProfile: '', omitted: [], remarks: [], rows };
    const lines = renderProfileCheck(check).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.at(-1)).toBe('Not read in this record: telefono.');
  });
});

test('a document of any JSON at all gives a profile that loads, or says that it is no document', () => {
  fc.assert(
    fc.property(fc.json(), fc.jsonValue(), fc.jsonValue(), (row, parameter, components) => {
      const document = withAppointments(JSON.parse(row), { components }, [parameter]);
      const { proposedProfile } = checkSpecification(document, DOCUMENTED);
      expect(clinicProfileSchema.safeParse(parse(proposedProfile)).success).toBe(true);
    }),
    { numRuns: 200 },
  );
});

const WINDOW = { fromAt: NOW - 20 * DAY_MS, toAt: NOW + 50 * DAY_MS };
const document = readFileSync(new URL('../fixtures/openapi-numbers.yaml', import.meta.url), 'utf8');
const check = checkSpecification(document, profileOf());

describe('the document of a clinic of numbers', () => {
  let sandbox: ClinicSandbox;
  let token: string;
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 400, now: NOW, dialect: 'numbers' });
    token = await frontDeskToken(sandbox);
  });
  afterAll(() => sandbox.close());

  function clientWith(written: WrittenProfile) {
    const header = async () => `Bearer ${token}`;
    return openClient(sandbox.baseUrl, profileOf(written), { authorization: { header, renew: header } }).client;
  }

  async function readWith(written: WrittenProfile) {
    return clientWith(written).readAppointments(
      firstTenant(sandbox).id,
      { agendaIds: null, window: WINDOW },
      unhurried(),
    );
  }

  test('first has a question about its states, and fits no profile before the answer', () => {
    expect(check.toDecide[0]).toMatchObject({
      location: 'appointments.statuses',
      there: '0, 10, 20, 30, 40, 90, 91',
      ask: expect.stringContaining('also cancelled records'),
    });
    const again = checkSpecification(document, profileOf(parse(check.proposedProfile) as WrittenProfile));
    expect([again.fits, again.findings.filter(({ result: verdict }) => verdict === 'differs')]).toEqual([false, []]);
    expect(checkSpecification(document, profileOf(answered(check.proposedProfile))).fits).toBe(true);
  });

  test('gives a complete profile once the states are answered, like the committed one', async () => {
    const mine = await readWith(answered(check.proposedProfile));
    expect(mine).toMatchObject({ completeness: 'complete', unusable: [], unidentified: 0 });
    const shipped = await readWith(committedProfile('numbers'));
    expect(shipped.records.size).toBeGreaterThan(100);
    expect(Object.fromEntries(mine.records)).toEqual(Object.fromEntries(shipped.records));
    expect([...mine.records.values()].some(({ status }) => status === 'cancelled')).toBe(true);
  });

  test('gives a profile that finds agendas and patients in their own envelopes', async () => {
    const client = clientWith(parse(check.proposedProfile) as WrittenProfile);
    const tenant = firstTenant(sandbox);
    const idsOf = async (list: 'agendas' | 'patients') => {
      const pages = await Array.fromAsync<{ records: { id: string }[] }>(client[list].list(tenant.id, [], unhurried()));
      return pages.flatMap(({ records }) => records.map(({ id }) => id));
    };
    expect((await idsOf('agendas')).sort()).toEqual(tenant.agendas.map(({ id }) => id).sort());
    const patients = await idsOf('patients');
    expect(patients.length).toBeGreaterThan(20);
    const [first = ''] = patients;
    expect(await client.patients.read(tenant.id, first, unhurried())).toMatchObject({ found: { id: first } });
  });

  test('unanswered gives the same rows, each with a state that is not known', async () => {
    const { records, unusable } = await readWith(parse(check.proposedProfile) as WrittenProfile);
    expect(unusable).toEqual([]);
    expect(new Set([...records.values()].map(({ status }) => status))).toEqual(new Set(['unknown']));
  });

  test('shows what is read of a row of its examples', () => {
    expect(check.rows).toMatchObject({ of: 'document', notRead: [] });
    expect(check.rows?.fields).toContainEqual({
      field: 'start',
      path: 'starts',
      value: '1773997200',
      read: '2026-03-20T10:00:00+01:00',
    });
    expect(check.rows?.fields).toContainEqual({ field: 'status', path: 'state', value: '0', read: 'unknown' });
  });
});
