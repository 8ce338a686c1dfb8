import type { Ending } from '../model/outlook.ts';
import { DAY_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { createProofSealer } from './proof-seal.ts';
import type { RedisClient } from './redis.ts';
import { openSealed } from './sealing.ts';

/** When certificates of servers end, by `<host>:<port>`, as the process that looks saw it last. */
export interface CertificateStore {
  read(): Promise<Ending[]>;
  /** Replaces all that was known. */
  write(seen: readonly Ending[]): Promise<void>;
}

/** What nobody looked at again for so long is not known any more. */
const KEPT_MS = 7 * DAY_MS;

type Stored = Pick<Ending, 'beganAt' | 'endsAt'>;

/** Opens what all processes know of certificates. @param identityKey seals them: their servers are shown and sent. What is not ours is not known */
export function createCertificateStore(redis: RedisClient, identityKey: Uint8Array): CertificateStore {
  const sealer = createProofSealer(identityKey, '{certificates}');
  const key = keys.certificates();
  return {
    async read() {
      const all = Object.entries(await redis.hgetall(key));
      return all.flatMap(([of, text]): Ending[] => {
        const seen = openSealed<Stored>(sealer, text, of);
        return seen === null ? [] : [{ kind: 'certificate', of, ...seen }];
      });
    },
    async write(seen) {
      const fields = seen.map(
        ({ of, beganAt, endsAt }) => [of, sealer.seal(JSON.stringify({ beganAt, endsAt }), of)] as const,
      );
      const gone = (await redis.hkeys(key)).filter((of) => !seen.some((one) => one.of === of));
      if (fields.length > 0) await redis.hset(key, Object.fromEntries(fields));
      if (gone.length > 0) await redis.hdel(key, ...gone);
      await redis.pexpire(key, KEPT_MS);
    },
  };
}
