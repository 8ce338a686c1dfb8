import type { Redis } from 'ioredis';
import { keys, QUEUE_PREFIX } from '../../../src/state/keys.ts';
import type { PrivateRedis } from '../../../tools/redis.ts';
import { ask, cutReplicas, startClusterGroup, startSentinelGroup } from '../../../tools/redis-groups.ts';
import type { ServerCommand } from '../../../tools/server-command.ts';
import { dumpOf, type RedisHouse } from './redis-house.ts';

/** Several servers that serve as one. Daemons find their way to them by themselves; each master dies once at most. */
export async function openRedisGroupHouse(
  kind: 'sentinel' | 'cluster',
  tenants: readonly string[],
  server?: ServerCommand,
): Promise<RedisHouse> {
  const group = await (kind === 'sentinel' ? startSentinelGroup(server) : startClusterGroup(server));
  await group.untilReplicated();
  const askMasters = async <Answer>(question: (redis: Redis) => Promise<Answer>) =>
    await Promise.all((await group.masters()).map(({ port }) => ask(port, question)));
  /** Those that have a replica to take over; as many as there are replicas. */
  const mortal = new Set(group.servers.slice(0, group.servers.length / 2));
  const told = [...tenants.map((tenant) => keys.outbox(tenant, 'any')), `${QUEUE_PREFIX}:any`];
  let next: PrivateRedis | null = null;
  async function victim(): Promise<PrivateRedis | null> {
    for (const key of told) {
      if (next !== null) break;
      const master = await group.masterOf(key);
      if (mortal.has(master)) next = master;
    }
    return next;
  }
  return {
    settings: group.settings,
    port: 0,
    dump: async () => (await askMasters(dumpOf)).join('\n'),
    async setFull(full) {
      await askMasters((master) => master.config('SET', 'maxmemory', full ? '1' : '0'));
    },
    async addReplica() {},
    async cutReplica() {
      const master = await victim();
      if (master !== null) await cutReplicas(group, master);
    },
    async failOver() {
      const master = await victim();
      if (master === null) return false;
      mortal.delete(master);
      next = null;
      await master.crash();
      await group.untilServed();
      return true;
    },
    close: () => group.stop(),
  };
}
