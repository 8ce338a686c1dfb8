import { lookup } from 'node:dns/promises';
import { asMirrorError } from '../core/model/errors.ts';
import type { StateProbe } from '../operator/control/doctor.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import { hostsIn } from '../settings/outbound-checks.ts';
import { DAMAGED } from '../state/damaged.ts';
import { proveWrites } from '../state/redis.ts';
import { requireRights } from '../state/redis-check.ts';
import type { Composition } from './compose.ts';
import { timeOf } from './redis-readings.ts';

/** Returns the checks of Redis, keys and host names for `doctor`. @param check as `checkRedis`, with a short timeout for interactive use */
export function stateProbe(
  { redis, stateCounter, configuration, composed }: Composition,
  check: StateProbe['check'],
  files: Pick<ConfigurationFiles, 'openSecrets'>,
): StateProbe {
  return {
    check,
    requireRights: () => requireRights(redis),
    requireWrites: () => proveWrites(redis),
    requireIdentity: () => stateCounter.requireIdentity(),
    async unopened(tenant) {
      const { connections, credentials } = composed.get(tenant) ?? {};
      const logins = [...(connections?.values() ?? [])].filter(({ tokens }) => tokens !== null);
      const read = logins.map(({ id }) => credentials?.read(id).then(() => null, asMirrorError) ?? null);
      return (await Promise.all(read)).flatMap((error) =>
        error?.code === DAMAGED.code || error?.code === 'sealing-key-unknown' ? [error] : [],
      );
    },
    time: () => timeOf(redis),
    async view() {
      // A check is required to notice a loss.
      await stateCounter.lostAt();
      return stateCounter.view();
    },
    openSecrets: (tenant) => files.openSecrets(tenant),
    lacksTrustedProxies: () => {
      const { http, operator } = configuration.settings;
      const isBehind = [http.publicUrl, operator.publicUrl].some((url) => url?.startsWith('https:') === true);
      return isBehind && http.trustedProxies.length === 0;
    },
    hosts: () => hostsIn(configuration.settings),
    // A proxy resolves host names itself.
    resolve: process.env.NODE_USE_ENV_PROXY === '1' ? null : async (host) => void (await lookup(host)),
  };
}
