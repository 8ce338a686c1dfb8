import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  COMMON,
  common,
  defineErrors,
  defineOwnErrors,
  NO_WORDS,
  remote,
  settings,
  type VendorErrors,
} from '../../src/connectors/errors.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { ANY } from '../../src/operator/codes/vendor-codes.ts';
import { catalogues } from '../../tools/write-reference.ts';

const wordsOf = ({ body }: { body: unknown }) => (Array.isArray(body) ? body.map(String) : []);

const vendor = defineErrors('salesforce', wordsOf, {
  ...common('refused', 'server-error'),
  'rate-limited': { ...COMMON['rate-limited'], words: ['TOO_FAST'], pauseMs: 30_000 },
  'storage-full': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    statuses: [409, 507],
    words: ['FULL'],
    leastPauseMs: 60_000,
  },
  'record-locked': { ...{ actor: 'contract', retry: 'later', scope: 'item' }, code: 'full' },
  'batch-dependency': { ...COMMON['batch-dependency'], code: 'full', ambiguous: true },
});

function answer(status: number, body: unknown = null, retryAfterMs: number | null = null) {
  return { status, body, retryAfterMs };
}

describe("a vendor's answer that is no success", () => {
  test.each([
    ['the first of its words that is known, whatever the status', 403, ['SECRET', 'FULL', 'TOO_FAST'], 'storage-full'],
    ['its status when no word is known', 429, ['SECRET'], 'rate-limited'],
    ['its status before the class of its status', 409, null, 'storage-full'],
    ['its status before the class of its status, 5xx too', 507, null, 'storage-full'],
    ['the class of its status', 418, null, 'refused'],
    ['the class of its status, 5xx too', 599, null, 'server-error'],
    ['nothing that it says', 302, null, 'unexpected-status'],
    ['nothing that every object has', 302, ['toString', 'constructor'], 'unexpected-status'],
  ])('is known by %s', (_, status, body, kind) => {
    expect(vendor.kindOf({ status, body })).toBe(kind);
    expect(vendor.of(answer(status, body))).toMatchObject({ code: kind, status });
  });

  test('has actor, retry and remedy, without the text of the vendor', () => {
    const error = vendor.of(answer(403, ['FULL', 'Ada Rossi']));
    expect(error).toBeInstanceOf(MirrorError);
    expect(error).toMatchObject({
      actor: 'settings',
      retry: 'never',
      remedy: 'free storage in the org',
      ambiguous: false,
    });
    expect(error.message).toBe('the storage of the org is full');
  });

  test.each([
    ['as long as the vendor requests', 429, 5_000, 5_000],
    ['zero seconds if the vendor requests zero', 429, 0, 0],
    ['the delay of its kind if the vendor specifies none', 429, null, 30_000],
    ['at least the delay of its kind', 507, 5_000, 60_000],
    ['longer if the vendor requests it', 507, 90_000, 90_000],
    ['the minimum of its kind if the vendor specifies none', 507, null, 60_000],
    ['an unspecified time for an unknown kind', 418, null, undefined],
  ])('waits %s', (_, status, retryAfterMs, waitMs) => {
    expect(vendor.of(answer(status, null, retryAfterMs)).retryAfterMs).toBe(waitMs);
  });

  test.each([
    ['a failed server may have done the operation', 500, null, true],
    ['a refusal means that the operation was not done', 418, null, false],
    ['the kind of the error overrides the status', 503, ['TOO_FAST'], false],
  ])('%s', (_, status, body, ambiguous) => {
    expect(vendor.of(answer(status, body)).ambiguous).toBe(ambiguous);
  });
});

test('an answer of a vendor without words is known by its status', () => {
  const mute = defineErrors('salesforce', NO_WORDS, common('refused', 'rate-limited'));
  expect([429, 418, 302].map((status) => mute.kindOf({ status, body: ['TOO_FAST'] }))).toEqual([
    ...['rate-limited', 'refused', 'unexpected-status'],
  ]);
});

describe('an error that is made', () => {
  test('has the names of the affected objects at the end of its message', () => {
    expect(vendor.make('record-locked', { names: ['name', 'mail'] }).message).toBe(
      'another write has locked the record or its parent: name, mail',
    );
  });

  test('carries the code that kinds share, and its known details', () => {
    const cause = new Error('inner');
    expect(vendor.make('record-locked', { status: 207, ambiguous: true, cause })).toMatchObject({
      ...{ code: 'full', status: 207, ambiguous: true, cause },
    });
    expect(vendor.make('batch-dependency')).toMatchObject({ code: 'full', ambiguous: true, retryAfterMs: undefined });
    expect(vendor.make('batch-dependency', { ambiguous: false }).ambiguous).toBe(false);
  });

  test('has the scope of its kind; the scope of a foreign error is unknown', () => {
    expect(vendor.scopeOf(vendor.make('storage-full'))).toBe('target');
    expect(vendor.scopeOf(vendor.make('record-locked'))).toBe('item');
    const foreign = new MirrorError('x', { actor: 'remote', code: 'connection-failed', retry: 'later' });
    expect(vendor.scopeOf(foreign)).toBeNull();
  });
});

describe('a catalogue in which two kinds claim the same', () => {
  const kind = COMMON['server-error'];
  test.each([
    ['status', { one: { ...kind, statuses: [503] }, other: { ...kind, statuses: [503] } }],
    ['class of statuses', { one: kind, other: kind }],
    ['word', { one: { ...kind, statuses: [], words: ['BUSY'] }, other: { ...kind, statuses: [], words: ['BUSY'] } }],
  ] as const)('%s is none', (_, kinds) => {
    expect(() => defineErrors('salesforce', NO_WORDS, kinds)).toThrow(/both one and other claim/);
  });

  test('code, and not the same scope, is none', () => {
    const kinds = { one: { ...COMMON['html-answer'], code: 'x' }, other: { ...COMMON['answer-missing'], code: 'x' } };
    expect(() => defineErrors('salesforce', NO_WORDS, kinds)).toThrow(/x concerns both/);
  });
});

/** All sources of a folder of connectors, in one text. */
function sourcesOf(folder: string): string {
  const path = join(import.meta.dirname, '../../src/connectors', folder);
  const files = readdirSync(path).filter((file) => file.endsWith('.ts'));
  return files.map((file) => readFileSync(join(path, file), 'utf8')).join('\n');
}

test.each([...catalogues.keys()].filter((name) => name !== ANY))('%s makes no error past its catalogue', (name) => {
  expect(sourcesOf(name)).not.toMatch(/\bnew MirrorError\b/);
});

describe.each([...catalogues])('the errors of %s', (name, errors: VendorErrors) => {
  const kinds = Object.entries(errors.kinds);

  test('contain a remedy whenever an administrator must act', () => {
    const isPersons = ([, { actor }]: (typeof kinds)[number]) => actor === 'settings' || actor === 'authorization';
    expect(kinds.filter(isPersons).filter(([kind]) => errors.textsOf(kind).remedy === null)).toEqual([]);
  });

  test('are all raised: recognised in answers, or created', () => {
    const uses = sourcesOf(name === ANY ? '.' : name).replaceAll(/^ {2}('[a-z-]+'|\w+): .*$|common\([^)]*\)/gm, '');
    const isGiven = ([kind, { statuses, words }]: (typeof kinds)[number]) =>
      statuses !== undefined || words !== undefined || uses.includes(`'${kind}'`) || kind === 'unexpected-status';
    expect(kinds.filter((kind) => !isGiven(kind)).map(([kind]) => kind)).toEqual([]);
  });
});

describe('errors of a connector outside of the catalogue', () => {
  const errors = defineOwnErrors('Wall calendar', {
    gone: [settings.target({ provesGone: true, statuses: [404] }), 'the wall is gone', 'build a wall'],
    busy: [remote.item({ ambiguous: false }), 'someone is writing'],
  });

  test('have their own texts, actor and scope', () => {
    const gone = errors.make('gone', { names: ['wall'] });
    expect(gone).toMatchObject({ code: 'gone', actor: 'settings', retry: 'never', concerns: 'target', about: 'wall' });
    expect(gone.message).toBe('the wall is gone: wall');
    expect(gone.remedy).toBe('build a wall');
    expect(errors.make('busy')).toMatchObject({ message: 'someone is writing', actor: 'remote', ambiguous: false });
    expect([errors.scopeOf(gone), errors.provesGone(gone)]).toEqual(['target', true]);
    expect([errors.scopeOf(errors.make('busy')), errors.provesGone(errors.make('busy'))]).toEqual(['item', false]);
  });

  test('are identified like others, and two cannot claim one status', () => {
    expect(errors.kindOf({ status: 404, body: null })).toBe('gone');
    const kind = settings.target({ statuses: [404] });
    expect(() => defineOwnErrors('Wall', { one: [kind, 'one'], other: [kind, 'other'] })).toThrow(/both one and other/);
  });
});
