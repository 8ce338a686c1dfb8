// Tier: full. It runs cycles of two clinics for each damaged value, and compares their state with an undamaged run.
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { endpointStatuses } from '../../src/features/triggers/status.ts';
import { status } from '../../src/operator/control/status.ts';
import type { TenantStatus } from '../../src/operator/control/status-schemas.ts';
import { keys } from '../../src/state/keys.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, targetOf } from '../tenant/cycle.ts';
import type { ModelTarget } from '../tenant/model-target.ts';
import { auditOf } from '../tenant/world.ts';
import { type BusyTenant, openBusyTenant, rememberState } from './busy-tenant.ts';

/* A user who can write to Redis replaces one stored value by garbage. */

const redis = useRedis({ isStored: true });
const damage = useDamage();
const GARBAGE = ['x', '', '{}', '[]', 'null', '[1', '"x"', '-7', '1e999'];

/** A stored value: of a string, a field of a hash, or an element of a list. */
interface Place {
  key: string;
  field: string;
  /** The same for values that one piece of code reads. */
  kind: string;
}

/** Returns the values of a key that are no members of a set. */
async function placesOf(connection: Redis, key: string): Promise<Place[]> {
  const kind = key.replace(/[a-z0-9]{32}|[\w-]{43}|links:(\w+):\d:\d|(target|outbox|links):\w+/g, '*');
  const type = await connection.type(key);
  if (type === 'string') return [{ key, field: '', kind }];
  if (type === 'list') return [{ key, field: '0', kind }];
  if (type !== 'hash') return [];
  // Numbers and hashes name records; other fields are names in the code.
  const named = (field: string) => (/^\d|[\w-]{20}/.test(field) ? '*' : field);
  return (await connection.hkeys(key)).map((field) => ({ key, field, kind: `${kind} ${named(field)}` }));
}

async function put(connection: Redis, { key, field }: Place, value: string) {
  const type = await connection.type(key);
  if (type === 'string') await connection.set(key, value, 'KEEPTTL');
  else if (type === 'list') await connection.lset(key, Number(field), value);
  else await connection.hset(key, field, value);
}

let busy: BusyTenant;
let state: Awaited<ReturnType<typeof rememberState>>;
let places: Place[];

beforeAll(async () => {
  busy = await openBusyTenant(redis);
  state = await rememberState(busy);
  const own = state.keys.filter((key) => !key.includes('studio-bianchi'));
  places = (await Promise.all(own.map((key) => placesOf(busy.connection, key)))).flat();
});

afterAll(() => busy.receiver.close());

/** The work of an hour after the damage, in which an appointment is moved, one is new, and one is cancelled. */
async function workOn(place: Place | null, garbage: string) {
  await state.restore();
  damage.clear();
  if (place !== null) await put(busy.connection, place, garbage);
  const { clinic } = busy;
  const change = (id: string, own: Parameters<typeof appointmentOf>[1]) =>
    clinic.appointments.set(id, appointmentOf(id, { patientId: '5', updatedAt: NOW, ...own }));
  change('5', { inHours: 60 });
  change('9', { inHours: 70 });
  change('6', { inHours: 30, status: 'cancelled' });
  const tenant = busy.open();
  const codes: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) codes.push((await busy.work(tenant))?.error?.code ?? '');
  const other = busy.openOther();
  codes.push((await cycle(other))?.error?.code ?? '');
  const installation = openInstallation({ tenants: [tenant, other] });
  const { tenants } = await status(installation);
  await endpointStatuses(tenant.triggers!, busy.clock.now);
  await auditOf(tenant, { whole: true });
  await tenant.tombstones.receipts();
  await tenant.feeds.access('doctor');
  await tenant.reminders?.ledger.reports(['ref-1']);
  await tenant.reminders?.ledger.closingOf('other');
  return { tenant, codes: codes.filter((code) => code !== ''), tenants };
}

/** Appointments with their times, as the target shows them. */
function shown(model: ModelTarget, tenant: OpenTenant): string[] {
  const { ownerTag } = targetOf(tenant).identity;
  return model
    .objects()
    .flatMap((object) => (object.ownerTag === ownerTag ? [JSON.stringify(object.item)] : []))
    .sort();
}

/** Whether an operator must decide: a damaged state counter or safeguard stops writes of patient data. */
const isAsked = ({ uncertainty }: TenantStatus) => uncertainty !== null;

describe('a damaged value', () => {
  test('of any kind ends no work, loses no write and doubles none', { timeout: 600_000 }, async () => {
    const { tenant, tenants, codes } = await workOn(null, '');
    const { calendar, contacts, activities } = busy.models;
    const whole = shown(calendar, tenant);
    const figures = () => [contacts.objects().length, activities.objects().length];
    const before = figures();
    const healths = (some: readonly TenantStatus[]) => some.flatMap(({ targets }) => targets.map((one) => one.health));
    expect({ codes, count: whole.length, healths: healths(tenants) }).toEqual({
      ...{ codes: [], count: 5, healths: ['ok', 'ok', 'ok', 'ok'] },
    });
    const byKind = [...Map.groupBy(places, ({ kind }) => kind).values()];
    expect(byKind.length).toBeGreaterThan(100);
    const place = fc.constantFrom(...byKind).chain((same) => fc.constantFrom(...same));
    const damaged = fc.asyncProperty(place, fc.constantFrom(...GARBAGE), async (one, garbage) => {
      const after = await workOn(one, garbage);
      expect(after.codes).toEqual([]);
      const [own, other] = after.tenants;
      if (own === undefined || other === undefined) throw new Error('a tenant is missing');
      expect(JSON.stringify(after.tenants, (_, value) => (Number.isNaN(value) ? 'NaN' : value))).not.toContain('"NaN"');
      expect(own.targets.map(({ failure }) => failure)).toEqual([null, null, null]);
      const reminded = busy.gateway.delivered.map(({ id }) => id);
      expect(new Set(reminded).size).toBe(reminded.length);
      if (isAsked(own)) {
        expect(own.health).toBe('action-required');
        return;
      }
      expect(isAsked(other)).toBe(false);
      expect(shown(calendar, after.tenant)).toEqual(whole);
      expect(figures()).toEqual(before);
      expect(healths(after.tenants)).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(busy.other.model.objects()).toHaveLength(3);
    });
    await fc.assert(damaged, { numRuns: 40 });
  });

  test.each([
    ['gaps', 'x'],
    ['failure', 's1.identity.AAAA'],
    ['unconfirmed', '[1'],
    ['replacedAt', 'null'],
  ])('of a target, %s, is named, and proves no sync until the next plan', async (field, garbage) => {
    await workOn(null, '');
    await busy.connection.hset(keys.target('studio-rossi', 'doctor'), field, garbage);
    const tenant = busy.open();
    const read = async () => (await status(openInstallation({ tenants: [tenant] }))).tenants[0]?.targets.at(-1);
    expect(await read()).toMatchObject({ target: 'doctor', sync: 'behind' });
    expect([...damage]).toEqual(['studio-rossi targets']);
    damage.clear();
    // The value was removed, and still proves nothing.
    expect(await read()).toMatchObject({ sync: 'behind' });
    expect([...damage]).toEqual([]);
    await busy.work(tenant);
    expect(await read()).toMatchObject({ sync: 'in-sync', health: 'ok' });
  });

  test('that closed a channel keeps the channel closed', async () => {
    await state.restore();
    await busy.connection.set(reminderKeys.reminderChannelClosed('studio-rossi', 'other'), '{}');
    expect(await busy.open().reminders?.ledger.closingOf('other')).toEqual({ code: 'state-damaged', at: 0 });
  });
});
