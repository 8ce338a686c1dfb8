import { describe, expect, it } from 'vitest';
import { createTenantSource } from '../../src/clinic/tenant-source.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { AGENDAS, expectedRecords, instantOf, PATIENTS, type TrueAppointment, WINDOW } from './dialect-truth.ts';
import { bare, type Dialect, documented, hostile, pages, speak } from './dialects.ts';
import { committedProfile, failureOf, openClient, unhurried } from './open-client.ts';
import { type ScriptedAnswer, startScriptedServer } from './scripted-server.ts';

async function open(dialect: Dialect) {
  const mood: { truncated?: boolean; refusal?: ScriptedAnswer } = {};
  const server = await startScriptedServer(speak(dialect, mood));
  const { client, context } = openClient(server.url, committedProfile(dialect.profile));
  const source = createTenantSource(context, null);
  return { mood, client, source, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function essence({ id, agendaId, patientId, treatmentId, time, status }: Appointment) {
  return { id, agendaId, patientId, treatmentId, startAt: time.startAt, endAt: time.endAt, status, kind: time.kind };
}

function trueEssence({ start, end, ...rest }: TrueAppointment) {
  const kind = start.length === 10 ? 'all-day' : 'timed';
  return { ...rest, startAt: instantOf(start), endAt: instantOf(end), kind };
}

function byId<Entry extends { id: string }>(entries: Iterable<Entry>): Entry[] {
  return [...entries].sort((a, b) => a.id.localeCompare(b.id));
}

describe.each<[string, () => Dialect]>([
  ['documented', () => documented],
  ['bare', () => bare],
  ['pages', () => pages],
  ['hostile', hostile],
])('a %s clinic, with nothing changed but the profile', (_name, create) => {
  it.each([[null], [['1', '3']], [['2']]])(
    'shows every appointment of the window in the agendas %j',
    async (agendaIds) => {
      const dialect = create();
      await using clinic = await open(dialect);
      const snapshot = await clinic.source.readAppointments({ agendaIds, window: WINDOW }, unhurried());
      expect(snapshot).toMatchObject({
        completeness: 'complete',
        window: WINDOW,
        agendaIds,
        unusable: [],
        unidentified: 0,
      });
      expect(byId(snapshot.records.values()).map(essence)).toEqual(
        byId(expectedRecords(agendaIds, dialect.hides)).map(trueEssence),
      );
      expect(snapshot.requests).toBe(
        clinic.server.requests.filter(({ path }) => /\/(appointments|bookings)$/i.test(path)).length,
      );
    },
  );

  it('reads a single appointment, a hidden one too, and reports missing ones', async () => {
    await using clinic = await open(create());
    const cancelled = expectedRecords(null).find(({ status }) => status === 'cancelled');
    const found = await clinic.source.readAppointment(cancelled?.id ?? '', unhurried());
    expect(found).toMatchObject({ found: { id: cancelled?.id, status: 'cancelled' } });
    expect(await clinic.source.readAppointment('9999', unhurried())).toEqual({ absent: true });
  });

  it('shows its catalogues whole', async () => {
    await using clinic = await open(create());
    expect(byId(await clinic.source.agendas(unhurried()))).toEqual(AGENDAS);
    expect(byId(await clinic.source.patients(unhurried()))).toMatchObject(PATIENTS);
  });

  it('distinguishes a missing scope from a missing permission', async () => {
    const dialect = create();
    await using clinic = await open(dialect);
    clinic.mood.refusal = dialect.missingClaim;
    const get = () => clinic.client.patients.read('t1', '1', unhurried());
    expect(await failureOf(get())).toMatchObject({ actor: 'authorization', code: 'missing-claim' });
    clinic.mood.refusal = dialect.insufficientPermissions;
    expect(await failureOf(get())).toMatchObject({ actor: 'authorization', code: 'insufficient-permissions' });
  });

  it('never passes for whole when its list ends early and something betrays it', async () => {
    const dialect = create();
    await using clinic = await open(dialect);
    clinic.mood.truncated = true;
    const snapshot = await clinic.source.readAppointments({ agendaIds: null, window: WINDOW }, unhurried());
    expect(snapshot.completeness).toBe(dialect.tellsWhole ? 'partial' : 'complete');
    expect(snapshot.records.size).toBeLessThan(expectedRecords(null, dialect.hides).length);
  });
});
