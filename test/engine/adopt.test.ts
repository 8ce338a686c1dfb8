import { describe, expect, test } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { RemoteItem } from '../../src/core/model/operations.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { adopt, namesOf } from '../../src/engine/adopt.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const ITEM: CalendarItem = {
  title: 'Appointment',
  description: null,
  location: null,
  time: { kind: 'timed', start: '2026-06-16T09:00:00+02:00', end: '2026-06-16T10:00:00+02:00', zone: 'Europe/Rome' },
  busy: true,
};

const NONE = () => namesOf(identity, []);
const adopted = (...given: Parameters<typeof adopt>) => atOnce(adopt(...given));

function remote(recordId: string, changes: Partial<RemoteItem> = {}): RemoteItem {
  const key = identity.key(recordId, 0);
  return {
    key,
    sealedRecordId: identity.sealedRecordId(recordId),
    remoteId: key,
    versionTag: 'v1',
    item: ITEM,
    ...changes,
  };
}

describe('an object with our owner tag', () => {
  test('restores the lost link', () => {
    expect(adopted([remote('1')], { identity, unreadableStartAt: 0, names: NONE })).toStrictEqual({
      links: [
        {
          recordId: '1',
          fingerprint: identity.fingerprint(ITEM),
          versionTag: 'v1',
          startAt: Date.parse('2026-06-16T07:00:00Z'),
          endAt: Date.parse('2026-06-16T08:00:00Z'),
          idAttempt: 0,
          remoteId: null,
          drift: null,
        },
      ],
      ambiguous: 0,
      revision: 0,
    });
  });

  test('keeps the epoch of its key, and the id under which the target knows it', () => {
    const { links } = adopted([remote('1', { key: identity.key('1', 3), remoteId: 'AAMk=' })], {
      identity,
      unreadableStartAt: 0,
      names: NONE,
    });
    expect(links).toMatchObject([{ idAttempt: 3, remoteId: 'AAMk=' }]);
  });

  test('edited to an unreadable form is linked, and differs from every item', () => {
    const { links, ambiguous } = adopted([remote('1', { item: null })], {
      identity,
      unreadableStartAt: 123_000,
      names: NONE,
    });
    expect(links).toMatchObject([{ recordId: '1', fingerprint: '', startAt: 123_000, endAt: 123_000 }]);
    expect(ambiguous).toBe(0);
  });

  test('of whole days takes them up', () => {
    const time = { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-18' } as const;
    const { links } = adopted([remote('1', { item: { ...ITEM, time } })], {
      identity,
      unreadableStartAt: 0,
      names: NONE,
    });
    expect(links).toMatchObject([
      { startAt: Date.parse('2026-06-16T00:00:00Z'), endAt: Date.parse('2026-06-18T00:00:00Z') },
    ]);
  });

  test.each([
    ['lost its locator', remote('1', { sealedRecordId: null })],
    ['has a sealedRecordId of another installation', remote('1', { sealedRecordId: 'x'.repeat(60) })],
    [
      'carries the sealedRecordId of another target',
      remote('1', {
        sealedRecordId: createTargetIdentity(
          Buffer.alloc(32, 7),
          'studio-rossi',
          'nurse',
          CALENDAR_FORM,
        ).sealedRecordId('1'),
      }),
    ],
    ['has the key of another record: a copy made by a user', remote('1', { key: identity.key('2', 0) })],
    ['has a key of an epoch after the tried ones', remote('1', { key: identity.key('1', 9) })],
  ])('and %s is counted, and never linked', (_, object) => {
    expect(adopted([object], { identity, unreadableStartAt: 0, names: NONE })).toEqual({
      links: [],
      ambiguous: 1,
      revision: 0,
    });
  });

  test('is never matched by time or title only', () => {
    const same = remote('1', { sealedRecordId: null });
    const { links } = adopted([same, remote('2')], { identity, unreadableStartAt: 0, names: NONE });
    expect(links.map(({ recordId }) => recordId)).toEqual(['2']);
  });
});

test('an object without marks is linked by its name, if the record is known', () => {
  const lost = { sealedRecordId: null, marksLost: true } as const;
  const items = [
    remote('1', lost),
    remote('2', { ...lost, key: identity.key('2', 2) }),
    remote('3', lost),
    remote('4', lost),
  ];
  const second = { ...adopted([remote('2')], { identity, unreadableStartAt: 0, names: NONE }).links[0]!, idAttempt: 2 };
  const names = () => namesOf(identity, [second], ['1', '3']);
  expect(adopted(items, { identity, unreadableStartAt: 0, names })).toMatchObject({
    links: [
      { recordId: '1', idAttempt: 0, unmarked: true, isRebuilt: true },
      { recordId: '2', idAttempt: 2, unmarked: true },
      { recordId: '3', unmarked: true },
    ],
    ambiguous: 0,
  });
});

test('an object without marks and without a link is linked by one of the first three keys of a known record', () => {
  const lost = { sealedRecordId: null, marksLost: true } as const;
  const items = ['0', '1', '2', '3'].map((id, attempt) => {
    const key = identity.key(id, attempt);
    return remote(id, { ...lost, key, remoteId: key });
  });
  const names = () => namesOf(identity, [], ['0', '1', '2', '3']);
  const { links } = adopted(items, { identity, unreadableStartAt: 0, names });
  expect(links.map(({ recordId, idAttempt }) => [recordId, idAttempt])).toEqual([
    ['0', 0],
    ['1', 1],
    ['2', 2],
  ]);
});

test('of several objects for one record the last written is linked, and the highest revision is returned', () => {
  const twins = [4, 7, 6].map((revision, idAttempt) => ({
    ...remote('1', { key: identity.key('1', idAttempt), remoteId: `r${idAttempt}` }),
    revision,
  }));
  const strange = { ...remote('2', { sealedRecordId: null }), revision: 12 };
  expect(adopted([...twins, strange], { identity, unreadableStartAt: 0, names: NONE })).toMatchObject({
    links: [{ recordId: '1', idAttempt: 1, revision: 7 }],
    ambiguous: 2,
    revision: 12,
  });
});

test('of several objects for one record one is linked and the record is counted once', () => {
  const twins = [0, 1, 2].map((idAttempt) =>
    remote('1', { key: identity.key('1', idAttempt), remoteId: `r${idAttempt}` }),
  );
  expect(adopted([...twins, remote('2')], { identity, unreadableStartAt: 0, names: NONE })).toMatchObject({
    links: [{ recordId: '1', idAttempt: 0 }, { recordId: '2' }],
    ambiguous: 1,
  });
});
