import type { Ending } from '../../core/model/state-schemas.ts';
import { DAY_MS } from '../../core/model/time.ts';
import type { RedisClient } from '../../state/redis.ts';
import { createProofSealer, sealedTable } from '../../state/sealing.ts';
import { controlKeys } from './keys.ts';

/** Retention of certificates that are no longer checked. */
const CERTIFICATE_RETENTION_MS = 7 * DAY_MS;

/** Expiry of server certificates by `<host>:<port>`, from the last check of any process. */
export type CertificateStore = ReturnType<typeof createCertificateStore>;

/** Opens the shared certificate data. @param identityKey seals the data, which is shown and sent; damaged data is ignored */
export function createCertificateStore(redis: RedisClient, identityKey: Uint8Array) {
  const sealer = createProofSealer(identityKey, '{certificates}');
  const stored = sealedTable<Pick<Ending, 'beganAt' | 'endsAt'>>(controlKeys.certificates(), {
    redis,
    sealer,
    kind: 'certificates',
  });
  return {
    async read(): Promise<Ending[]> {
      return Array.from(await stored.all(), ([of, seen]) => ({ kind: 'certificate', of, ...seen }));
    },
    /** Replaces all data. */
    async write(seen: readonly Ending[]): Promise<void> {
      for (const { of, beganAt, endsAt } of seen) await stored.set(of, { beganAt, endsAt });
      await stored.retainOnly(seen.map(({ of }) => of));
      await redis.pexpire(controlKeys.certificates(), CERTIFICATE_RETENTION_MS);
    },
  };
}
