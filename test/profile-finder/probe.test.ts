import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { DIALECT_NAMES } from '../../sandbox/clinic/dialects/index.ts';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import type { ClinicProfile } from '../../src/clinic/schema/profile.ts';
import { clinicProfileSchema } from '../../src/clinic/schema/profile.ts';
import type { HttpClient, HttpRequest } from '../../src/http/client.ts';
import { render } from '../../src/messages/message.ts';
import { type Probe, probeClinic } from '../../src/profile-finder/probe.ts';
import { MOST_REQUESTS } from '../../src/profile-finder/questions.ts';
import { APPOINTMENTS, PATIENTS, WINDOW as TRUE_WINDOW } from '../clinic/dialect-truth.ts';
import { documented, pages, speak } from '../clinic/dialects.ts';
import {
  committedProfile,
  failureOf,
  profileOf,
  readingsOf,
  unhurried,
  type WrittenProfile,
} from '../clinic/open-client.ts';
import { type Script, startScriptedServer } from '../clinic/scripted-server.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';
import { firstTenant, frontDeskToken, NOW } from '../sandbox/clinic/support.ts';
import { answered } from './answers.ts';
import { italianClinic } from './italian-clinic.ts';

const DAY_MS = 86_400_000;
const WINDOW = { fromAt: NOW - 20 * DAY_MS, toAt: NOW + 50 * DAY_MS };
const DOCUMENTED = clinicProfileSchema.parse({});

/** A HTTP client that remembers what went through it. */
function watched(http: HttpClient, seen: HttpRequest[]): HttpClient {
  return {
    ...http,
    send(request) {
      seen.push(request);
      return http.send(request);
    },
  };
}

describe.each(DIALECT_NAMES)('a probe of a %s clinic', (dialect) => {
  let sandbox: ClinicSandbox;
  let token: string;
  let probe: Probe;
  const requests: HttpRequest[] = [];
  const steps: string[] = [];
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 407, now: NOW, dialect });
    token = await frontDeskToken(sandbox);
    const access = openClinicAccess(sandbox, token, DOCUMENTED, { clock: () => NOW });
    const context = { ...access.context, http: watched(access.context.http, requests) };
    probe = await probeClinic({ ...access, context }, (step) => steps.push(render(step)), unhurried());
  });
  afterAll(() => sandbox.close());

  async function readWith(profile: ClinicProfile) {
    const { context } = openClinicAccess(sandbox, token, profile);
    const query = { agendaIds: null, window: WINDOW };
    return readingsOf(context).readAppointments(firstTenant(sandbox).id, query, unhurried());
  }

  test('gives a profile, unedited but for numbers that nobody can know, with which the same appointments are read as with the one that ships', async () => {
    const proposed = dialect === 'numbers' ? answered(probe.proposedProfile) : parse(probe.proposedProfile);
    const mine = await readWith(profileOf(proposed as WrittenProfile));
    const shipped = await readWith(committedProfile(dialect));
    expect(shipped.records.size).toBeGreaterThan(100);
    expect(mine).toMatchObject({ completeness: 'complete', unusable: [], unidentified: 0 });
    expect(Object.fromEntries(mine.records)).toEqual(Object.fromEntries(shipped.records));
  });

  test('ends with what its profile reads of 20 rows, and begins with the states of them that nobody knows', () => {
    const open = probe.rows?.statuses.flatMap(({ status, values: told }) => (status === 'unknown' ? told : [])) ?? [];
    const question = probe.toDecide.find(({ location: place }) => place === 'appointments.statuses');
    expect(probe.rows).toMatchObject({ of: 'clinic', rows: 20, read: 20, unusable: [] });
    expect(question?.there.split(', ') ?? []).toEqual(expect.arrayContaining(open));
    expect(probe.toDecide.indexOf(question as (typeof probe.toDecide)[number])).toBeLessThanOrEqual(0);
    if (dialect === 'numbers') expect(question?.ask).toMatch(/Of \d+ rows: .*\b90 in \d+/);
  });

  test('asks a few times, reads only, and tells what it is at', () => {
    expect(requests.every(({ method }) => method === 'GET')).toBe(true);
    expect(requests.length).toBeLessThanOrEqual(MOST_REQUESTS);
    expect(steps).toEqual(expect.arrayContaining(['agendas', 'paging']));
  });

  test('tells nothing of patients', async () => {
    const { context } = openClinicAccess(sandbox, token, committedProfile(dialect));
    const said = JSON.stringify(probe);
    const names: (string | null)[] = [];
    for await (const { records } of readingsOf(context).patients.list(firstTenant(sandbox).id, [], unhurried())) {
      names.push(...records.map(({ lastName }) => lastName));
    }
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => name !== null && said.includes(name))).toEqual([]);
  });
});

test('a clinic that fits the profile is told so, with what reading can not tell', async () => {
  const sandbox = await startClinicSandbox({ tenants: 1, appointments: 400, now: NOW });
  const access = openClinicAccess(sandbox, await frontDeskToken(sandbox), DOCUMENTED, { clock: () => NOW });
  const { findings } = await probeClinic(access, () => {}, unhurried());
  await sandbox.close();
  const told = (verdict: string) =>
    findings.filter((one) => one.result === verdict).map(({ location: place }) => place);
  expect(told('differs').filter((place) => place !== 'paging')).toEqual([]);
  expect(told('fits')).toEqual(expect.arrayContaining(['appointments.window.leadHours', 'appointments (cancelled)']));
  expect(told('undecided')).toContain('errors.missingClaim');
});

/** The dialect of numbered pages, strict: it wants a window in dates, and gives 25 rows unless asked for fewer. */
const numberedPages: Script = (request) => {
  const { path, query } = request;
  const isDate = (name: string) => /^\d{4}-\d\d-\d\d$/.test(query.get(name) ?? '');
  const isList = path.endsWith('/appointments');
  if (isList && !(isDate('date_start') && isDate('date_end'))) return { status: 422, json: { error: 'dates_needed' } };
  if (!query.has('page')) query.set('page', '1');
  if (!query.has('pageSize')) query.set('pageSize', '25');
  return speak(pages, {})(request);
};

/** The documented clinic, but a window of other names that it wants, and names when it is missing. */
function windowOf(from: string, to: string): Script {
  const script = speak(documented, {});
  return (request) => {
    const { path, query } = request;
    const [begin, end] = [query.get(from), query.get(to)];
    if (path.endsWith('/appointments') && (begin === null || end === null)) {
      return { status: 400, json: { error: 'invalid', details: [{ field: from }, { field: to }] } };
    }
    query.set('from', begin ?? '');
    query.set('to', end ?? '');
    return script(request);
  };
}

describe('names of windows, agendas and pages that are not the documented ones', () => {
  const cases: [string, Script, string, object][] = [
    [
      'numbered pages, dates and agendas with commas',
      numberedPages,
      't1',
      {
        paging: { style: 'page-size', pageParameter: 'page', sizeParameter: 'pageSize', cap: 25 },
        appointments: { filters: { from: 'date_start', to: 'date_end', agenda: 'agenda_ids' }, allDayEnd: 'inclusive' },
      },
    ],
    [
      'cursors below another prefix, in Italian',
      italianClinic,
      '7',
      {
        paging: { style: 'cursor', cursorParameter: 'cursor', sizeParameter: 'per_page' },
        listPath: 'elenco',
        appointments: { filters: { from: 'dal', to: 'al', agenda: 'idAgenda' }, agendaFilter: { style: 'comma' } },
      },
    ],
  ];
  test.each(cases)('are found: %s', async (_name, script, tenantId, expected) => {
    await using server = await startScriptedServer(script);
    const base = script === italianClinic ? { pathPrefix: '/gestionale/v3' } : {};
    const now = Date.parse('2026-04-01T00:00:00+02:00');
    const access = openClinicAccess({ baseUrl: server.url }, 'token', profileOf(base), { clock: () => now });
    const { proposedProfile } = await probeClinic(access, () => {}, unhurried());
    expect(proposedProfile).not.toContain(PATIENTS[1]?.lastName);
    const profile = profileOf(parse(proposedProfile) as WrittenProfile);
    expect(profile).toMatchObject(expected);
    const { context } = openClinicAccess({ baseUrl: server.url }, 'token', profile);
    const query = { agendaIds: ['1', '3'], window: TRUE_WINDOW };
    const snapshot = await readingsOf(context).readAppointments(tenantId, query, unhurried());
    expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [] });
    expect(snapshot.records.size).toBeGreaterThan(50);
  });

  test('a clinic that refuses every question is told so, with how often and in its own words', async () => {
    await using server = await startScriptedServer(({ path }) =>
      path.endsWith('/appointments')
        ? { status: 400, json: { error: 'missing', message: 'send facilityCode' } }
        : { json: [] },
    );
    const access = openClinicAccess({ baseUrl: server.url }, 'token', DOCUMENTED, { clock: () => NOW + 0.5 });
    const probe = probeClinic({ ...access, tenantId: async () => 't1' }, () => {}, unhurried());
    const failure = await failureOf(probe);
    expect(failure).toMatchObject({ actor: 'settings', code: 'probe-refused' });
    expect(failure.message).toMatch(/refused every question about its list of appointments: \d+ with 400$/);
    expect(failure.vendorMessages()).toContain('send facilityCode');
    expect(server.requests.length).toBeLessThanOrEqual(MOST_REQUESTS);
    const asked = server.requests.flatMap(({ query }) => [...query.values()]);
    expect(asked.filter((value) => /^\d+$/.test(value)).length).toBeGreaterThan(10);
    expect(asked.filter((value) => /^\d+\.\d/.test(value))).toEqual([]);
  });

  test('a clinic whose refusal names the parameters of its window is probed by them once the profile has them', async () => {
    await using server = await startScriptedServer(windowOf('visit_from', 'visit_until'));
    const probe = (profile: ClinicProfile) => {
      const access = openClinicAccess({ baseUrl: server.url }, 'token', profile, { clock: () => TRUE_WINDOW.fromAt });
      return probeClinic(access, () => {}, unhurried());
    };
    const failure = await failureOf(probe(DOCUMENTED));
    expect([failure.code, failure.remedy]).toEqual([
      'probe-refused',
      expect.stringContaining('appointments.filters and window.format'),
    ]);
    const filters = { from: 'visit_from', to: 'visit_until' };
    const { proposedProfile } = await probe(profileOf({ appointments: { filters } }));
    expect(profileOf(parse(proposedProfile) as WrittenProfile).appointments.filters).toMatchObject(filters);
  });

  test('user information that the profile does not read ends the probe, and names the fields that are there', async () => {
    const user = { sub: 'u1', work: { clinics: [{ uid: 't1' }] } };
    await using server = await startScriptedServer(() => ({ json: user }));
    const access = openClinicAccess({ baseUrl: server.url }, 'token', DOCUMENTED);
    const failure = await failureOf(probeClinic(access, () => {}, unhurried()));
    expect(failure).toMatchObject({ code: 'tenants-not-found' });
    expect(failure.message).toContain('the answer has these fields: sub, work');
  });

  test('a flag for cancelled ones is proposed though no appointment is cancelled yet, and another one is not', async () => {
    const rows = APPOINTMENTS.filter(({ status }) => status === 'booked' || status === 'completed').map((one) => ({
      ...documented.row(one),
      confirmedAt: null,
      cancelledAt: null,
    }));
    await using server = await startScriptedServer((request) => {
      const { path } = request;
      if (path === '/v2/userinfo') return { json: { tenants: [{ id: 't1' }] } };
      return path.endsWith('/appointments') ? documented.list(rows, request, false) : { json: { data: [] } };
    });
    const access = openClinicAccess({ baseUrl: server.url }, 'token', DOCUMENTED, { clock: () => TRUE_WINDOW.fromAt });
    const { proposedProfile } = await probeClinic(access, () => {}, unhurried());
    const { flags } = profileOf(parse(proposedProfile) as WrittenProfile).appointments;
    expect(flags).toEqual([{ path: 'cancelledAt', when: 'present', status: 'cancelled', over: null }]);
  });

  test('nothing to tell by is said, not guessed', async () => {
    await using server = await startScriptedServer(({ path }) =>
      path === '/v2/userinfo' ? { json: { tenants: [{ id: 't1' }] } } : { json: [] },
    );
    const access = openClinicAccess({ baseUrl: server.url }, 'token', DOCUMENTED);
    expect(await failureOf(probeClinic(access, () => {}, unhurried()))).toMatchObject({ code: 'probe-empty' });
  });
});
