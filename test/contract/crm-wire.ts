import type { FaultProxy, ProxiedAnswer, ProxiedRequest, ProxyMatch } from '../../sandbox/kit/fault-proxy.ts';
import type { PropertyValue } from '../../src/core/model/items.ts';
import { OTHER_MARK, sealedRecordIdOf } from './contract-kit.ts';
import { CRM_ROLES, type CrmRole, type CrmTarget, type CrmValues } from './crm-target.ts';

export type Json = Record<string, unknown>;

/** An answer in JSON. */
export function jsonAnswer(status: number, body: unknown, retryAfter: string | null = null): ProxiedAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...(retryAfter === null ? {} : { 'retry-after': retryAfter }) },
    body: JSON.stringify(body),
  };
}

/** A message with another JSON body. */
export function changeJson<Message extends { body: string | Buffer }>(
  message: Message,
  change: (body: Json) => unknown,
): Message {
  return { ...message, body: JSON.stringify(change(JSON.parse(message.body.toString()) as Json)) };
}

/** Changes the request, the answer or both of the next matching exchange. */
export function rewriteNext(
  proxy: FaultProxy,
  match: ProxyMatch,
  change: {
    request?: (request: ProxiedRequest) => ProxiedRequest;
    answer?: (answer: ProxiedAnswer, request: ProxiedRequest) => ProxiedAnswer;
  },
  times = 1,
): void {
  proxy.add({ ...match, times, fault: { kind: 'rewrite', ...change } });
}

/** Matches a body in which something occurs more often than `limit` times. */
export function moreThan(limit: number, word: string): RegExp {
  return new RegExp(`(?:${word}[\\s\\S]*?){${limit + 1}}`);
}

/** Returns mark and sealed record id of a stamp, parsed as documented; nulls for an empty stamp. */
export function partsOfStamp(stamp: unknown): { ownerTag: string | null; sealedRecordId: string | null } {
  const [ownerTag, sealedRecordId] = typeof stamp === 'string' ? stamp.split('.') : [];
  return { ownerTag: ownerTag || null, sealedRecordId: sealedRecordId || null };
}

/** Values by role from what the wire holds by name. */
export function valuesOf(names: CrmTarget['names'], read: (name: string, role: CrmRole) => PropertyValue): CrmValues {
  const roles = Object.keys(CRM_ROLES) as CrmRole[];
  return Object.fromEntries(roles.map((role) => [role, read(names[role], role)])) as CrmValues;
}

/** Values by name from values by role; what is not given stays away. */
export function toNames(names: CrmTarget['names'], values: Partial<CrmValues>): Record<string, PropertyValue> {
  const given = Object.entries(values) as [CrmRole, PropertyValue][];
  return Object.fromEntries(given.map(([role, value]) => [names[role], value]));
}

/** The stamp of an object written by another target of the same installation. */
export const FOREIGN_STAMP = `${OTHER_MARK}.${sealedRecordIdOf('foreign')}.0.`;
