import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { DIALECT_NAMES } from '../../../sandbox/clinic/dialects/index.ts';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import type { ClinicProfile } from '../../../src/clinic/schema/profile.ts';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import type { HttpClient, HttpRequest } from '../../../src/core/http/client.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { render } from '../../../src/messages/message.ts';
import { type Probe, probeClinic } from '../../../src/setup/probe/probe.ts';
import { MOST_REQUESTS } from '../../../src/setup/probe/questions.ts';
import {
  AGENDAS,
  APPOINTMENTS,
  instantOf,
  overlaps,
  PATIENTS,
  WINDOW as TRUE_WINDOW,
  withOffset,
} from '../../clinic/dialect-truth.ts';
import { documented, pages, speak } from '../../clinic/dialects.ts';
import {
  committedProfile,
  failureOf,
  profileOf,
  readingsOf,
  unhurried,
  type WrittenProfile,
} from '../../clinic/open-client.ts';
import { type Script, startScriptedServer } from '../../clinic/scripted-server.ts';
import { openClinicAccess } from '../../operator/control/open-clinic-access.ts';
import { firstTenant, frontDeskToken, NOW } from '../../sandbox/clinic/support.ts';
import { answered } from '../profile-finder/answers.ts';
import { italianClinic } from './italian-clinic.ts';

const WINDOW = { fromAt: NOW - 20 * DAY_MS, toAt: NOW + 50 * DAY_MS };
const DOCUMENTED = clinicProfileSchema.parse({});

/** An HTTP client that records its requests. */
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
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 207, now: NOW, dialect });
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

  test('gives an unedited profile, except for unknowable numbers, that reads the same appointments as the committed one', async () => {
    const proposed = dialect === 'numbers' ? answered(probe.proposedProfile) : parse(probe.proposedProfile);
    const mine = await readWith(profileOf(proposed as WrittenProfile));
    const shipped = await readWith(committedProfile(dialect));
    expect(shipped.records.size).toBeGreaterThan(100);
    expect(mine).toMatchObject({ completeness: 'complete', unusable: [], unidentified: 0 });
    expect(Object.fromEntries(mine.records)).toEqual(Object.fromEntries(shipped.records));
  });

  test('shows the profile’s values of 20 rows last, and their unknown states first', () => {
    const open = probe.rows?.statuses.flatMap(({ status, values: told }) => (status === 'unknown' ? told : [])) ?? [];
    const question = probe.toDecide.find(({ location: place }) => place === 'appointments.statuses');
    expect(probe.rows).toMatchObject({ of: 'clinic', rows: 20, read: 20, unusable: [] });
    expect(question?.there.split(', ') ?? []).toEqual(expect.arrayContaining(open));
    expect(probe.toDecide.indexOf(question as (typeof probe.toDecide)[number])).toBeLessThanOrEqual(0);
    if (dialect === 'numbers') expect(question?.ask).toMatch(/Observed in \d+ records: .*\b90 in \d+/);
  });

  test('makes few, read-only requests, and reports its progress', () => {
    expect(requests.every(({ method }) => method === 'GET')).toBe(true);
    expect(requests.length).toBeLessThanOrEqual(MOST_REQUESTS);
    expect(steps).toEqual(expect.arrayContaining(['agendas', 'paging']));
  });

  test('shows no patient data', async () => {
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

test('a clinic that fits the profile is reported as such, with facts that requests cannot show', async () => {
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

/** The dialect of numbered pages in a strict form: it requires a window in dates, and returns 25 rows unless the request sets a smaller limit. */
const numberedPages: Script = (request) => {
  const { path, query } = request;
  const isDate = (name: string) => /^\d{4}-\d\d-\d\d$/.test(query.get(name) ?? '');
  const isList = path.endsWith('/appointments');
  if (isList && !(isDate('date_start') && isDate('date_end'))) return { status: 422, json: { error: 'dates_needed' } };
  if (!query.has('page')) query.set('page', '1');
  if (!query.has('pageSize')) query.set('pageSize', '25');
  return speak(pages, {})(request);
};

/** The documented clinic, with required window parameters of other names; its error names a missing one. */
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

  test('a clinic that refuses every request is reported, with the number of refusals and its own message', async () => {
    await using server = await startScriptedServer(({ path }) =>
      path.endsWith('/appointments')
        ? { status: 400, json: { error: 'missing', message: 'send facilityCode' } }
        : { json: [] },
    );
    const access = openClinicAccess({ baseUrl: server.url }, 'token', DOCUMENTED, { clock: () => NOW + 0.5 });
    const probe = probeClinic({ ...access, tenantId: async () => 't1' }, () => {}, unhurried());
    const failure = await failureOf(probe);
    expect(failure).toMatchObject({ actor: 'settings', code: 'probe-refused' });
    expect(failure.message).toMatch(/refused every request for its list of appointments: \d+ with 400$/);
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

  test('user information that the profile cannot read ends the probe, and the existing fields are listed', async () => {
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

  test('missing evidence is reported, not guessed', async () => {
    await using server = await startScriptedServer(({ path }) =>
      path === '/v2/userinfo' ? { json: { tenants: [{ id: 't1' }] } } : { json: [] },
    );
    const access = openClinicAccess({ baseUrl: server.url }, 'token', DOCUMENTED);
    expect(await failureOf(probeClinic(access, () => {}, unhurried()))).toMatchObject({ code: 'probe-empty' });
  });
});

describe('a clinic that pages by Link headers', () => {
  let sandbox: ClinicSandbox;
  let token: string;
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 210, now: NOW, linkPages: 43 });
    token = await frontDeskToken(sandbox);
  });
  afterAll(() => sandbox.close());

  function readWith(written: WrittenProfile) {
    const { context } = openClinicAccess(sandbox, token, profileOf(written), { clock: () => NOW });
    const window = { fromAt: NOW - 400 * DAY_MS, toAt: NOW + 400 * DAY_MS };
    return readingsOf(context).readAppointments(sandbox.tenants[0]?.id ?? '', { agendaIds: null, window }, unhurried());
  }

  test('is read whole by its style, without filters and with', async () => {
    const all = [...sandbox.appointments(sandbox.tenants[0]?.id ?? '')].length;
    const whole = await readWith({ paging: { style: 'link-header' } });
    expect([whole.completeness, whole.records.size]).toEqual(['complete', all]);
    const days = await readWith({ paging: { style: 'link-header' }, appointments: { window: { maxDays: 30 } } });
    expect([days.completeness, days.records.size]).toEqual(['complete', all]);
  });

  test.each<[NonNullable<WrittenProfile['paging']>]>([
    [{ style: 'none' }],
    [{ style: 'next-link' }],
    [{ style: 'cursor' }],
  ])('is never whole under %j', async (paging) => {
    expect(await readWith({ paging })).toMatchObject({ completeness: 'partial' });
  });

  test('is recognised by the probe, whose profile reads it whole', async () => {
    const access = openClinicAccess(sandbox, token, DOCUMENTED, { clock: () => NOW });
    const probe = await probeClinic(access, () => {}, unhurried());
    const proposed = parse(probe.proposedProfile) as WrittenProfile;
    expect(proposed.paging).toMatchObject({ style: 'link-header' });
    expect(await readWith(proposed)).toMatchObject({ completeness: 'complete' });
  });
});

/** Appointments of the clinic without names that are known. */
const TIMED = APPOINTMENTS.filter(({ start }) => start.length > 10);

/** The list format of a clinic with unknown names. */
const anyManner = fc.record({
  total: fc.constantFrom('X-Total-Count', 'X-Total', 'Total-Count', 'X-Pagination-Total-Count', 'Content-Range'),
  id: fc.constantFrom('uid', 'appointmentNumber', '_id', 'Key', 'appointment_key', 'bookingId'),
  status: fc.constantFrom('State.code', 'state.Key', 'Stato.codice', 'status.value', 'appointmentStatus.id'),
  lasts: fc.constantFrom('minutes', 'seconds', 'iso', 'clock'),
  whole: fc.constantFrom('patientName', 'patient_display_name', 'nominativo', 'clientName'),
  agenda: fc.constantFrom('calendar_id', 'calendars', 'scheduleId', 'agenda'),
});
type Manner = Parameters<Parameters<typeof anyManner.map>[0]>[0];

function lengthIn({ lasts }: Manner, minutes: number): object {
  const clock = `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
  switch (lasts) {
    case 'seconds':
      return { durationSeconds: minutes * 60 };
    case 'iso':
      return { duration: `PT${Math.floor(minutes / 60)}H${minutes % 60}M` };
    case 'clock':
      return { duration: clock };
    default:
      return { duration: minutes };
  }
}

function rowIn(manner: Manner, { id, agendaId, patientId, start, end, status }: (typeof TIMED)[number]): object {
  const [state = '', code = ''] = manner.status.split('.');
  return {
    [manner.id]: `A-${id}`,
    calendar: { id: agendaId },
    patientId,
    [manner.whole]: wholeNameOf(patientId),
    start: withOffset(start),
    ...lengthIn(manner, (instantOf(end) - instantOf(start)) / 60_000),
    [state]: { [code]: status.toUpperCase(), shownAs: 'x' },
  };
}

function wholeNameOf(patientId: string | null): string | null {
  const patient = PATIENTS.find(({ id }) => id === patientId);
  return patient === undefined ? null : `${patient.firstName} ${patient.lastName}`;
}

/** The complete format; by default patients have their whole name in `fullName`. */
type Spoken = Manner & { patient?: string };

function speaking(manner: Spoken): Script {
  const paged = (all: object[], query: URLSearchParams) => {
    const offset = Number(query.get('offset') ?? 0);
    const rows = all.slice(offset, offset + Math.min(Number(query.get('limit') ?? 20), 20));
    const range = `items ${offset}-${offset + rows.length - 1}/${all.length}`;
    return { json: rows, headers: { [manner.total]: manner.total === 'Content-Range' ? range : String(all.length) } };
  };
  return ({ path, query }) => {
    if (path.endsWith('/userinfo')) return { json: { tenants: [{ id: 't1' }] } };
    if (path.endsWith('/agendas')) return paged([...AGENDAS], query);
    if (path.endsWith('/patients'))
      return paged(
        PATIENTS.map((each) => patientRow(each, manner.patient)),
        query,
      );
    if (!path.endsWith('/appointments')) return { status: 404, json: { error: 'not_found' } };
    const [from, to] = [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')];
    const asked = query.getAll(manner.agenda);
    const shown = TIMED.filter(
      (each) => overlaps(each, from, to) && (asked.length === 0 || asked.includes(each.agendaId)),
    );
    return paged(
      shown.map((each) => rowIn(manner, each)),
      query,
    );
  };
}

function patientRow({ id, firstName, lastName }: (typeof PATIENTS)[number], name = 'fullName'): object {
  return { id, [name]: `${firstName} ${lastName}`, email: `${id}@x.example` };
}

async function probed(manner: Spoken, written: WrittenProfile = {}) {
  await using server = await startScriptedServer(speaking(manner));
  const access = openClinicAccess({ baseUrl: server.url }, 'token', profileOf(written), {
    clock: () => TRUE_WINDOW.fromAt,
  });
  const probe = await probeClinic(access, () => {}, unhurried());
  const profile = profileOf(parse(probe.proposedProfile) as WrittenProfile);
  const { context } = openClinicAccess({ baseUrl: server.url }, 'token', profile);
  const query = { agendaIds: ['1', '3'], window: TRUE_WINDOW };
  const snapshot = await readingsOf(context).readAppointments('t1', query, unhurried());
  return { probe, profile, snapshot };
}

const MANNER: Manner = {
  total: 'X-Total',
  id: 'uid',
  status: 'State.code',
  lasts: 'iso',
  whole: 'patientName',
  agenda: 'calendars',
};

describe('a clinic whose names no profile has', () => {
  test('is read completely with the proposed profile, or guesses become questions with a candidate value', async () => {
    await fc.assert(
      fc.asyncProperty(anyManner, async (manner) => {
        const { probe, profile, snapshot } = await probed(manner);
        expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [] });
        const wanted = TIMED.filter(
          (one) => ['1', '3'].includes(one.agendaId) && overlaps(one, TRUE_WINDOW.fromAt, TRUE_WINDOW.toAt),
        );
        const times = (one: { id: string; startAt: number; endAt: number }) => `${one.id} ${one.startAt} ${one.endAt}`;
        expect([...snapshot.records.values()].map(({ id, time }) => times({ id, ...time })).sort()).toEqual(
          wanted
            .map(({ id, start, end }) => times({ id: `A-${id}`, startAt: instantOf(start), endAt: instantOf(end) }))
            .sort(),
        );
        expect(profile.paging).toMatchObject({ totalPath: `header:${manner.total.toLowerCase()}` });
        expect(profile.appointments).toMatchObject({
          fields: { id: [manner.id], status: [manner.status] },
          filters: { agenda: manner.agenda },
          patientFullName: null,
        });
        const asked = probe.toDecide.map(({ location: place }) => place);
        expect(asked).toContain('appointments.patientFullName');
        expect(asked.includes('appointments.durationUnit')).toBe(manner.lasts === 'minutes');
        if (manner.id !== '_id') expect(asked).toContain('appointments.fields.id');
      }),
      { numRuns: 6 },
    );
  });

  test.each(['fullName', 'name', 'nominativo'])(
    'has a question whether the field %s contains the full name, and in which order',
    async (patient) => {
      const { probe, profile } = await probed({ ...MANNER, patient });
      expect(profile.patients).toMatchObject({ fullName: null });
      const question = probe.toDecide.find(({ location: place }) => place === 'patients.fullName')?.ask;
      expect(question).toContain(`does ${patient} contain the full name?`);
      expect(question).toContain('order: family-first');
      expect(probe.proposedProfile).not.toContain('x.example');
    },
  );

  test('has every path told that finds nothing, of each list that is read', async () => {
    const { probe } = await probed(MANNER, {
      appointments: { fields: { priceListId: ['fee.list'] } },
      patients: { fields: { taxCode: ['fiscal.code'] } },
      agendas: { fields: { doctorId: ['doctor.key'] } },
    });
    const told = probe.remarks.join(' ');
    expect(told).toContain('appointments.fields.priceListId: the path fee.list found nothing');
    expect(told).toContain('patients.fields.taxCode: the path fiscal.code found nothing');
    expect(told).toContain('agendas.fields.doctorId: the path doctor.key found nothing');
  });
});
