import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';

const raiseHead = redisScript<number>(import.meta.url, 'audit-log-raise');

/** The end of a chain of the audit log, as Redis knows it. */
export interface AuditLogHead {
  sequence: number;
  mac: string;
  at: Instant;
}

/** The ends of all chains, where the log's files are not: who cuts the end off these has to change Redis too. */
export interface AuditLogHeads {
  read(chain: string): Promise<AuditLogHead | null>;
  all(): Promise<Map<string, AuditLogHead>>;
  /** Moves the head of a chain on; never back. */
  raise(chain: string, head: AuditLogHead): Promise<void>;
}

/** Opens the heads of an installation. */
export function openAuditLogHeads(redis: RedisClient): AuditLogHeads {
  const key = keys.auditLog();
  return {
    async read(chain) {
      const stored = await redis.hget(key, chain);
      return stored === null ? null : headOf(stored);
    },
    async all() {
      const stored = Object.entries(await redis.hgetall(key));
      return new Map(stored.map(([chain, head]) => [chain, headOf(head)]));
    },
    async raise(chain, { sequence, mac, at }) {
      await raiseHead(redis, [key], [chain, sequence, `${sequence} ${mac} ${at}`]);
    },
  };
}

function headOf(stored: string): AuditLogHead {
  const [sequence, mac = '', at] = stored.split(' ');
  return { sequence: Number(sequence), mac, at: Number(at) };
}
