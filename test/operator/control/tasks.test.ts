import { beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { SECOND_MS } from '../../../src/core/model/time.ts';
import { openTasks, readTask } from '../../../src/operator/control/tasks.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

function open() {
  const clock = { now: NOW };
  const tenant = openTenant({
    ...{ redis: redis.connect(), id: TENANT, clinic: createModelClinic(), targets: [] },
    clock: () => clock.now,
  });
  const installation = openInstallation({ tenants: [tenant] });
  const read = (of: string, id: string) => readTask(installation, of, id);
  return { clock, tenant, tasks: openTasks(installation, silentLogger), read };
}

let world: ReturnType<typeof open>;
beforeEach(() => {
  world = open();
});

/** Work that runs until the test ends it. */
function waiting() {
  const end = Promise.withResolvers<object>();
  return { work: () => end.promise, end };
}

describe('a task', () => {
  test('reports its step, then its result', async () => {
    const { work, end } = waiting();
    const { id, result } = await world.tasks.begin(TENANT, 'sync', async (progress) => {
      progress('reading the clinic');
      return work();
    });
    expect(await world.read(TENANT, id)).toMatchObject({ state: 'running', result: null });
    end.resolve({ records: 3 });
    await result;
    expect(await world.read(TENANT, id)).toEqual({
      ...{
        id,
        kind: 'sync',
        beganAt: NOW,
        state: 'done',
        step: 'reading the clinic',
        result: { records: 3 },
        error: null,
      },
    });
  });

  test('that fails keeps its actor and the required action', async () => {
    const refusal = { actor: 'guard', code: 'made-up', retry: 'never', remedy: 'wait' } as const;
    const { id, result } = await world.tasks.begin(TENANT, 'undo', () =>
      Promise.reject(new MirrorError('no', refusal)),
    );
    await expect(result).rejects.toMatchObject({ code: 'made-up' });
    const error = { actor: 'guard', code: 'made-up', message: 'no', remedy: 'wait' };
    expect(await world.read(TENANT, id)).toMatchObject({ state: 'failed', error });
  });

  test('whose process is silent is lost, for every process', async () => {
    const { work, end } = waiting();
    const { id, result } = await world.tasks.begin(TENANT, 'sync', work);
    const other = openInstallation({ tenants: [world.tenant] });
    world.clock.now += 29 * SECOND_MS;
    expect((await readTask(other, TENANT, id)).state).toBe('running');
    world.clock.now += 2 * SECOND_MS;
    expect((await readTask(other, TENANT, id)).state).toBe('lost');
    end.resolve({});
    await result;
    expect((await readTask(other, TENANT, id)).state).toBe('done');
  });

  test('is stopped when its process ends, and the process waits for it', async () => {
    const stopped: string[] = [];
    const { result } = await world.tasks.begin(TENANT, 'sync', async (_, { stop }) => {
      await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
      stopped.push('sync');
      return {};
    });
    await world.tasks.close();
    expect(stopped).toEqual(['sync']);
    await result;
  });

  test('does not begin while five others of its tenant run', async () => {
    const { work, end } = waiting();
    const begun = [];
    for (let count = 0; count < 5; count += 1) begun.push(await world.tasks.begin(TENANT, 'sync', work));
    const refused = { code: 'too-many-tasks', retry: 'later', retryAfterMs: expect.any(Number) };
    await expect(world.tasks.begin(TENANT, 'sync', work)).rejects.toMatchObject(refused);
    end.resolve({});
    await Promise.all(begun.map(({ result }) => result));
    await (await world.tasks.begin(TENANT, 'sync', work)).result;
  });

  test('of another tenant is not shown', async () => {
    await expect(world.read(TENANT, 'none')).rejects.toMatchObject({ code: 'no-such-task' });
    await expect(world.read('nobody', 'none')).rejects.toMatchObject({ code: 'no-such-tenant' });
  });
});
