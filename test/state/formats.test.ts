import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import { createLinkFormat } from '../../src/state/formats.ts';
import { NOW } from '../domain/arbitraries.ts';
import { someLinks } from './link-arbitraries.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);
const format = createLinkFormat(IDENTITY_KEY, 'studio-rossi');

function linkOf(changes: Partial<Link> = {}): Link {
  return {
    ...{ recordId: '1', fingerprint: 'f'.repeat(22), versionTag: '"3"', startAt: NOW, endAt: NOW + 3_600_000 },
    ...{ idAttempt: 0, remoteId: null, drift: null, revision: 7 },
    ...changes,
  };
}

/** What is left of a place that is not proved. */
const UNPLACED = { idAttempt: 0, remoteId: null, isUnplaced: true };

test('a stored link is read unchanged, with any content', () => {
  fc.assert(
    fc.property(someLinks, (links) => {
      for (const link of links)
        expect(format.decode('doctor', link.recordId, format.encode('doctor', link))).toEqual(link);
    }),
  );
});

test('how often an object had to be made again is kept', () => {
  const link = linkOf({ recreations: 3 });
  expect(format.decode('doctor', '1', format.encode('doctor', link))).toEqual(link);
});

describe('the location of a link’s object', () => {
  test('is proved in the same way by each version, so that an upgrade looks for nothing', () => {
    const stored = format.encode('doctor', linkOf({ idAttempt: 1, remoteId: 'AAMk=' }));
    expect(stored.split('\t').at(-1)).toBe('wQXGj7mzAAMk=');
  });

  test('requires no proof if it follows from the record, and costs no byte', () => {
    const stored = format.encode('doctor', linkOf());
    expect(stored).toBe(`${'f'.repeat(22)}\t${(NOW / 60_000).toString(36)}.1o\tk7\t3`);
    expect(format.decode('nurse', 'another', stored)).toEqual(linkOf({ recordId: 'another' }));
  });

  test.each([{ remoteId: 'AAMk=' }, { idAttempt: 2 }, { idAttempt: 1, remoteId: 'AAMk=' }])(
    'is read unchanged: %o',
    (location) => {
      const link = linkOf(location);
      expect(format.decode('doctor', '1', format.encode('doctor', link))).toEqual(link);
    },
  );

  test.each<[string, string, string, string]>([
    ['another record', 'studio-rossi', 'doctor', '2'],
    ['another target', 'studio-rossi', 'nurse', '1'],
    ['another tenant', 'other', 'doctor', '1'],
  ])('is not believed of %s', (_, tenant, target, recordId) => {
    const link = linkOf({ remoteId: 'AAMk=', idAttempt: 1 });
    const stored = createLinkFormat(IDENTITY_KEY, tenant).encode(target, { ...link, recordId });
    expect(format.decode('doctor', '1', stored)).toEqual({ ...link, ...UNPLACED });
  });

  test('is not believed when it was made with another identity key', () => {
    const link = linkOf({ remoteId: 'AAMk=' });
    const stored = createLinkFormat(Buffer.alloc(32, 8), 'studio-rossi').encode('doctor', link);
    expect(format.decode('doctor', '1', stored)).toEqual({ ...link, ...UNPLACED });
  });

  test('is not believed when its proof, its id or its epoch is another one, whichever', () => {
    const link = linkOf({ remoteId: 'AAMkAGI2=' });
    const [fingerprint = '', time = '', write = '', tag = '', location = ''] = format
      .encode('doctor', link)
      .split('\t');
    const other = (changed: { write?: string; location?: string }) =>
      format.decode(
        'doctor',
        '1',
        [fingerprint, time, changed.write ?? write, tag, changed.location ?? location].join('\t'),
      );
    expect(other({})).toEqual(link);
    fc.assert(
      fc.property(fc.stringMatching(/^[\w=-]{0,24}$/), (forged) => {
        fc.pre(forged !== location && forged !== '');
        expect(other({ location: forged })).toEqual({ ...link, ...UNPLACED });
      }),
    );
    expect(other({ write: 'l7' })).toEqual({ ...link, ...UNPLACED });
    expect(other({ location: '' })).toEqual({ ...link, remoteId: null });
    expect(other({ write: 'l7', location: '' })).toEqual({ ...link, ...UNPLACED });
  });

  test('without its proof, as versions before kept it, is not told; the version tag is', () => {
    const before = `${'f'.repeat(22)}\ttd0n80\t1\t"3"\tremote\tedited`;
    expect(format.decode('doctor', '1', before)).toMatchObject({ ...UNPLACED, versionTag: '"3"', drift: 'edited' });
  });
});

test('a link with an id that its reader had to refuse is not stored, and a tag too long to be stored is left out', () => {
  const tooLong = { code: 'value-too-long' };
  const encode = (changes: Partial<Link>) => format.encode('doctor', linkOf(changes));
  expect(() => encode({ remoteId: 'x'.repeat(1_025) })).toThrow(expect.objectContaining(tooLong));
  expect(() => encode({ recordId: 'x'.repeat(201) })).toThrow(expect.objectContaining(tooLong));
  expect(() => encode({ remoteId: 'a\tb' })).toThrow(expect.objectContaining(tooLong));
  expect(encode({ versionTag: `"${'t'.repeat(800_000)}"` })).toBe(encode({ versionTag: null }));
});
