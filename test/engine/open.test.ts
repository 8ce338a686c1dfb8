import { expect, test, vi } from 'vitest';
import { appointmentOf } from '../domain/arbitraries.ts';
import { cycle, drain, pull, targetOf } from '../jobs/cycle.ts';
import { openDriftWorld, shownBy } from '../jobs/world.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

test.each(['links', 'pending'] as const)(
  'a deletion that is carried out after a cycle has read the %s does not hide that its record came back',
  async (first) => {
    const world = openDriftWorld(redis.connect(), 10, 'repair');
    const { clinic, tenant } = world;
    await cycle(tenant);
    clinic.appointments.set('0', appointmentOf('0', { inHours: 24, status: 'cancelled' }));
    await pull(tenant);
    expect(await tenant.outbox.counts('doctor')).toMatchObject({ pending: 1 });
    clinic.appointments.set('0', appointmentOf('0', { inHours: 24 }));

    const drained = () => drain(tenant, targetOf(tenant));
    const { links, outbox } = tenant;
    const [read, pending] = [links.read.bind(links), outbox.pending.bind(outbox)];
    if (first === 'links') {
      vi.spyOn(links, 'read').mockImplementationOnce(async (target) => {
        const found = await read(target);
        await drained();
        return found;
      });
    } else {
      vi.spyOn(outbox, 'pending').mockImplementationOnce(async (target) => {
        const found = await pending(target);
        await drained();
        return found;
      });
    }
    expect((await pull(tenant)).error).toBeNull();
    await drained();
    expect(shownBy(world)).toHaveLength(10);
  },
);
