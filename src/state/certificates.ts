import { z } from 'zod';
import { parseJson } from '../model/json.ts';
import type { Ending } from '../model/outlook.ts';
import { DAY_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** When certificates of servers end, by `<host>:<port>`, as the process that looks saw it last. */
export interface CertificateStore {
  read(): Promise<Ending[]>;
  /** Replaces all that was known. */
  write(seen: readonly Ending[]): Promise<void>;
}

/** What nobody looked at again for so long is not known any more. */
const KEPT_MS = 7 * DAY_MS;

const stored = z.object({ beganAt: z.number(), endsAt: z.number() });

/** Opens what all processes know of certificates. */
export function createCertificateStore(redis: RedisClient): CertificateStore {
  const key = keys.certificates();
  return {
    async read() {
      const all = Object.entries(await redis.hgetall(key));
      return all.flatMap(([of, text]): Ending[] => {
        const { data } = stored.safeParse(parseJson(text));
        return data === undefined ? [] : [{ kind: 'certificate', of, ...data }];
      });
    },
    async write(seen) {
      const fields = seen.map(({ of, beganAt, endsAt }) => [of, JSON.stringify({ beganAt, endsAt })] as const);
      const gone = (await redis.hkeys(key)).filter((of) => !seen.some((one) => one.of === of));
      if (fields.length > 0) await redis.hset(key, Object.fromEntries(fields));
      if (gone.length > 0) await redis.hdel(key, ...gone);
      await redis.pexpire(key, KEPT_MS);
    },
  };
}
