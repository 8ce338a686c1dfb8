import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { APPOINTMENT_STATUSES, type AppointmentStatus } from '../../../sandbox/clinic/data/records.ts';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { mayMove } from '../../../sandbox/clinic/rules/statuses.ts';
import { call, firstTenant, frontDeskToken, type Json, NOW } from './support.ts';

let sandbox: ClinicSandbox;
let token: string;
let tenantId: string;
let path: string;
const rules = { allowReopen: false, repeatedCheckIn: 'same', deleteMode: 'hard', allowDoubleBooking: false } as const;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 200, now: NOW });
  token = await frontDeskToken(sandbox);
  tenantId = firstTenant(sandbox).id;
  path = `/v2/tenants/${tenantId}/appointments`;
});

afterAll(() => sandbox.close());
beforeEach(() => void Object.assign(sandbox.rules, rules));

function request(method: string, subPath: string, body?: unknown): ReturnType<typeof call> {
  return call(sandbox, token, method, path + subPath, body);
}

function agendaId(index = 0): string {
  return firstTenant(sandbox).agendas[index]?.id ?? '';
}

/** An evening hour that no generated appointment uses. */
function evening(day: number): { start: string; end: string } {
  return {
    start: `2026-04-${String(day).padStart(2, '0')}T19:30:00+02:00`,
    end: `2026-04-${String(day).padStart(2, '0')}T20:00:00+02:00`,
  };
}

function patientId(): string {
  for (const appointment of sandbox.appointments(tenantId)) {
    if (appointment.patientId !== null) return appointment.patientId;
  }
  throw new Error('the clinic has no visit');
}

describe('creating', () => {
  test('answers 201 with the appointment, its patient and where it lives', async () => {
    const { status, headers, body } = await request('POST', '', {
      agendaId: agendaId(),
      patientId: patientId(),
      ...evening(1),
      notes: 'prima visita',
      externalId: 'x-1',
    });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${path}/${body.id}`);
    expect(body).toMatchObject({
      ...evening(1),
      agendaId: agendaId(),
      status: 'Booked',
      source: 'Api',
      durationMinutes: 30,
      isPaid: false,
      externalId: 'x-1',
      patient: { id: patientId() },
    });
    expect((await request('GET', `/${body.id}`)).body).toEqual(body);
  });

  test('takes a duration instead of an end, and whole days', async () => {
    const { start } = evening(2);
    const timed = await request('POST', '', { agendaId: agendaId(), start, durationMinutes: 45 });
    expect(timed.body.end).toBe('2026-04-02T20:15:00+02:00');
    const whole = await request('POST', '', {
      agendaId: agendaId(),
      start: '2026-10-25',
      end: '2026-10-26',
      allDay: true,
    });
    expect(whole.body).toMatchObject({ start: '2026-10-25', end: '2026-10-26', allDay: true, durationMinutes: 1500 });
  });

  test('refuses bad shapes with 400 and broken rules with 422, naming the field', async () => {
    const good = { agendaId: agendaId(), ...evening(3) };
    for (const [body, status, field] of [
      [{ ...good, start: undefined }, 400, 'start'],
      [{ ...good, start: '2026-04-03T19:30:00' }, 400, 'start'],
      [{ ...good, end: undefined }, 400, 'end'],
      [{ ...good, allDay: true }, 400, 'start'],
      [{ ...good, end: good.start }, 422, 'end'],
      [{ ...good, agendaId: 'none' }, 422, 'agendaId'],
      [{ ...good, patientId: 'none' }, 422, 'patientId'],
      [{ ...good, treatmentId: 'none' }, 422, 'treatmentId'],
    ] as const) {
      const answer = await request('POST', '', body);
      expect([answer.status, answer.body.details]).toEqual([status, [expect.objectContaining({ field })]]);
    }
  });

  test('refuses a slot that is taken with 409, unless the clinic double books', async () => {
    const body = { agendaId: agendaId(), ...evening(4) };
    expect((await request('POST', '', body)).status).toBe(201);
    expect(await request('POST', '', body)).toMatchObject({ status: 409, body: { error: 'slot_taken' } });
    expect((await request('POST', '', { ...body, agendaId: agendaId(1) })).status).toBe(201);
    sandbox.rules.allowDoubleBooking = true;
    expect((await request('POST', '', body)).status).toBe(201);
  });
});

describe('updating', () => {
  test('replaces what is written: what is left out becomes null, the status stays', async () => {
    const { body: created } = await request('POST', '', {
      agendaId: agendaId(),
      patientId: patientId(),
      ...evening(5),
      notes: 'x',
    });
    await request('PUT', `/${created.id}/status`, { status: 'Confirmed' });
    const { status, body } = await request('PUT', `/${created.id}`, { agendaId: agendaId(1), ...evening(6) });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...evening(6),
      agendaId: agendaId(1),
      notes: null,
      patientId: null,
      status: 'Confirmed',
    });
    expect(body.createdAt).toBe(created.createdAt);
  });

  test('accepts the fetched content unchanged, and refuses a status change or a taken slot', async () => {
    const { body: one } = await request('POST', '', { agendaId: agendaId(), ...evening(7) });
    const { body: other } = await request('POST', '', { agendaId: agendaId(), ...evening(8) });
    expect((await request('PUT', `/${one.id}`, one)).status).toBe(200);
    expect((await request('PUT', `/${one.id}`, { ...one, status: 'Confirmed' })).status).toBe(422);
    expect((await request('PUT', `/${one.id}`, { ...one, start: other.start, end: other.end })).status).toBe(409);
    expect((await request('PUT', '/none', one)).status).toBe(404);
  });

  test('does not move what is over', async () => {
    const { body } = await request('POST', '', { agendaId: agendaId(), ...evening(9) });
    await request('PUT', `/${body.id}/status`, { status: 'Cancelled', reason: 'disdetta' });
    expect((await request('GET', `/${body.id}`)).body).toMatchObject({ status: 'Cancelled', statusReason: 'disdetta' });
    expect(await request('PUT', `/${body.id}`, { ...body, ...evening(10) })).toMatchObject({
      status: 422,
    });
    expect(await request('PUT', `/${body.id}`, { ...body, status: 'Cancelled', ...evening(10) })).toMatchObject({
      status: 409,
      body: { error: 'status_conflict' },
    });
  });
});

describe('statuses', () => {
  const LEGAL: Record<AppointmentStatus, AppointmentStatus[]> = {
    Booked: ['Confirmed', 'CheckedIn', 'Cancelled', 'NoShow'],
    Confirmed: ['CheckedIn', 'Cancelled', 'NoShow'],
    CheckedIn: ['InProgress', 'Completed', 'Cancelled'],
    InProgress: ['Completed'],
    Completed: [],
    Cancelled: [],
    NoShow: [],
  };
  const WAY_TO: Record<AppointmentStatus, AppointmentStatus[]> = {
    Booked: [],
    Confirmed: ['Confirmed'],
    CheckedIn: ['CheckedIn'],
    InProgress: ['CheckedIn', 'InProgress'],
    Completed: ['CheckedIn', 'Completed'],
    Cancelled: ['Cancelled'],
    NoShow: ['NoShow'],
  };

  test.each(APPOINTMENT_STATUSES)('from %s only the legal moves are possible, others answer 409', async (from) => {
    sandbox.rules.allowDoubleBooking = true;
    for (const to of APPOINTMENT_STATUSES) {
      const { id } = sandbox.book(tenantId, { start: Date.parse('2026-05-01T21:00:00+02:00') });
      for (const step of WAY_TO[from]) sandbox.setStatus(tenantId, id, step);
      const { status, body } = await request('PUT', `/${id}/status`, { status: to });
      const legal = LEGAL[from].includes(to);
      expect([to, status, body[legal ? 'status' : 'error']]).toEqual([
        to,
        legal ? 200 : 409,
        legal ? to : 'status_conflict',
      ]);
    }
  });

  test('Cancelled and NoShow may be reopened where the clinic allows it', () => {
    expect([mayMove('Cancelled', 'Booked', true), mayMove('NoShow', 'Booked', true)]).toEqual([true, true]);
    expect([mayMove('Completed', 'Booked', true), mayMove('Cancelled', 'Confirmed', true)]).toEqual([false, false]);
  });

  test('a reopened appointment needs its slot to be free still', async () => {
    sandbox.rules.allowReopen = true;
    const { id, start, end } = sandbox.book(tenantId);
    sandbox.cancel(tenantId, id);
    const squatter = sandbox.book(tenantId, { start, end });
    expect((await request('PUT', `/${id}/status`, { status: 'Booked' })).body.error).toBe('slot_taken');
    sandbox.remove(tenantId, squatter.id);
    const reopened = await request('PUT', `/${id}/status`, { status: 'Booked' });
    expect(reopened.body).toMatchObject({ status: 'Booked', cancelledAt: null });
  });

  test('an unknown status is a bad request', async () => {
    const { id } = sandbox.book(tenantId);
    expect((await request('PUT', `/${id}/status`, { status: 'Lost' })).status).toBe(400);
  });

  test('check-in sets the time; again it changes nothing, or conflicts', async () => {
    const { id } = sandbox.book(tenantId);
    const first = await request('POST', `/${id}/checkin`);
    expect(first.body).toMatchObject({ status: 'CheckedIn', checkedInAt: expect.any(String) });
    expect(await request('POST', `/${id}/checkin`)).toMatchObject({ status: 200, body: first.body });
    sandbox.rules.repeatedCheckIn = 'conflict';
    expect((await request('POST', `/${id}/checkin`)).status).toBe(409);
  });

  test('check-in accepts an empty body that claims to be JSON', async () => {
    const { id } = sandbox.book(tenantId);
    const response = await fetch(`${sandbox.baseUrl}${path}/${id}/checkin`, {
      method: 'POST',
      headers: { accept: 'application/json', authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    expect(response.status).toBe(200);
  });
});

describe('payment', () => {
  test('is set, replaced and removed', async () => {
    const { id } = sandbox.book(tenantId);
    const payment = { amount: 85.5, currency: 'EUR', method: 'Card', paidAt: '2026-03-20T11:00:00+01:00' };
    const paid = await request('PUT', `/${id}/payment`, payment);
    expect(paid.body).toMatchObject({ isPaid: true, payment: { ...payment, reference: null } });
    await request('PUT', `/${id}/payment`, { ...payment, amount: 90, reference: 'R1' });
    expect((await request('GET', `/${id}`)).body.payment).toMatchObject({ amount: 90, reference: 'R1' });
    expect((await request('DELETE', `/${id}/payment`)).status).toBe(204);
    expect((await request('GET', `/${id}`)).body).toMatchObject({ isPaid: false, payment: null });
    expect((await request('DELETE', `/${id}/payment`)).status).toBe(404);
    expect((await request('PUT', `/${id}/payment`, { amount: '90' })).status).toBe(400);
  });

  test('blocked time cannot be paid', async () => {
    const { id } = sandbox.book(tenantId, { patientId: null });
    const answer = await request('PUT', `/${id}/payment`, { amount: 1, currency: 'EUR', method: 'Cash' });
    expect(answer.status).toBe(422);
  });
});

describe('deleting', () => {
  function truthOf(id: string): unknown {
    return [...sandbox.appointments(tenantId)].find((appointment) => appointment.id === id);
  }

  async function listed(id: unknown): Promise<boolean> {
    const page = await call(sandbox, token, 'GET', `${path}?from=2026-03-21&to=2026-06-30&limit=200`);
    const rows: Json[] = Array.isArray(page.body.data) ? page.body.data : [];
    return rows.some((row) => row.id === id);
  }

  test('hard: gone from the list and 404 afterwards, the slot is free again', async () => {
    const { id, start, end } = sandbox.book(tenantId);
    expect(await listed(id)).toBe(true);
    expect((await request('DELETE', `/${id}`)).status).toBe(204);
    expect(await listed(id)).toBe(false);
    expect((await request('GET', `/${id}`)).status).toBe(404);
    expect((await request('DELETE', `/${id}`)).status).toBe(404);
    expect(truthOf(id)).toMatchObject({ id, deleted: true });
    expect(() => sandbox.book(tenantId, { start, end })).not.toThrow();
  });

  test('soft: stays readable as Cancelled, and again changes nothing', async () => {
    sandbox.rules.deleteMode = 'soft';
    const { id } = sandbox.book(tenantId);
    expect((await request('DELETE', `/${id}`)).status).toBe(204);
    expect((await request('GET', `/${id}`)).body).toMatchObject({
      status: 'Cancelled',
      cancelledAt: expect.any(String),
    });
    expect((await request('DELETE', `/${id}`)).status).toBe(204);
    expect(truthOf(id)).toMatchObject({ status: 'Cancelled', deleted: false });
    const { id: done } = sandbox.book(tenantId);
    sandbox.setStatus(tenantId, done, 'CheckedIn');
    sandbox.setStatus(tenantId, done, 'Completed');
    expect((await request('DELETE', `/${done}`)).status).toBe(409);
  });
});
