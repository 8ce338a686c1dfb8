import { describe, expect, test } from 'vitest';
import { DIALECT_NAMES } from '../../../sandbox/clinic/dialects/index.ts';
import { startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { committedProfile, openClient, unhurried } from '../../clinic/open-client.ts';
import { firstTenant, frontDeskToken, NOW } from './support.ts';

const DAY_MS = 86_400_000;
const WINDOW = { fromAt: NOW - 20 * DAY_MS, toAt: NOW + 50 * DAY_MS };

/** The daemon's words for the sandbox's. */
const STATUSES = {
  Booked: 'booked',
  Confirmed: 'confirmed',
  CheckedIn: 'arrived',
  InProgress: 'in_progress',
  Completed: 'completed',
  Cancelled: 'cancelled',
  NoShow: 'no_show',
} as const;

describe.each(DIALECT_NAMES)('the %s dialect', (dialect) => {
  test('is understood by the client with the committed profile of that name: a window holds the truth', async () => {
    const sandbox = await startClinicSandbox({ tenants: 1, appointments: 500, now: NOW, dialect });
    try {
      const token = await frontDeskToken(sandbox);
      const { id } = firstTenant(sandbox);
      const authorization = { header: async () => `Bearer ${token}`, renew: async () => `Bearer ${token}` };
      const { context } = openClient(sandbox.baseUrl, committedProfile(dialect), { authorization });
      const source = createTenantSource(context, null);
      const snapshot = await source.readAppointments({ agendaIds: null, window: WINDOW }, unhurried());
      expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [], unidentified: 0 });
      const truth = [...sandbox.appointments(id)].filter(
        ({ start, end, status }) =>
          start < WINDOW.toAt && end > WINDOW.fromAt && (dialect !== 'hostile' || status !== 'Cancelled'),
      );
      const told = [...snapshot.records.values()].map(({ id, agendaId, patientId, time, status }) => ({
        ...{ id, agendaId, patientId, start: time.startAt, end: time.endAt },
        status: dialect === 'hostile' && status === 'unknown' ? 'booked' : status,
      }));
      const expected = truth.map(({ id, agendaId, patientId, start, end, status }) => ({
        ...{ id, agendaId, patientId, start, end },
        status: STATUSES[status],
      }));
      expect(new Map(told.map((one) => [one.id, one]))).toEqual(new Map(expected.map((one) => [one.id, one])));
      expect((await source.agendas(unhurried())).map((agenda) => agenda.id)).toEqual(
        firstTenant(sandbox).agendas.map((agenda) => agenda.id),
      );
    } finally {
      await sandbox.close();
    }
  });
});
