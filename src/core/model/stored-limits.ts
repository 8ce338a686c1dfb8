import { message } from '../../messages/message.ts';
import { MirrorError } from './errors.ts';
import { shortened } from './text.ts';

/**
 * Longest foreign strings in Redis, in UTF-16 code units. Their sender chooses the length: a vendor, a clinic or a server that answers for
 * them. Own choices, above what vendors document or send.
 */
export const STORED_LIMITS = {
  /** Version tag (ETag). A longer tag counts as none: each write then reads the object first, as for a server without tags. */
  versionTag: 256,
  /** Vendor's id or file name of an object or subscription: Google documents 1,024. An object with a longer one is refused by name. */
  remoteId: 1_024,
  /** Vendor's id or URL of a calendar. The target with a longer one is refused. */
  container: 2_048,
  /** Position in a change feed: Graph's links have one or two thousand characters. After a longer one, the next fetch is complete. */
  cursor: 8_192,
  /** Record id of the clinic. A row with a longer one has no usable id. */
  recordId: 200,
  /** Name in a catalogue of the clinic, such as an agenda or a treatment. A longer one is shortened. */
  name: 200,
  /** Title, description or location of an event. A longer one is shortened. */
  eventText: 8_192,
  /** Text of a CRM property: HubSpot's limit; Salesforce allows 131,072. A longer one is cut. */
  property: 65_536,
  /** Access or refresh token. A longer one is refused. */
  token: 16_384,
  /** Granted scopes of a connection, together. The rest is cut. */
  scopes: 8_192,
  /** Gateway's id of a message. A message with a longer one gets no report of its delivery. */
  reference: 128,
  /** Text in a report or a problem. A longer one is shortened. */
  sentence: 1_024,
} as const;

export type StoredString = keyof typeof STORED_LIMITS;

/** Characters that no tag or id needs, and that separate fields of stored values. */
const CONTROL = /\p{Cc}/u;

/** Decides whether a foreign string may be stored. */
export function isStorable(kind: StoredString, text: string): boolean {
  return text.length <= STORED_LIMITS[kind] && !CONTROL.test(text);
}

/** Returns the error of a foreign string that may not be stored. It concerns one object, or the target of a calendar. */
export function tooLong(kind: StoredString): MirrorError {
  return new MirrorError(message('value-too-long', { kind, most: STORED_LIMITS[kind] }), {
    actor: 'contract',
    code: 'value-too-long',
    retry: 'later',
    remedy: message('value-too-long.remedy'),
    concerns: kind === 'container' ? 'target' : 'item',
  });
}

/**
 * Returns a foreign string for a stored value.
 * @throws MirrorError `contract`, code `value-too-long`
 */
export function storable<Value extends string | null>(kind: StoredString, text: Value): Value {
  if (text === null || isStorable(kind, text)) return text;
  throw tooLong(kind);
}

/** Returns a vendor's version tag, or null for a tag that may not be stored, and therefore is not sent either. */
export function storableTag(tag: string | null | undefined): string | null {
  return tag != null && isStorable('versionTag', tag) ? tag : null;
}

/** Returns JSON in which each text is at most a sentence long: for reports and problems, whose texts may repeat foreign ones. */
export function storedJson(value: unknown): string {
  return JSON.stringify(value, (_, each) =>
    typeof each === 'string' ? shortened(each, STORED_LIMITS.sentence) : each,
  );
}
