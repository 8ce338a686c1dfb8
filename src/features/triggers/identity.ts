import { createHmac } from 'node:crypto';
import { base32hex, derivedKey } from '../../model/hashes.ts';
import type { TriggerEvent } from '../../model/triggers.ts';

/** What makes a message that one. */
export interface TriggerSubject {
  endpoint: string;
  event: TriggerEvent;
  recordId: string;
  /** Tells apart the changes of one record; absent where it is told of once. */
  change?: string;
}

/** Names a message: 32 characters of `[0-9a-v]`, the same for every try and after the loss of all state, and tells nothing. */
export type NameTrigger = (subject: TriggerSubject) => string;

/**
 * @param identityKey the installation's identity key, 32 bytes, never changed: without it nobody can guess a name
 * @param tenant the id under which its objects were first written
 */
export function createTriggerNames(identityKey: Uint8Array, tenant: string): NameTrigger {
  const key = derivedKey(identityKey, tenant, 'triggers');
  return ({ endpoint, event, recordId, change }) => {
    const whole = JSON.stringify([tenant, endpoint, event, recordId, ...(change === undefined ? [] : [change])]);
    return base32hex(createHmac('sha256', key()).update(whole).digest().subarray(0, 20));
  };
}
