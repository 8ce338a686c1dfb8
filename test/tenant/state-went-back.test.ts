import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { remind } from '../../src/features/reminders/job.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { book, createReminderWorld, type ReminderWorld } from '../features/reminders/reminder-world.ts';
import { useRedis } from '../support/redis.ts';
import { copyState, goBackTo } from '../support/stored-state.ts';
import { cycle, NEVER, twoCycles } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openEpoch, openTenant } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
const SIGNALS = { stop: NEVER, abort: NEVER };
let dataDirectory: string;

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
});
afterEach(() => rm(dataDirectory, { recursive: true, force: true }));

/** Rings every alarm again, and lets two days pass with a cycle every hour. */
async function liveOn(world: ReminderWorld, ids: readonly string[]): Promise<void> {
  for (let hour = 0; hour < 48; hour += 1) {
    for (const id of ids) await remind(world.tenant, id, SIGNALS);
    await world.cycle();
    await world.advance(HOUR_MS);
  }
}

describe('Redis that goes back', () => {
  it('hands nothing over a second time that was sent in the minute that it lost', async () => {
    const connection = redis.connect();
    const world = createReminderWorld(connection, { dataDirectory });
    book(world, 'one', 48);
    book(world, 'two', 60);
    await world.cycle();
    await world.advance(DAY_MS - MINUTE_MS);
    const before = await copyState(connection);
    await world.advance(2 * MINUTE_MS);
    expect(world.gateway.delivered).toHaveLength(1);
    await goBackTo(connection, before);
    const ids = (await world.entries()).map(({ id }) => id);
    await liveOn(world, ids);
    expect(world.gateway.delivered.map(({ appointment }) => appointment.id)).toEqual(['one', 'two']);
    expect(await world.fate('one')).toBe('unknown');
    expect((await world.entries()).find(({ appointmentId }) => appointmentId === 'one')?.lastCode).toBe(
      'state-went-back',
    );
    expect(await world.fate('two')).toBe('sent');
  });

  it('a patient gets one message, at whichever delivery command Redis is lost and restored', async () => {
    const connection = redis.connect();
    const world = createReminderWorld(connection, { dataDirectory });
    for (const id of ['one', 'two', 'three']) book(world, id, 48);
    await world.cycle();
    const before = await copyState(connection);
    await world.advance(DAY_MS + MINUTE_MS);
    const ids = (await world.entries()).map(({ id }) => id);
    for (let times = 0; times < 3; times += 1) {
      await goBackTo(connection, before);
      for (const id of ids) await remind(world.tenant, id, SIGNALS);
    }
    expect(world.gateway.calls).toHaveLength(3);
    expect(new Set(world.gateway.calls).size).toBe(3);
  });

  it('an opt-out and a tombstone of the lost minute stand again', async () => {
    const connection = redis.connect();
    const world = createReminderWorld(connection, { dataDirectory });
    await world.cycle();
    const before = await copyState(connection);
    const { reminders, tombstones } = world.tenant;
    const hash = reminders?.optOuts.hashOf('phone', '+393331234567') ?? '';
    await reminders?.optOuts.add(hash, { source: 'reply', at: world.now });
    await tombstones.add('p2', world.now);
    await goBackTo(connection, before);
    expect((await world.tenant.tombstones.load())('p2')).toBe(false);
    await world.cycle();
    expect(await world.tenant.protection.uncertainty()).toBeNull();
    expect((await world.tenant.tombstones.load())('p2')).toBe(true);
    expect(await world.tenant.reminders?.optOuts.find(hash)).toMatchObject({ source: 'reply' });
  });

  it.each(['a decision was lost as well', 'nothing else was lost'])(
    'what was written in the minute that it lost is found again, and goes when its record has gone: %s',
    async (lost) => {
      const connection = redis.connect();
      const [clinic, model] = [createModelClinic(), createModelTarget()];
      const clock = { now: NOW };
      const open = () =>
        openTenant({ redis: connection, clinic, targets: [{ model }], clock: () => clock.now, dataDirectory });
      for (const id of ['stays', 'moves', 'ends']) clinic.appointments.set(id, appointmentOf(id, { inHours: 5 }));
      await cycle(open());
      const before = await copyState(connection);
      clinic.appointments.set('goes', appointmentOf('goes', { inHours: 6 }));
      clinic.appointments.set('moves', appointmentOf('moves', { inHours: 7 }));
      clinic.appointments.set('ends', appointmentOf('ends', { inHours: 5, status: 'cancelled' }));
      const tenant = open();
      await cycle(tenant);
      expect(model.objects()).toHaveLength(3);
      if (lost.startsWith('a decision')) {
        await tenant.protection.store({ table: 'optOuts', name: 'somebody', value: '{}' });
      }
      await goBackTo(connection, before);
      clinic.appointments.delete('goes');
      clock.now += MINUTE_MS;
      const { view } = openEpoch(connection, () => clock.now, dataDirectory);
      expect(await view()).toMatchObject({ writesLostAt: null });
      await twoCycles(open());
      expect(await view()).toMatchObject({ writesLostAt: clock.now });
      expect(model.objects()).toHaveLength(2);
      const { reads, operations } = { reads: model.calls.read, operations: model.calls.operations };
      await cycle(open());
      expect(model.calls).toMatchObject({ read: reads, operations });
    },
  );

  it('without a data directory, a process with newer knowledge sends nothing until an administrator decides', async () => {
    const connection = redis.connect();
    const world = createReminderWorld(connection);
    book(world, 'one', 48);
    await world.cycle();
    const before = await copyState(connection);
    const tenant = world.open();
    await tenant.protection.store({ table: 'optOuts', name: 'somebody', value: '{}' });
    await goBackTo(connection, before);
    world.now += DAY_MS + MINUTE_MS;
    const [entry] = await world.entries();
    await remind(tenant, entry?.id ?? '', SIGNALS);
    expect(await tenant.protection.uncertainty()).toMatchObject({ code: 'state-went-back' });
    expect(world.gateway.calls).toEqual([]);
    expect(await world.fate()).toBe('planned');
  });

  it('a message that is not on the disk in time is not delivered, and is retried', async () => {
    const connection = redis.connect();
    let isSlow = true;
    const slow = Object.assign(new Error('late'), { code: 'state-not-durable' });
    const world = createReminderWorld(connection, {
      epoch: {
        confirm: async () => {
          if (isSlow) throw slow;
          return 0;
        },
      },
    });
    book(world, 'one', 48);
    await world.cycle();
    await world.advance(DAY_MS);
    expect(world.gateway.calls).toEqual([]);
    isSlow = false;
    await world.advance(HOUR_MS);
    expect(world.gateway.delivered).toHaveLength(1);
    expect(await world.fate()).toBe('sent');
  });
});

describe('reminders after a state that was emptied', () => {
  it.each(['none', 'kept'])(
    'what was due by then is not sent again, later ones go as planned (data directory: %s)',
    async (kept) => {
      const connection = redis.connect();
      const world = createReminderWorld(connection, kept === 'kept' ? { dataDirectory } : {});
      book(world, 'one', 48);
      book(world, 'two', 60);
      await world.cycle();
      await world.advance(DAY_MS + MINUTE_MS);
      expect(world.gateway.delivered).toHaveLength(1);
      await connection.flushall();
      await world.cycle();
      await world.tenant.protection.accept();
      await world.cycle();
      const ids = (await world.entries()).map(({ id }) => id);
      await liveOn(world, ids);
      expect(world.gateway.delivered.map(({ appointment }) => appointment.id)).toEqual(['one', 'two']);
      expect(await world.fate('one')).toBe('dropped missed');
      expect(await world.fate('two')).toBe('sent');
    },
  );
});
