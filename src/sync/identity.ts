import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto';
import { lazily, remembered } from '../model/cache.ts';
import { base32hex, derivedKey } from '../model/hashes.ts';
import type { CalendarItem, CrmItem, Item, StreamName } from '../model/items.ts';
import type { ItemKey } from '../model/operations.ts';
import { overlaps, type TimeSpan, type TimeWindow } from '../model/time.ts';

const KEY_BYTES = 20;
const OWNER_TAG_BYTES = 10;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Stands among the names of fields that differ for those whose names can't be told. */
export const UNKNOWN_FIELD = 'unknown';
/** Epochs that are tried when a remote key is matched with its record; a target burns a key once in a blue moon. */
export const HIGHEST_ID_ATTEMPT = 8;

/** What the objects of a target are made of, as far as naming and comparing them needs it. */
export interface ItemForm {
  stream: StreamName;
  /** Names of the fields, in the order of the hints at the end of a fingerprint. */
  fields: readonly string[];
  /** How many of them every item has; those after them may be left out from the end. */
  needed: number;
  /** Those in which hardly two items are alike, so that nothing is remembered of them. */
  unlike: readonly string[];
  /** What tells two items apart: a value of JSON's kinds for each field, in that order; undefined for one that the item lacks. */
  values(item: Item): unknown[];
  /** What is hashed as a whole, made of the list of the fields' texts as JSON has it. */
  whole(texts: string): string;
  spanOf(item: Item): TimeSpan;
  isShown(span: TimeSpan, window: TimeWindow): boolean;
}

const NEEDED_FIELDS = ['title', 'description', 'location', 'time', 'busy'] as const;
/** New ones go to the end, so that an item without them keeps its fingerprint when clinic-mirror is upgraded. */
const OPTIONAL_FIELDS = ['tentative', 'visibility', 'presets'] as const;

/** Events of a calendar. */
export const CALENDAR_FORM: ItemForm = {
  stream: 'appointments',
  fields: [...NEEDED_FIELDS, ...OPTIONAL_FIELDS],
  needed: NEEDED_FIELDS.length,
  unlike: ['time'],
  values(item) {
    const event = item as CalendarItem;
    const { title, description, location, time, busy } = event;
    const last = OPTIONAL_FIELDS.findLastIndex((field) => event[field] !== undefined);
    const values: unknown[] = [title, description, location, time, busy];
    for (const field of OPTIONAL_FIELDS.slice(0, last + 1)) values.push(event[field]);
    return values;
  },
  whole: (texts) => texts,
  spanOf(item) {
    const { time } = item as CalendarItem;
    const [start, end] =
      time.kind === 'timed' ? [time.start, time.end] : [`${time.startDate}T00:00:00Z`, `${time.endDate}T00:00:00Z`];
    return { startAt: Date.parse(start), endAt: Date.parse(end) };
  },
  isShown: overlaps,
};

/**
 * Objects of a CRM that carry these properties. Their names count too: under another mapping every object differs.
 * @param properties names, each once, in any order
 */
export function crmForm(stream: StreamName, properties: readonly string[]): ItemForm {
  const names = [...properties].sort();
  const written = JSON.stringify(names);
  return {
    stream,
    fields: [...names, 'contact', 'start'],
    needed: names.length + 2,
    unlike: ['start'],
    values(item) {
      const { properties: values, contactKey, contactRecreations, startAt } = item as CrmItem;
      const contact = contactRecreations === undefined ? contactKey : `${contactKey} ${contactRecreations}`;
      return [...names.map((name) => values[name] ?? null), contact, startAt];
    },
    whole: (texts) => `[${written},${texts}]`,
    spanOf(item) {
      const { startAt } = item as CrmItem;
      return { startAt, endAt: startAt };
    },
    isShown: ({ startAt }, window) => overlaps({ startAt, endAt: startAt }, window),
  };
}

/**
 * Everything that names or compares the objects of one target, derived from the tenant's identity key: a pure function of
 * (key, target), so the loss of all state loses no name. Nothing it makes can be traced back without the key.
 */
export interface TargetIdentity {
  /** Marks our objects: 16 characters of `[0-9a-v]`. */
  ownerTag: string;
  /** Name of a record's object. `epoch` is 0 unless a target refused the name before. */
  key(recordId: string, idAttempt: number): ItemKey;
  /** The epoch whose key this is for the record; null when it is none of them. */
  idAttemptOf(recordId: string, key: ItemKey): number | null;
  /** The record id, encrypted so that it is the same each time and only we can read it. */
  sealedRecordId(recordId: string): string;
  /** The record id of a sealed record id; null when it is not one of ours for this target. */
  recordIdOf(sealedRecordId: string): string | null;
  /** A text that this target's people are given and bring back: encrypted, the same each time, and known by nobody else's. */
  sealed(text: string): string;
  /** The text of {@link TargetIdentity.sealed}; null when it is not one of this target's. */
  unsealed(sealed: string): string | null;
  /** Keyed hash of an item's content, to be compared with {@link isSameContent}; hints at its end tell which fields differ. */
  fingerprint(item: Item): string;
  /**
   * Names of the fields that differ between the items behind two fingerprints; `unknown` where none can be told: of an item that
   * isn't known, or one of another form. A field is missed once in 262,144 times, once in 64 beside a fingerprint of version 0.1.0.
   * Empty only for equal items.
   */
  differingFields(before: string, after: string): string[];
  /** An item's time. Objects of a CRM tell no end: it is their start, until the record is seen. */
  spanOf(item: Item): TimeSpan;
  /** Whether the target shows an object of that time when it is asked for a window; a CRM goes by the start alone. */
  isShown(span: TimeSpan, window: TimeWindow): boolean;
}

/** @param identityKey the installation's identity key, 32 bytes, never changed */
export function createTargetIdentity(
  identityKey: Uint8Array,
  tenant: string,
  target: string,
  form: ItemForm = CALENDAR_FORM,
): TargetIdentity {
  const derive = (purpose: string) => derivedKey(identityKey, `${tenant}/${target}`, purpose);
  const nameKey = derive('names');
  const locatorKey = derive('locators');
  const locatorNonceKey = derive('locator nonces');
  const handoutKey = derive('handouts');
  const handoutNonceKey = derive('handout nonces');
  const fingerprintKey = derive('fingerprints');
  const ownerTag = lazily(() => base32hex(hmac(nameKey(), 'mark').subarray(0, OWNER_TAG_BYTES)));
  const key = (recordId: string, idAttempt: number) =>
    base32hex(hmac(nameKey(), JSON.stringify([form.stream, recordId, idAttempt])).subarray(0, KEY_BYTES));
  return {
    get ownerTag() {
      return ownerTag();
    },
    key,
    idAttemptOf: (recordId, candidate) => {
      for (let idAttempt = 0; idAttempt <= HIGHEST_ID_ATTEMPT; idAttempt += 1)
        if (key(recordId, idAttempt) === candidate) return idAttempt;
      return null;
    },
    sealedRecordId: (recordId) => encrypt(recordId, locatorKey(), locatorNonceKey()),
    recordIdOf: (sealedRecordId) => decrypt(sealedRecordId, locatorKey()),
    sealed: (text) => encrypt(text, handoutKey(), handoutNonceKey()),
    unsealed: (sealed) => decrypt(sealed, handoutKey()),
    fingerprint: createFingerprint(form, fingerprintKey),
    differingFields: (before, after) => differingFields(form, before, after),
    spanOf: form.spanOf,
    isShown: form.isShown,
  };
}

/**
 * A fingerprint is a hash of the whole, a point and one hint for each field: 22 characters for an event. Two contents of one record
 * that differ in a single field look equal once in 2^54 times. Every link carries one, so each character costs a byte.
 */
const WHOLE_LENGTH = 6;
const HINT_LENGTH = 3;
const NO_HINT = '-';
/** Version 0.1.0 wrote more of the same hash, no point, and the first character of each hint. */
const FIRST_WHOLE_LENGTH = 16;

/** What of a field is kept: most items have the title, the place and so on of another one. */
const CACHED_PER_FIELD = 8;

/** What one field adds to a fingerprint. */
interface FieldPart {
  /** Its text, as JSON writes a text. */
  written: string;
  hint: string;
}

const LACKING: FieldPart = { written: '""', hint: NO_HINT.repeat(HINT_LENGTH) };

function createFingerprint(form: ItemForm, key: () => KeyObject): TargetIdentity['fingerprint'] {
  const hash = (text: string, length: number) =>
    createHmac('sha256', key()).update(text).digest('base64url').slice(0, length);
  const parts = form.fields.map((name, index) => {
    const ofText = (text: string): FieldPart => ({
      written: JSON.stringify(text),
      hint: hash(`${index}:${text}`, HINT_LENGTH),
    });
    if (form.unlike.includes(name)) return (value: unknown) => ofText(canonical(value));
    const byText = remembered(CACHED_PER_FIELD, ofText);
    const byValue = remembered(CACHED_PER_FIELD, (value: unknown) => ofText(canonical(value)));
    return (value: unknown) => {
      if (value === undefined) return LACKING;
      return typeof value === 'object' && value !== null ? byText(canonical(value)) : byValue(value);
    };
  });
  return (item) => {
    const values = form.values(item).map((value, index) => parts[index]?.(value) ?? LACKING);
    const whole = form.whole(`[${values.map(({ written }) => written).join(',')}]`);
    // Joined it is one text; a template would keep its parts beside it, for as long as it is remembered.
    return [hash(whole, WHOLE_LENGTH), '.', ...values.map(({ hint }) => hint)].join('');
  };
}

interface FingerprintParts {
  whole: string;
  hints: string;
  hintLength: number;
}

function partsOf(fingerprint: string): FingerprintParts {
  const [whole = '', hints] = fingerprint.split('.');
  if (hints !== undefined) return { whole, hints, hintLength: HINT_LENGTH };
  return { whole: whole.slice(0, WHOLE_LENGTH), hints: whole.slice(FIRST_WHOLE_LENGTH), hintLength: 1 };
}

/** Indexes of the fields whose hints differ in what both fingerprints tell of them. */
function differingHints(one: FingerprintParts, other: FingerprintParts): number[] {
  const count = Math.max(countOf(one), countOf(other));
  const length = Math.min(one.hintLength, other.hintLength);
  const hint = ({ hints, hintLength }: FingerprintParts, index: number) =>
    hints.slice(index * hintLength, index * hintLength + length).padEnd(length, NO_HINT);
  return Array.from({ length: count }, (_, index) => index).filter((index) => hint(one, index) !== hint(other, index));
}

function countOf({ hints, hintLength }: FingerprintParts): number {
  return Math.floor(hints.length / hintLength);
}

/** Whether two fingerprints are those of equal items, as far as both tell: one of version 0.1.0 tells less. */
export function isSameContent(one: string, other: string): boolean {
  if (one === other) return true;
  const [parts, others] = [partsOf(one), partsOf(other)];
  // Of one version they would be the same text.
  if (parts.hintLength === others.hintLength || parts.whole !== others.whole) return false;
  return differingHints(parts, others).length === 0;
}

function differingFields({ fields, needed }: ItemForm, before: string, after: string): string[] {
  if (isSameContent(before, after)) return [];
  const [parts, others] = [partsOf(before), partsOf(after)];
  const isOfForm = [parts, others].every((one) => countOf(one) >= needed && countOf(one) <= fields.length);
  const indexes = isOfForm ? differingHints(parts, others) : [];
  const names = indexes.map((index) => fields[index] ?? UNKNOWN_FIELD);
  return names.length === 0 ? [UNKNOWN_FIELD] : names;
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return JSON.stringify(names.map((name) => [name, Reflect.get(value, name)]));
}

/** The nonce is a keyed hash of the content, so equal texts give equal results and no nonce meets two contents. */
function encrypt(text: string, key: KeyObject, nonceKey: KeyObject): string {
  const nonce = hmac(nonceKey, text).subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64url');
}

function decrypt(sealed: string, key: KeyObject): string | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  try {
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

function hmac(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Fingerprints of what records become in a target, as far as they are known. */
export interface CachedFingerprints<Source> {
  get(record: Source, idAttempt: number): string | null;
  record(record: Source, idAttempt: number, fingerprint: string): void;
}

/**
 * Keeps the fingerprints of what records become in one target for as long as the records are in memory: working one out costs a projection
 * and six keyed hashes, and the record, its epoch and the context decide it.
 */
export class FingerprintMemory {
  #context: string | null = null;
  #stored = new WeakMap<object, { idAttempt: number; fingerprint: string }>();

  /** For when the records are not kept: a table of theirs would stay as large as it was. */
  invalidate(): void {
    this.#stored = new WeakMap();
  }

  /**
   * @param context tells all that a fingerprint depends on beside the record, its epoch and the target's configuration; under another one
   *   nothing is known
   * @param isCacheable whether a record's fingerprint depends on nothing else
   */
  under<Source extends object>(context: string, isCacheable: (record: Source) => boolean): CachedFingerprints<Source> {
    if (context !== this.#context) this.#stored = new WeakMap();
    this.#context = context;
    const all = this.#stored;
    return {
      get(record, idAttempt) {
        const cached = all.get(record);
        return cached?.idAttempt === idAttempt && isCacheable(record) ? cached.fingerprint : null;
      },
      record(record, idAttempt, fingerprint) {
        if (isCacheable(record)) all.set(record, { idAttempt, fingerprint });
      },
    };
  }
}
