import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { probeClinic } from '../../src/profile-finder/probe.ts';
import { AGENDAS, APPOINTMENTS, instantOf, overlaps, PATIENTS, WINDOW, withOffset } from '../clinic/dialect-truth.ts';
import { profileOf, readingsOf, unhurried, type WrittenProfile } from '../clinic/open-client.ts';
import { type Script, startScriptedServer } from '../clinic/scripted-server.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';

const TIMED = APPOINTMENTS.filter(({ start }) => start.length > 10);

/** How a clinic of no known names tells its rows. */
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

/** How it speaks; patients have their whole name in `fullName` unless told. */
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
  const access = openClinicAccess({ baseUrl: server.url }, 'token', profileOf(written), { clock: () => WINDOW.fromAt });
  const probe = await probeClinic(access, () => {}, unhurried());
  const profile = profileOf(parse(probe.proposedProfile) as WrittenProfile);
  const { context } = openClinicAccess({ baseUrl: server.url }, 'token', profile);
  const query = { agendaIds: ['1', '3'], window: WINDOW };
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
  test('is read whole under the proposed profile, or what is guessed is asked with the candidate in place', async () => {
    await fc.assert(
      fc.asyncProperty(anyManner, async (manner) => {
        const { probe, profile, snapshot } = await probed(manner);
        expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [] });
        const wanted = TIMED.filter(
          (one) => ['1', '3'].includes(one.agendaId) && overlaps(one, WINDOW.fromAt, WINDOW.toAt),
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
      { numRuns: 12 },
    );
  });

  test.each(['fullName', 'name', 'nominativo'])(
    'has it asked whether %s of patients is their whole name, and in which order',
    async (patient) => {
      const { probe, profile } = await probed({ ...MANNER, patient });
      expect(profile.patients).toMatchObject({ fullName: null });
      const question = probe.toDecide.find(({ location: place }) => place === 'patients.fullName')?.ask;
      expect(question).toContain(`does ${patient} hold the whole name?`);
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
