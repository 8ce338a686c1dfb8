import { createCipheriv, createDecipheriv, hash, type KeyObject } from 'node:crypto';
import { lazily, remembered } from '../core/model/cache.ts';
import { base32hex, derivedKey, type KeyedHash, keyedHash } from '../core/model/hashes.ts';
import type { Item } from '../core/model/items.ts';
import type { ItemKey } from '../core/model/operations.ts';
import type { TimeSpan, TimeWindow } from '../core/model/time.ts';

const KEY_BYTES = 20;
const OWNER_TAG_BYTES = 10;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Name of differing fields that cannot be identified. */
export const UNKNOWN_FIELD = 'unknown';
/** Highest epoch tried when a remote key is matched with its record. Targets very rarely refuse a key. */
export const HIGHEST_ID_ATTEMPT = 8;

/** Structure of a target's items, for names and comparisons. */
export interface ItemForm {
  /** Name of the records' stream; part of each object's name. */
  stream: string;
  /** Names of the fields, in the order of the hints at the end of a fingerprint. */
  fields: readonly string[];
  /** Number of fields that every item has; later fields are optional from the end. */
  needed: number;
  /** Fields with a different value in nearly every item, so that caching is useless. */
  unlike: readonly string[];
  /** JSON values that distinguish two items, one for each field in order; undefined for an absent field. */
  values(item: Item): unknown[];
  /** Returns the input of the whole hash from the JSON list of the fields' texts. */
  whole(texts: string): string;
  spanOf(item: Item): TimeSpan;
  isShown(span: TimeSpan, window: TimeWindow): boolean;
}

/**
 * Names and compares the objects of one target. All values derive from the tenant's identity key and the target, so names survive the loss
 * of all state. Without the key no value can be traced to its record.
 */
export interface TargetIdentity {
  /** Marks the installation's objects: 16 characters of `[0-9a-v]`. */
  ownerTag: string;
  /** Returns the name of a record's object. `idAttempt` is 0 unless a target refused an earlier name. */
  key(recordId: string, idAttempt: number): ItemKey;
  /** Returns the epoch of the record's key, or null for another key. */
  idAttemptOf(recordId: string, key: ItemKey): number | null;
  /** Encrypts a record id deterministically. Only this installation can decrypt the result. */
  sealedRecordId(recordId: string): string;
  /** Decrypts a record id; null if another installation or target encrypted the id. */
  recordIdOf(sealedRecordId: string): string | null;
  /** Encrypts a text deterministically for this target's users, who later return the text. */
  sealed(text: string): string;
  /** Decrypts a text of {@link TargetIdentity.sealed}; null if another target encrypted the text. */
  unsealed(sealed: string): string | null;
  /**
   * Returns a keyed hash of an item's content, for {@link isSameContent}. Hints at the end show which fields differ.
   * @param subjectId adds the {@link TargetIdentity.subject} to the hash, without effect on comparisons; null or absent for none
   */
  fingerprint(item: Item, subjectId?: string | null): string;
  /** Returns a keyed hash of whom or what a record concerns. Two subjects have one hash once in 2^24 times. */
  subject(subjectId: string): string;
  /** Returns the subject in a fingerprint; null for none. */
  subjectIn(fingerprint: string): string | null;
  /**
   * Returns the fields that differ between the items of two fingerprints, or `unknown` for an unknown item or another structure. A
   * differing field is missed once in 262,144 comparisons, or once in 64 with a fingerprint of version 0.1.0. Empty only for equal items.
   */
  differingFields(before: string, after: string): string[];
  /** Returns an item's time. Without an end, the start is used until the record is seen. */
  spanOf(item: Item): TimeSpan;
  /** Returns whether the target lists an object of this time in a window.  */
  isShown(span: TimeSpan, window: TimeWindow): boolean;
}

/**
 * Creates the identity of one target.
 * @param identityKey the installation's identity key, 32 bytes, constant
 */
export function createTargetIdentity(
  identityKey: Uint8Array,
  tenant: string,
  target: string,
  form: ItemForm,
): TargetIdentity {
  const derive = (purpose: string) => derivedKey(identityKey, `${tenant}/${target}`, purpose);
  const nameHash = keyedHash(derive('names'));
  const locatorKey = derive('locators');
  const locatorNonceHash = keyedHash(derive('locator nonces'));
  const handoutKey = derive('handouts');
  const handoutNonceHash = keyedHash(derive('handout nonces'));
  const fingerprintKey = derive('fingerprints');
  const subjectKey = lazily(() => derive('subjects')().export().toString('base64'));
  const contentHash = createFingerprint(form, fingerprintKey);
  // A digest of key and id takes a quarter of an HMAC's time, less than a cache; what an HMAC adds protects longer results than this one.
  const subject = (subjectId: string) => hash('sha256', subjectKey() + subjectId, 'base64url').slice(0, SUBJECT_LENGTH);
  const ownerTag = lazily(() => base32hex(bytesOf(nameHash('mark', 'binary'), OWNER_TAG_BYTES)));
  const key = (recordId: string, idAttempt: number) =>
    base32hex(bytesOf(nameHash(JSON.stringify([form.stream, recordId, idAttempt]), 'binary'), KEY_BYTES));
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
    sealedRecordId: (recordId) => encrypt(recordId, locatorKey(), locatorNonceHash),
    recordIdOf: (sealedRecordId) => decrypt(sealedRecordId, locatorKey()),
    sealed: (text) => encrypt(text, handoutKey(), handoutNonceHash),
    unsealed: (sealed) => decrypt(sealed, handoutKey()),
    fingerprint: (item, subjectId = null) =>
      subjectId === null ? contentHash(item) : contentHash(item) + SUBJECT + subject(subjectId),
    subject,
    subjectIn: (fingerprint) => fingerprint.split(SUBJECT)[1] ?? null,
    differingFields: (before, after) => differingFields(form, before, after),
    spanOf: form.spanOf,
    isShown: form.isShown,
  };
}

/**
 * A fingerprint is a hash of the whole, a point, and one hint for each field: 22 characters for five fields. Two contents of one record that
 * differ in a single field look equal once in 2^54 times. Every link stores a fingerprint, so each character uses one byte.
 */
const WHOLE_LENGTH = 6;
const HINT_LENGTH = 3;
const NO_HINT = '-';
/** Version 0.1.0 wrote a longer hash, no point, and only the first character of each hint. */
const FIRST_WHOLE_LENGTH = 16;
/** Before the subject at the end of a fingerprint. */
const SUBJECT = '~';
const SUBJECT_LENGTH = 4;

/** Cached values per field: most items share title, location and other fields with another item. */
const CACHED_PER_FIELD = 8;

/** Contribution of one field to a fingerprint. */
interface FieldPart {
  /** The field's text as a JSON string. */
  written: string;
  hint: string;
}

const LACKING: FieldPart = { written: '""', hint: NO_HINT.repeat(HINT_LENGTH) };

function createFingerprint(form: ItemForm, key: () => KeyObject): TargetIdentity['fingerprint'] {
  const digest = keyedHash(key);
  const hash = (text: string, length: number) => digest(text, 'base64url').slice(0, length);
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
    // `join` creates one flat string; a template would keep its parts in memory with the cached result.
    return [hash(whole, WHOLE_LENGTH), '.', ...values.map(({ hint }) => hint)].join('');
  };
}

interface FingerprintParts {
  whole: string;
  hints: string;
  hintLength: number;
}

/** Returns a fingerprint without its subject. */
function contentIn(fingerprint: string): string {
  const end = fingerprint.indexOf(SUBJECT);
  return end === -1 ? fingerprint : fingerprint.slice(0, end);
}

/** Returns a fingerprint of a found object with the subject of the same record's earlier fingerprint: an object does not show its subject. */
export function withSubjectOf(found: string, earlier: string): string {
  const end = earlier.indexOf(SUBJECT);
  return found === '' || end === -1 ? found : contentIn(found) + earlier.slice(end);
}

function partsOf(fingerprint: string): FingerprintParts {
  const [whole = '', hints] = contentIn(fingerprint).split('.');
  if (hints !== undefined) return { whole, hints, hintLength: HINT_LENGTH };
  return { whole: whole.slice(0, WHOLE_LENGTH), hints: whole.slice(FIRST_WHOLE_LENGTH), hintLength: 1 };
}

/** Returns indexes of fields with different hints, as far as both fingerprints contain them. */
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

/** Returns whether two fingerprints mean equal items, as far as both have details. A fingerprint of version 0.1.0 has fewer. */
export function isSameContent(one: string, other: string): boolean {
  if (one === other || contentIn(one) === contentIn(other)) return true;
  const [parts, others] = [partsOf(one), partsOf(other)];
  // Fingerprints of one version would be equal strings.
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

/** Returns the first bytes of a digest. */
function bytesOf(digest: string, count: number): Buffer {
  return Buffer.from(digest.slice(0, count), 'latin1');
}

/** The nonce is a keyed hash of the content: equal texts have equal results, and no nonce is used for two contents. */
function encrypt(text: string, key: KeyObject, nonceHash: KeyedHash): string {
  const nonce = bytesOf(nonceHash(text, 'binary'), NONCE_BYTES);
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

/** Known fingerprints of a target's records. */
export interface CachedFingerprints<Source> {
  get(record: Source, idAttempt: number): string | null;
  record(record: Source, idAttempt: number, fingerprint: string): void;
}

/**
 * Caches fingerprints while the records are in memory: computing a fingerprint needs a projection and six keyed hashes. Only the record,
 * its epoch and the context determine the result.
 */
export class FingerprintMemory {
  #context: string | null = null;
  #stored = new WeakMap<object, { idAttempt: number; fingerprint: string }>();

  /** Clears the cache when records are discarded; otherwise the table would keep its size. */
  invalidate(): void {
    this.#stored = new WeakMap();
  }

  /**
   * Returns the cache for a context. Another context starts with an empty cache.
   * @param context identifies all dependencies of a fingerprint except the record, its epoch and the target's configuration
   * @param isCacheable whether a record's fingerprint has no other dependency
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
