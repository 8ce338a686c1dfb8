import { hash } from 'node:crypto';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { sealedValue } from './sealed-store.ts';
import { createProofSealer } from './sealing.ts';
import { openTargetProofs } from './target-proof.ts';

/** Records that a person put back into a target, each with the end of its pin. */
export type Pins = ReadonlyMap<string, Instant>;

/** What stands in Redis of a target's pins. */
export interface PinLook {
  ends: Pins;
  /** `new`: the target's proof names none yet; `forged`: they are not as clinic-mirror wrote them, and none counts. */
  state: 'proved' | 'new' | 'forged';
  /** As it lies there; null where nothing does. */
  sealed: string | null;
}

/** The pins of one tenant's targets, under one id of the tenant. */
export interface PinStore {
  look(target: string): Promise<PinLook>;
  /** Changes them, so that what is there by then is proved. @returns how many there were that there are no more */
  change(target: string, change: (before: Pins) => Pins): Promise<number>;
}

const MARK_LENGTH = 16;

/**
 * Opens the pins of a tenant. Those of a target are one sealed value; the target's proof names the newest, so that none is put in or
 * taken out, and no older ones are put back, without that being noticed.
 * @param identityKey the installation's, 32 bytes
 */
export function openPins(redis: RedisClient, tenant: string, identityKey: Uint8Array): PinStore {
  const sealer = createProofSealer(identityKey, tenant);
  const proofs = openTargetProofs(redis, tenant, sealer);
  const pinsOf = (target: string) => sealedValue<[string, Instant][]>(keys.pins(tenant, target), { redis, sealer });

  async function look(target: string): Promise<PinLook> {
    const key = keys.pins(tenant, target);
    const [pinned, proof] = (await redis.pipeline().get(key).hget(keys.target(tenant, target), 'proof').exec()) ?? [];
    if (proof?.[0]) throw proof[0];
    const stored = proof?.[1] as string | null;
    const proved = stored === null ? null : proofs.of(target, { proof: stored });
    const newest = proved === null || proved === 'forged' ? undefined : proved.pins;
    if (pinned?.[0]) {
      if (!pinned[0].message.startsWith('WRONGTYPE')) throw pinned[0];
      return forged(null);
    }
    const sealed = pinned?.[1] as string | null;
    const pins = sealed === null ? [] : pinsOf(target).open(sealed).value;
    if (pins === null || (newest !== undefined && newest !== markOf(sealed))) {
      return forged(sealed);
    }
    return { ends: new Map(pins), state: newest === undefined ? 'new' : 'proved', sealed };
  }

  return {
    look,
    async change(target, change) {
      const key = keys.pins(tenant, target);
      for (;;) {
        const { ends, sealed } = await look(target);
        const next = change(ends);
        const value = next.size === 0 ? null : pinsOf(target).seal([...next]);
        const beside = { key, before: sealed, value };
        const isChanged = await proofs.change(target, (proof) => ({ ...proof, pins: markOf(value) }), {}, beside);
        if (isChanged) return [...ends.keys()].filter((recordId) => !next.has(recordId)).length;
      }
    },
  };
}

/** What stands there is not as we left it. */
function forged(sealed: string | null): PinLook {
  return { ends: new Map(), state: 'forged', sealed };
}

/** By which a target's proof names a sealed value; null for none. */
function markOf(sealed: string | null): string | null {
  return sealed === null ? null : hash('sha256', sealed, 'base64url').slice(0, MARK_LENGTH);
}
