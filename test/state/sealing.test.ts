import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { createSealer, openSealed, type SealingKey } from '../../src/state/sealing.ts';
import { useDamage } from '../support/damage.ts';

const OLD: SealingKey = { id: 'k1', key: Buffer.alloc(32, 1) };
const NEW: SealingKey = { id: 'k2', key: Buffer.alloc(32, 2) };
const sealer = createSealer([OLD], 'studio-rossi');
const damage = useDamage();

function failure(open: () => unknown): MirrorError {
  try {
    open();
  } catch (error) {
    if (error instanceof MirrorError) return error;
  }
  throw new Error('expected a MirrorError');
}

describe('an encrypted value', () => {
  test('opens to what it was, and looks different each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, context) => {
        const sealed = sealer.seal(text, context);
        expect(sealer.open(sealed, context)).toBe(text);
        expect(sealer.seal(text, context)).not.toBe(sealed);
      }),
    );
  });

  test('does not reveal its content', () => {
    const sealed = sealer.seal('Mario Rossi', 'outbox/doctor/1');
    expect(sealed).toMatch(/^s1\.k1\.[\w-]+$/);
    expect(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('Rossi');
  });

  test('opens in no other place and for no other tenant', () => {
    const sealed = sealer.seal('x', 'outbox/doctor/1');
    for (const context of ['outbox/doctor/2', 'outbox/nurse/1', '']) {
      expect(failure(() => sealer.open(sealed, context))).toMatchObject({ actor: 'settings', code: 'state-damaged' });
    }
    const other = createSealer([OLD], 'studio-bianchi');
    expect(failure(() => other.open(sealed, 'outbox/doctor/1'))).toMatchObject({ code: 'state-damaged' });
  });

  test('that was changed in one place does not open', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (place, difference) => {
        const [format, id, payload = ''] = sealer.seal('Mario Rossi', 'x').split('.');
        const bytes = Buffer.from(payload, 'base64url');
        const index = place % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ difference;
        const changed = [format, id, bytes.toString('base64url')].join('.');
        expect(failure(() => sealer.open(changed, 'x')).code).toBe('state-damaged');
      }),
    );
  });

  test.each(['', 's1', 's1.k1', 's1.k1.', 's1.k1.AAAA', 's2.k1.AAAA', 'Mario Rossi'])('is not %j', (text) => {
    const error = failure(() => sealer.open(text, 'x'));
    expect(error).toMatchObject({ actor: 'settings', code: 'state-damaged', retry: 'never' });
    expect(error.message).not.toContain('Rossi');
  });

  test('that claims another key of the ring does not open', () => {
    const both = createSealer([OLD, NEW], 'studio-rossi');
    const sealed = both.seal('x', 'x').replace('.k1.', '.k2.');
    expect(failure(() => both.open(sealed, 'x')).code).toBe('state-damaged');
  });
});

describe('optional encrypted content', () => {
  test('is decrypted, and null if it was moved, has another origin, or its key is gone', () => {
    const sealed = sealer.seal(JSON.stringify({ a: 1 }), 'c');
    expect(openSealed(sealer, sealed, 'c', 'holds')).toEqual({ a: 1 });
    expect(openSealed(sealer, sealed, 'd', 'holds')).toBeNull();
    expect(openSealed(createSealer([NEW], 'studio-rossi'), sealed, 'c', 'holds')).toBeNull();
    for (const other of ['', '{"a":1}', 's1', 's1.k1', 's2.k1.AAAA', 's1.k1.AAAA', `x${sealed}`])
      expect(openSealed(sealer, other, 'c', 'holds')).toBeNull();
  });

  test('is reported with its owner and kind if damaged, but not if its key is gone', () => {
    const sealed = sealer.seal('1', 'c');
    openSealed(createSealer([NEW], 'studio-rossi'), sealed, 'c', 'holds');
    expect([...damage]).toEqual([]);
    openSealed(sealer, sealed, 'd', 'holds');
    expect([...damage]).toEqual(['studio-rossi holds']);
  });

  test('throws for data whose reading must stop, and is reported too', () => {
    expect(failure(() => openSealed(sealer, 'made up', 'c', 'credentials')).code).toBe('state-damaged');
    expect([...damage]).toEqual(['studio-rossi credentials']);
  });

  test('does not hide a defect of the program', () => {
    expect(() => openSealed(sealer, sealer.seal('no JSON', 'c'), 'c', 'holds')).toThrow(SyntaxError);
  });
});

describe('a key', () => {
  test('is replaced by putting a new one first: the old one still opens, and what is old is known', () => {
    const before = sealer.seal('x', 'c');
    const rotated = createSealer([NEW, OLD], 'studio-rossi');
    expect(rotated.open(before, 'c')).toBe('x');
    expect(rotated.isStale(before)).toBe(true);
    expect(rotated.isStale(rotated.seal('x', 'c'))).toBe(false);
    expect(createSealer([NEW], 'studio-rossi').open(rotated.seal('x', 'c'), 'c')).toBe('x');
  });

  test('that was removed too early is reported with the remedy', () => {
    const error = failure(() => createSealer([NEW], 'studio-rossi').open(sealer.seal('x', 'c'), 'c'));
    expect(error).toMatchObject({ actor: 'settings', code: 'sealing-key-unknown' });
    expect(error.message).toContain('"k1"');
    expect(error.remedy).toContain('sealingKeys');
  });

  test('is required', () => {
    expect(failure(() => createSealer([], 'studio-rossi'))).toMatchObject({
      actor: 'settings',
      code: 'no-sealing-key',
    });
  });
});
