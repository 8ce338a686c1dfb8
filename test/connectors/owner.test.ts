import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fromStamp,
  isStampOfAnother,
  ownedByStamp,
  type Stamp,
  stampedPart,
  toStamp,
} from '../../src/connectors/owner.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { recordIds } from '../domain/arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'contacts', CALENDAR_FORM);
const other = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'other', CALENDAR_FORM);

const stamps: fc.Arbitrary<Stamp> = fc
  .record({
    recordId: recordIds,
    patientId: fc.option(recordIds),
    contactRecreations: fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined }),
    startSeconds: fc.integer({ min: -1e9, max: 4e9 }),
    revision: fc.option(fc.integer({ min: 1, max: 1e12 }), { nil: undefined }),
  })
  .map(({ recordId, patientId, contactRecreations, startSeconds, revision }) => ({
    sealedRecordId: identity.sealedRecordId(recordId),
    contactKey: patientId === null ? null : identity.key(patientId, 0),
    ...(contactRecreations === undefined ? {} : { contactRecreations }),
    startAt: startSeconds * 1_000,
    ...(revision === undefined ? {} : { revision }),
  }));

describe('a stamp', () => {
  test('returns the stamped value only to its own target', () => {
    fc.assert(
      fc.property(stamps, (stamp) => {
        const text = toStamp(identity.ownerTag, stamp);
        expect(fromStamp(identity.ownerTag, text)).toEqual(stamp);
        expect(fromStamp(other.ownerTag, text)).toBeNull();
        expect(isStampOfAnother(identity.ownerTag, text)).toBe(false);
        expect(isStampOfAnother(other.ownerTag, text)).toBe(true);
        expect(ownedByStamp(identity.ownerTag, text)).toEqual({ owner: 'ours', stamp });
        expect(ownedByStamp(other.ownerTag, text)).toEqual({ owner: 'foreign', stamp: null });
      }),
    );
  });

  test('that was damaged or emptied belongs to no target', () => {
    const whole = toStamp(identity.ownerTag, { sealedRecordId: 'abc', contactKey: null, startAt: 0 });
    const ended = [`${whole}.`, `${whole}..`, `${whole}..0`, `${whole}..1.1`, `${whole}..123456789`, `${whole}.1.`];
    for (const text of ended) expect(fromStamp(identity.ownerTag, text), text).toBeNull();
    for (const text of [null, '', 'call her back', whole.slice(0, 20), `${whole} `, 42]) {
      expect(fromStamp(identity.ownerTag, text)).toBeNull();
      expect(isStampOfAnother(other.ownerTag, text)).toBe(false);
    }
  });

  test('without a start is none', () => {
    expect(() => toStamp(identity.ownerTag, { sealedRecordId: 'a', contactKey: null, startAt: Number.NaN })).toThrow(
      RangeError,
    );
  });
});

describe('a CRM object', () => {
  test.each([undefined, null, '', 'checked by Anna', identity.ownerTag])('with the stamp %j is bare', (text) => {
    expect(ownedByStamp(identity.ownerTag, text)).toEqual({ owner: 'bare', stamp: null });
  });

  test('shows record and write of its stamp in the form of the contract', () => {
    expect(stampedPart(null)).toEqual({ sealedRecordId: null });
    const stamp = { sealedRecordId: 'record', contactKey: null, startAt: 0 };
    expect(stampedPart(stamp)).toEqual({ sealedRecordId: 'record' });
    expect(stampedPart({ ...stamp, revision: 7 })).toEqual({ sealedRecordId: 'record', revision: 7 });
  });
});
