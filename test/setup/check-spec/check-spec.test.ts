import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { checkSpecification } from '../../../src/setup/check-spec/check-spec.ts';
import { committedProfile, openClient, profileOf, unhurried, type WrittenProfile } from '../../clinic/open-client.ts';
import { firstTenant, frontDeskToken, NOW } from '../../sandbox/clinic/support.ts';
import { answered } from '../profile-finder/answers.ts';
import { DOCUMENTED, withAppointments } from '../profile-finder/documents.ts';

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
const document = readFileSync(new URL('../../fixtures/openapi-numbers.yaml', import.meta.url), 'utf8');
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
