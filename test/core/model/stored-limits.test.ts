import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isStorable, STORED_LIMITS, storable, storableTag, storedJson } from '../../../src/core/model/stored-limits.ts';

describe('a foreign string for a stored value', () => {
  test('passes unchanged up to its limit, and is refused by name above', () => {
    for (const [kind, most] of Object.entries(STORED_LIMITS)) {
      const name = kind as keyof typeof STORED_LIMITS;
      expect(storable(name, 'x'.repeat(most))).toHaveLength(most);
      expect(() => storable(name, 'x'.repeat(most + 1))).toThrow(kind);
      expect(storable(name, null)).toBeNull();
    }
  });

  test('of a calendar concerns its target, any other one object', () => {
    const errorOf = (kind: 'container' | 'remoteId') => {
      try {
        return storable(kind, 'x'.repeat(3_000));
      } catch (error) {
        return error;
      }
    };
    expect(errorOf('container')).toMatchObject({ code: 'value-too-long', actor: 'contract', concerns: 'target' });
    expect(errorOf('remoteId')).toMatchObject({ code: 'value-too-long', concerns: 'item', retry: 'later' });
  });

  test('has no control characters, which separate stored fields and lines of requests', () => {
    for (const character of ['\t', '\n', '\r', '\u0000', '\u0085'])
      expect(isStorable('versionTag', `"a${character}b"`)).toBe(false);
  });
});

test('a version tag that may not be stored counts as none', () => {
  expect(storableTag('"abc"')).toBe('"abc"');
  expect(storableTag(`"${'a'.repeat(255)}"`)).toBeNull();
  expect(storableTag('"a"\r\nx-injected: 1')).toBeNull();
  expect(storableTag(undefined)).toBeNull();
});

test('a report of any texts is stored with each text at most a sentence long', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 5 }), (lengths) => {
      const texts = lengths.map((length) => 'é'.repeat(length));
      const stored = JSON.parse(storedJson({ texts, nested: { texts }, count: 3 }));
      expect(stored.count).toBe(3);
      for (const text of [...stored.texts, ...stored.nested.texts])
        expect(text.length).toBeLessThanOrEqual(STORED_LIMITS.sentence);
      for (const [at, text] of texts.entries())
        if (text.length <= STORED_LIMITS.sentence) expect(stored.texts[at]).toBe(text);
    }),
    { numRuns: 20 },
  );
});
