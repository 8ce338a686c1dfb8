import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  areOfWrite,
  fromFields,
  fromRevisionText,
  type LabelFields,
  labelsOf,
  NO_LABELS,
  NO_RECORD,
  ownedBy,
  ownedPart,
  toFields,
  toRevisionText,
} from '../../src/connectors/labels.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { recordIds } from '../domain/arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const { ownerTag } = identity;
const another = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'other', CALENDAR_FORM).ownerTag;
const KEY = 'k'.repeat(32);
const OTHER_KEY = 'o'.repeat(32);

const FIELDS: LabelFields = { ownerTag: 'x-owner', sealedRecordId: 'x-record', revision: 'x-revision' };
const WITH_KEY: LabelFields = { ...FIELDS, key: 'x-key' };

const writes = fc
  .record({ recordId: recordIds, revision: fc.integer({ min: 1, max: 1e12 }) })
  .map(({ recordId, revision }) => ({
    key: identity.key(recordId, 0),
    sealedRecordId: identity.sealedRecordId(recordId),
    revision,
  }));

/** Reads fields that were written, as a vendor returns them. */
const reread = (fields: LabelFields, values: Readonly<Record<string, string>>) =>
  fromFields(fields, (field) => values[field]);

describe('labels', () => {
  test('return from the fields of a vendor as written', () => {
    fc.assert(
      fc.property(writes, (write) => {
        const labels = labelsOf(ownerTag, write);
        expect(reread(WITH_KEY, toFields(WITH_KEY, labels))).toEqual(labels);
        const { key, ...others } = labels;
        expect(reread(FIELDS, toFields(FIELDS, labels))).toEqual(others);
        expect(Object.values(toFields(FIELDS, labels))).not.toContain(key);
        expect(areOfWrite(reread(FIELDS, toFields(FIELDS, labels)), write)).toBe(true);
      }),
    );
  });

  test('are absent if no field has a value, and without record if the object was cleared', () => {
    expect(fromFields(WITH_KEY, () => undefined)).toEqual(NO_LABELS);
    expect(reread(FIELDS, { 'x-owner': ownerTag, 'x-record': NO_RECORD })).toEqual({ ownerTag, sealedRecordId: null });
  });

  test.each(['', '0', '-1', '1.5', 'A', 'x y', 'z'.repeat(9)])('have no revision with the text %j', (text) => {
    expect(reread(FIELDS, { 'x-revision': text })).toEqual(NO_LABELS);
    expect(fromRevisionText(text)).toBeUndefined();
  });

  test('are those of a write only with its record and its revision', () => {
    const write = { sealedRecordId: 'record', revision: 7 };
    expect(areOfWrite({ sealedRecordId: 'record', revision: 7 }, write)).toBe(true);
    expect(areOfWrite({ sealedRecordId: 'other', revision: 7 }, write)).toBe(false);
    expect(areOfWrite({ sealedRecordId: 'record', revision: 8 }, write)).toBe(false);
    expect(areOfWrite({ sealedRecordId: 'record' }, write)).toBe(false);
    expect(toRevisionText(36)).toBe('10');
  });
});

describe('an object', () => {
  const labels = { ownerTag, sealedRecordId: 'record', revision: 7 };

  test('with the owner tag is ours, under the key of its label or else of its name', () => {
    const part = { sealedRecordId: 'record', revision: 7 };
    expect(ownedBy(ownerTag, labels, [KEY])).toEqual({ key: KEY, ...part });
    expect(ownedBy(ownerTag, { ...labels, key: OTHER_KEY }, [KEY])).toEqual({ key: OTHER_KEY, ...part });
    expect(ownedBy(ownerTag, labels, ['a copy', null])).toEqual({ key: null, ...part });
  });

  test('without an owner tag, or with a damaged one, is ours only by a name of the form of a key', () => {
    for (const damaged of [null, '', 'checked by Anna', ownerTag.slice(1), ownerTag.toUpperCase()]) {
      const lost = { ownerTag: damaged, sealedRecordId: null };
      expect(ownedBy(ownerTag, lost, ['a name', undefined, KEY])).toEqual({
        ...{ key: KEY, sealedRecordId: null, marksLost: true },
      });
      expect(ownedBy(ownerTag, { ...lost, key: OTHER_KEY }, [KEY])?.key).toBe(OTHER_KEY);
      expect(ownedBy(ownerTag, { ...lost, key: 'damaged' }, [KEY])?.key).toBe(KEY);
      for (const name of ['a name', KEY.slice(1), KEY.toUpperCase(), null])
        expect(ownedBy(ownerTag, lost, [name])).toBeNull();
    }
  });

  test('of another target is foreign, whatever its name and its key', () => {
    expect(ownedBy(ownerTag, { ...labels, ownerTag: another, key: KEY }, [KEY])).toBeNull();
  });

  test('shows its labels in the form of the contract', () => {
    expect(ownedPart({ sealedRecordId: null })).toEqual({ sealedRecordId: null });
    const lost = { sealedRecordId: 'record', revision: 7, marksLost: true } as const;
    expect(ownedPart({ ...lost, ...{ key: KEY, other: 1 } })).toEqual(lost);
  });
});
