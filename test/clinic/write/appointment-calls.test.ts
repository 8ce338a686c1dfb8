import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { ClinicApi } from '../../../src/clinic/api.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { firstTenant, logIn, NOW } from '../../sandbox/clinic/support.ts';
import { paced } from '../../support/pace.ts';
import { all, openApi } from '../open-api.ts';
import { failureOf, profileOf, unhurried } from '../open-client.ts';

let sandbox: ClinicSandbox;
let proxy: FaultProxy;
let token: string;
let tenantId: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 60, now: NOW });
  proxy = await startFaultProxy(sandbox.baseUrl);
  const tenant = firstTenant(sandbox);
  tenantId = tenant.id;
  token = (await logIn(sandbox, tenant.user)).access_token;
});
afterAll(async () => {
  await proxy.close();
  await sandbox.close();
});
afterEach(() => {
  sandbox.faults.clear();
  proxy.clear();
});

function open(): ClinicApi {
  return openApi(proxy.url, profileOf(), token, {
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) }),
  });
}

test('an appointment is booked with times in the form of the profile, moved and cancelled', async () => {
  sandbox.rules.deleteMode = 'soft';
  const api = open();
  const [agenda] = await all(api.agendas.list(tenantId, [], unhurried()));
  const start = Date.parse('2026-05-17T04:00:00Z');
  const booking = { agendaId: agenda?.id ?? '', start, end: start + 1_800_000 };
  const booked = await api.appointments.create(tenantId, booking, unhurried());
  expect(booked).toMatchObject({ start, status: 'booked' });
  const moved = await api.appointments.update(
    tenantId,
    booked.id,
    { start: start + 3_600_000, end: start + 5_400_000 },
    unhurried(),
  );
  expect(moved).toMatchObject({ id: booked.id, start: start + 3_600_000 });
  expect(await api.appointments.remove(tenantId, booked.id, unhurried())).toBe(true);
  expect(await api.appointments.read(tenantId, booked.id, unhurried())).toMatchObject({
    found: { status: 'cancelled' },
  });
  expect(await api.appointments.remove(tenantId, 'none', unhurried())).toBe(false);
});

describe('an appointment', () => {
  async function booked(api: ClinicApi, hour: number) {
    const [agenda] = await all(api.agendas.list(tenantId, [], unhurried()));
    const [patient] = await all(api.patients.list(tenantId, [], unhurried()));
    const start = Date.parse('2026-05-24T04:00:00Z') + hour * 3_600_000;
    return api.appointments.create(
      tenantId,
      { agendaId: agenda?.id ?? '', patientId: patient?.id ?? null, start, end: start + 1_800_000 },
      unhurried(),
    );
  }

  test('is confirmed, paid, freed of its payment and checked in, twice without harm', async () => {
    const { appointments } = open();
    const { id } = await booked(open(), 0);
    const confirmed = await appointments.setStatus(tenantId, id, { status: 'confirmed' }, unhurried());
    expect(confirmed).toMatchObject({ id, status: 'confirmed', statusWord: 'Confirmed', isPaid: false });
    const payment = { amount: '80.50', currency: 'EUR', method: 'Card', paidAt: NOW, reference: 'r1' };
    const paid = await appointments.setPayment(tenantId, id, payment, unhurried());
    expect(paid).toMatchObject({ isPaid: true, paymentAmount: '80.5', paymentMethod: 'Card', paymentReference: 'r1' });
    expect(await appointments.removePayment(tenantId, id, unhurried())).toMatchObject({ isPaid: false });
    const arrived = await appointments.checkIn(tenantId, id, unhurried());
    expect(arrived.status).toBe('arrived');
    sandbox.rules.repeatedCheckIn = 'conflict';
    expect(await appointments.checkIn(tenantId, id, unhurried())).toEqual(arrived);
  });

  test('that can not go there, is gone, or has no word for it, is refused each in its way', async () => {
    const { appointments } = open();
    const { id } = await booked(open(), 1);
    await appointments.setStatus(tenantId, id, { status: 'cancelled', reason: 'by phone' }, unhurried());
    const set = (which: string, status: 'confirmed' | 'unknown') =>
      failureOf(appointments.setStatus(tenantId, which, { status }, unhurried()));
    expect(await set(id, 'confirmed')).toMatchObject({ actor: 'conflict', code: 'transition-refused' });
    expect(await set('none', 'confirmed')).toMatchObject({ actor: 'conflict', code: 'record-gone' });
    expect(await set(id, 'unknown')).toMatchObject({ actor: 'settings', code: 'status-unmapped' });
  });

  test('is read after a check-in with a lost response', async () => {
    const { appointments } = open();
    const { id } = await booked(open(), 2);
    proxy.add({ method: /POST/, url: /checkin/, fault: { kind: 'lost-answer' } });
    expect(await appointments.checkIn(tenantId, id, unhurried())).toMatchObject({ id, status: 'arrived' });
  });
});
