import { describe, expect, test } from 'vitest';
import { type FlowScope, findFlow, operationFlow } from '../../../src/connectors/google-calendar/flows.ts';
import {
  normaliseItem,
  toBlankEvent,
  toEvent,
  toPatch,
  UNTOUCHED,
} from '../../../src/connectors/google-calendar/from-model.ts';
import { DESCRIPTION_STAMP_PROPERTY, EVENT_FIELDS } from '../../../src/connectors/google-calendar/limits.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import {
  createOperation,
  deleteOperation,
  itemWith,
  keyOf,
  MARK,
  sealedRecordIdOf,
  updateOperation,
} from '../../contract/contract-kit.ts';
import { answered, playFlow } from '../play-flow.ts';

const SCOPE: FlowScope = { calendarId: 'dr rossi@x.org', ownerTag: MARK, quotaUser: null };
const KEY = keyOf('a');
const CALENDAR = '/calendar/v3/calendars/dr%20rossi%40x.org';
const FIELDS = new URLSearchParams({ fields: EVENT_FIELDS }).toString();
/** Writes send no mail to anyone. */
const QUIET = 'sendUpdates=none';
const insert = `POST ${CALENDAR}/events?${QUIET}&${FIELDS}`;
const get = (id = KEY) => `GET ${CALENDAR}/events/${id}?${FIELDS}`;
const put = (etag: string | null, id = KEY) => `PUT ${CALENDAR}/events/${id}?${QUIET}&${FIELDS} if ${etag}`;
const patch = (etag: string | null, id = KEY) => `PATCH ${CALENDAR}/events/${id}?${QUIET}&${FIELDS} if ${etag}`;
const del = (etag: string | null, id = KEY) => `DELETE ${CALENDAR}/events/${id}?${QUIET} if ${etag}`;
const getCalendar = `GET ${CALENDAR}/events?maxResults=1&fields=kind`;

const WANTED = itemWith({ title: 'New' });
const OLD = itemWith({ title: 'Old' });
const STAMP = { ownerTag: MARK, sealedRecordId: sealedRecordIdOf('a'), revision: 1 };
const create = createOperation('a', WANTED);
const update = (versionTag: string | null, remoteId: string | null = null) =>
  updateOperation('a', WANTED, versionTag, remoteId);
const remove = (versionTag: string | null, remoteId: string | null = null) =>
  deleteOperation('a', versionTag, remoteId);
const erase = { ...remove('"1"'), erase: true };

interface EventChanges {
  id?: string;
  etag?: string | undefined;
  item?: typeof WANTED;
  ownerTag?: string;
  revision?: number;
  status?: 'confirmed' | 'cancelled';
  sequence?: number;
  description?: string;
}

/** A managed event in Google's form, with the content of the operations. */
function event({
  id = KEY,
  item = WANTED,
  ownerTag = MARK,
  revision = 1,
  status = 'confirmed',
  ...rest
}: EventChanges = {}) {
  const etag = 'etag' in rest ? rest.etag : '"7"';
  return { ...toEvent(item, { ...STAMP, ownerTag, revision }), ...rest, id, etag, status };
}

const shown = (changes?: EventChanges) => answered(200, event(changes));
const otherTag = { private: { clinicMirror: 'othertargetmark0' } };
const foreign = answered(200, { id: KEY, etag: '"9"', summary: 'Not ours', extendedProperties: otherTag });

function refused(status: number, reason: string): WireResponse {
  return answered(status, {
    error: { code: status, message: reason, errors: [{ domain: 'global', reason, message: reason }] },
  });
}

const [done, missing, gone, conflict, busy] = [
  answered(204),
  answered(404),
  answered(410),
  answered(412),
  answered(503),
];
const duplicate = refused(409, 'duplicate');
const notTogether = refused(409, 'conflict');
const forbidden = refused(403, 'forbidden');

const play = (operation: Operation, ...answers: WireResponse[]) =>
  playFlow(operationFlow(SCOPE, operation), ...answers);
const wrote = (effect: string, changes: object = {}) => ({
  marks: 'kept',
  recordId: 'a',
  result: 'written',
  effect,
  versionTag: '"7"',
  remoteId: null,
  stored: normaliseItem(WANTED),
  ...changes,
});
const deletion = (effect: 'deleted' | 'already-gone') => ({ recordId: 'a', result: 'deleted', effect });
const BURNT = { recordId: 'a', result: 'key-burnt' };
const MEANWHILE = { code: 'changed-meanwhile', actor: 'conflict', retry: 'now' };
const CALENDAR_GONE = { code: 'calendar-gone' };
const IN_TROUBLE = { code: 'server-error', status: 503, ambiguous: true };

describe('a create', () => {
  test('is one insert under an id of clinic-mirror, which sends no mail and restores the event', () => {
    const { calls, log, result } = play(create, shown());
    expect(log).toEqual([insert]);
    expect(calls[0]?.body).toEqual({
      id: KEY,
      ...toEvent(WANTED, STAMP),
    });
    expect(result).toEqual(wrote('created'));
  });

  test('in a calendar that is gone reports the missing calendar', () => {
    expect(play(create, missing).result).toMatchObject(CALENDAR_GONE);
  });

  test('that is refused for another reason than its id is not taken for one that was made before', () => {
    expect(play(create, refused(400, 'invalid')).result).toMatchObject({ code: 'refused' });
    expect(play(create, busy).result).toMatchObject(IN_TROUBLE);
  });

  test('that meets its own event with the wanted content adopts the event without a write', () => {
    const { log, result } = play(create, duplicate, shown());
    expect(log).toEqual([insert, get()]);
    expect(result).toEqual(wrote('adopted'));
  });

  test.each([
    ['of other content', { item: OLD }],
    ['of an earlier write', { revision: 0 }],
  ])('that meets its own event %s rewrites it', (_, changes) => {
    const { calls, log, result } = play(create, duplicate, shown(changes), shown({ etag: '"8"' }));
    expect(log).toEqual([insert, get(), patch('"7"')]);
    expect(calls[2]?.body).toEqual(toPatch(WANTED, STAMP, UNTOUCHED));
    expect(result).toEqual(wrote('adopted', { versionTag: '"8"' }));
  });

  test('that meets its own deleted event revives it, though it says what it should', () => {
    const { log, result } = play(create, duplicate, shown({ status: 'cancelled' }), shown({ etag: '"8"' }));
    expect(log).toEqual([insert, get(), put('"7"')]);
    expect(result).toEqual(wrote('revived', { versionTag: '"8"' }));
  });

  test('gives up its id if a foreign event has that id', () => {
    expect(play(create, duplicate, foreign).result).toEqual(BURNT);
    expect(play(create, duplicate, shown({ ownerTag: 'othertargetmark0' })).result).toEqual(BURNT);
  });

  test('waits a day if its id is in use and the event is unreadable', () => {
    for (const answer of [missing, gone]) {
      const error = expect.objectContaining({ code: 'not-yet-readable', retry: 'later' });
      const { result } = play(create, duplicate, answer);
      expect(result).toEqual({ recordId: 'a', result: 'failed', error, burnsKeyAfterMs: DAY_MS });
    }
  });

  test('yields to a later write by clinic-mirror', () => {
    const { log, result } = play(create, duplicate, shown({ revision: 2, item: OLD }));
    expect(log).toEqual([insert, get()]);
    expect(result).toMatchObject({ result: 'superseded', revision: 2, remote: { remoteId: KEY } });
    expect(play(create, duplicate, shown({ revision: 2, status: 'cancelled' })).result).toMatchObject({ remote: null });
  });

  test('whose event can’t be read reports the failure unchanged', () => {
    expect(play(create, duplicate, busy).result).toMatchObject(IN_TROUBLE);
    expect(play(create, duplicate, answered(200, 'text')).result).toMatchObject({
      code: 'unexpected-answer',
      ambiguous: false,
    });
  });
});

describe('an update', () => {
  test('is one write under its version tag', () => {
    const { log, result } = play(update('"1"'), shown());
    expect(log).toEqual([patch('"1"')]);
    expect(result).toEqual(wrote('updated'));
  });

  test('of an event under another id is written there, and remembered so', () => {
    const { log, result } = play(update('"1"', 'x/y'), shown({ id: 'x/y' }));
    expect(log).toEqual([patch('"1"', 'x%2Fy')]);
    expect(result).toEqual(wrote('updated', { remoteId: 'x/y' }));
    const looked = play(update(null, 'x'), shown({ id: 'x', item: OLD }), shown({ id: 'x' }));
    expect(looked.log).toEqual([get('x'), patch('"7"', 'x')]);
    expect(looked.result).toEqual(wrote('updated', { remoteId: 'x' }));
    expect(play(update(null, 'x'), shown({ id: 'x' })).result).toEqual(wrote('updated', { remoteId: 'x' }));
  });

  test('of an event that is gone makes it again', () => {
    const { log, result } = play(update('"1"'), missing, shown());
    expect(log).toEqual([patch('"1"'), insert]);
    expect(result).toEqual(wrote('recreated'));
  });

  test.each([
    ['deleted', gone],
    ['changed by another client', conflict],
  ])('of an event that was %s looks first', (_, answer) => {
    const { log, result } = play(update('"1"'), answer, shown({ item: OLD }), shown({ etag: '"8"' }));
    expect(log).toEqual([patch('"1"'), get(), patch('"7"')]);
    expect(result).toEqual(wrote('updated', { versionTag: '"8"' }));
  });

  test('of an event with presets checks the event first, whatever version is known, and keeps the changes of a user', () => {
    const wanted = itemWith({ title: 'New', presets: { colour: 'red', reminderMinutes: 15 } });
    const there = answered(200, { ...event({ item: OLD }), colorId: '5' });
    const { calls, log } = play(updateOperation('a', wanted, '"1"'), there, shown({ item: wanted, etag: '"8"' }));
    expect(log).toEqual([get(), patch('"7"')]);
    expect(calls[1]?.body).not.toHaveProperty('colorId');
    expect(calls[1]?.body).toMatchObject({ reminders: { overrides: [{ minutes: 15 }] } });
  });

  test('changes fields of clinic-mirror and contains no others', () => {
    const { calls } = play(update('"1"'), shown());
    expect(calls[0]?.body).toEqual(toPatch(WANTED, STAMP, UNTOUCHED));
    const names = Object.keys(calls[0]?.body ?? {});
    for (const theirs of ['reminders', 'attendees', 'colorId', 'sequence']) expect(names).not.toContain(theirs);
  });

  test('that is refused for its sequence number checks the event, and continues with the stored number', () => {
    const { calls, log, result } = play(
      update('"1"'),
      refused(400, 'invalid'),
      shown({ item: OLD, sequence: 3 }),
      shown({ etag: '"8"' }),
    );
    expect(log).toEqual([patch('"1"'), get(), patch('"7"')]);
    expect(calls.map(({ body }) => (body as { sequence?: number } | undefined)?.sequence)).toEqual([
      undefined,
      undefined,
      3,
    ]);
    expect(result).toEqual(wrote('updated', { versionTag: '"8"' }));
    const again = play(update('"1"'), refused(400, 'invalid'), shown({ item: OLD }), refused(400, 'invalid'));
    expect(again.result).toMatchObject({ code: 'refused', retry: 'never' });
    expect(play(update('"1"'), refused(400, 'timeRangeEmpty')).result).toMatchObject({ code: 'empty-time-range' });
  });

  test('that finds a note of a user keeps the note, and makes the next update check first too', () => {
    const theirs = { item: OLD, description: 'Ring twice' };
    const { calls, result } = play(update(null), shown(theirs), shown({ description: 'Ring twice', etag: '"8"' }));
    expect(calls[1]?.body).not.toHaveProperty('description');
    expect(calls[1]?.body).toHaveProperty(['extendedProperties', 'private', DESCRIPTION_STAMP_PROPERTY], 'theirs');
    expect(result).toEqual(wrote('updated', { versionTag: null }));
    const withNotes = { ...update(null), item: itemWith({ title: 'New', description: 'Ours' }) };
    expect(play(withNotes, shown(theirs), shown()).calls[1]?.body).toMatchObject({
      description: 'Ours\n--------\nRing twice',
    });
  });

  test('of an event without a stamp clears the text of the last write, and no other text', () => {
    const stamped = event({ item: OLD, description: 'Status: booked' }) as unknown as {
      extendedProperties: { private: Record<string, string> };
    };
    delete stamped.extendedProperties.private[DESCRIPTION_STAMP_PROPERTY];
    const known = { ...update(null), hadDescription: (text: string) => text === 'Status: booked' };
    expect(play(known, answered(200, stamped), shown()).calls[1]?.body).toMatchObject({ description: null });
    expect(play(update(null), answered(200, stamped), shown()).calls[1]?.body).not.toHaveProperty('description');
  });

  test('of a deleted event sends its sequence number, which must not be lower than the stored one', () => {
    const { calls } = play(update(null), shown({ status: 'cancelled', sequence: 5 }), shown());
    expect(calls[1]).toMatchObject({ method: 'PUT', body: { sequence: 5, status: 'confirmed' } });
  });

  test('without a version tag looks first, and makes again what is not there', () => {
    const { log, result } = play(update(null), missing, shown());
    expect(log).toEqual([get(), insert]);
    expect(result).toEqual(wrote('recreated'));
  });

  test('that is refused for another reason reports the failure unchanged, without a further check', () => {
    for (const versionTag of ['"1"', null]) {
      const answers = versionTag === null ? [shown({ item: OLD }), busy] : [busy];
      expect(play(update(versionTag), ...answers).result).toMatchObject(IN_TROUBLE);
    }
  });

  test('that meets a change between check and write is retried immediately', () => {
    expect(play(update(null), shown({ item: OLD }), conflict).result).toMatchObject(MEANWHILE);
    expect(play(update(null), shown({ status: 'cancelled' }), conflict).result).toMatchObject(MEANWHILE);
  });

  test.each([
    ['forbidden', forbidden],
    ['not found any more', missing],
    ['gone', gone],
  ])('whose deleted event can’t be revived, since it is %s, gives the id up', (_, answer) => {
    expect(play(update(null), shown({ status: 'cancelled' }), answer).result).toEqual(BURNT);
  });

  test('that cannot be revived now, or is forbidden while the event exists, is a failure', () => {
    expect(play(update(null), shown({ status: 'cancelled' }), busy).result).toMatchObject(IN_TROUBLE);
    const limit = refused(403, 'rateLimitExceeded');
    expect(play(update(null), shown({ status: 'cancelled' }), limit).result).toMatchObject({ code: 'rate-limited' });
    expect(play(update(null), shown({ item: OLD }), forbidden).result).toMatchObject({ code: 'calendar-forbidden' });
    expect(play(update(null), shown({ item: OLD }), missing).result).toMatchObject({ status: 404 });
  });
});

describe('what a write answers', () => {
  test.each([
    ['no body', undefined],
    ['null', null],
    ['a text', 'etag'],
    ['an event without a tag', { id: KEY }],
    ['a tag that is none', { id: KEY, etag: 7 }],
  ])('with %s leaves the version tag open, and what is stored', (_, body) => {
    const { result } = play(create, answered(200, body));
    expect(result).toMatchObject({
      recordId: 'a',
      result: 'written',
      effect: 'created',
      versionTag: null,
      remoteId: null,
    });
    expect('stored' in result).toBe(false);
  });

  test('of a batch in which it did not go together with the others, it goes once more, alone', () => {
    const { calls, log, result } = play(create, notTogether, shown());
    expect(log).toEqual([insert, `${insert} alone`]);
    expect(calls[1]).toEqual({ ...calls[0], alone: true });
    expect(result).toEqual(wrote('created'));
    expect(play(update('"1"'), notTogether, shown()).log).toEqual([patch('"1"'), `${patch('"1"')} alone`]);
    expect(play(remove('"1"'), notTogether, done).log).toEqual([del('"1"'), `${del('"1"')} alone`]);
    // Only this reason with status 409 identifies the case.
    expect(play(create, refused(409, 'other')).log).toEqual([insert]);
    expect(play(create, refused(400, 'conflict')).log).toEqual([insert]);
  });
});

describe('a deletion', () => {
  test('is one call under its version tag, which sends no mail', () => {
    const { log, result } = play(remove('"1"'), done);
    expect(log).toEqual([del('"1"')]);
    expect(result).toEqual(deletion('deleted'));
    expect(play(remove('"1"', 'x'), done).log).toEqual([del('"1"', 'x')]);
  });

  test('that is refused has not happened', () => {
    expect(play(remove('"1"'), busy).result).toMatchObject(IN_TROUBLE);
    expect(play(remove(null), shown(), forbidden).result).toMatchObject({ code: 'calendar-forbidden' });
    expect(play(remove(null), busy).result).toMatchObject(IN_TROUBLE);
  });

  test('of what is gone is done', () => {
    expect(play(remove('"1"'), gone).result).toEqual(deletion('already-gone'));
    expect(play(remove(null), gone).result).toEqual(deletion('already-gone'));
    expect(play(remove(null), shown({ status: 'cancelled' })).result).toEqual(deletion('already-gone'));
    expect(play(remove(null), shown(), gone).result).toEqual(deletion('already-gone'));
  });

  test('of an event that is not found checks whether events can be queried', () => {
    for (const [versionTag, before] of [
      ['"1"', del('"1"')],
      [null, get()],
    ] as const) {
      const there = play(remove(versionTag), missing, answered(200, {}));
      expect(there.log).toEqual([before, getCalendar]);
      expect(there.result).toEqual(deletion('already-gone'));
      expect(play(remove(versionTag), missing, missing).result).toMatchObject(CALENDAR_GONE);
      expect(play(remove(versionTag), missing, busy).result).toMatchObject(IN_TROUBLE);
    }
  });

  test('of an event that a user changed checks the event, and deletes it if it belongs to clinic-mirror', () => {
    const { log, result } = play(remove('"1"'), conflict, shown(), done);
    expect(log).toEqual([del('"1"'), get(), del('"7"')]);
    expect(result).toEqual(deletion('deleted'));
    expect(play(remove('"1"'), conflict, foreign).result).toEqual(deletion('already-gone'));
    expect(play(remove('"1"'), conflict, shown(), conflict).result).toMatchObject(MEANWHILE);
  });

  test('without a version tag never touches a foreign event', () => {
    expect(play(remove(null), foreign).result).toEqual(deletion('already-gone'));
    expect(play(remove(null, 'x'), shown({ id: 'x' }), done).log).toEqual([get('x'), del('"7"', 'x')]);
  });

  test('yields to a later write by clinic-mirror', () => {
    expect(play(remove(null), shown({ revision: 2 })).result).toMatchObject({ result: 'superseded', revision: 2 });
  });
});

describe('an erasure', () => {
  const empty = { ...toBlankEvent(MARK), id: KEY, etag: '"8"' };

  test('empties the event before it deletes the event, and sends no mail', () => {
    const { calls, log, result } = play(erase, shown(), answered(200, empty), done);
    expect(log).toEqual([get(), put('"7"'), del('"8"')]);
    expect(calls[1]?.body).toEqual(toBlankEvent(MARK));
    expect(result).toEqual(deletion('deleted'));
    expect(play({ ...erase, remoteId: 'x' }, shown({ id: 'x' }), answered(200, empty), done).log).toEqual([
      get('x'),
      put('"7"', 'x'),
      del('"8"', 'x'),
    ]);
  });

  test('continues despite a later write', () => {
    expect(play(erase, shown({ revision: 9 }), answered(200, empty), done).result).toEqual(deletion('deleted'));
  });

  test('empties an event that was deleted earlier, once', () => {
    const { log } = play(erase, shown({ status: 'cancelled' }), answered(200, empty), done);
    expect(log).toEqual([get(), put('"7"'), del('"8"')]);
    expect(play(erase, answered(200, { ...empty, status: 'cancelled' })).result).toEqual(deletion('already-gone'));
    // One that was emptied and not deleted yet still has to go.
    expect(play(erase, answered(200, empty), answered(200, empty), done).result).toEqual(deletion('deleted'));
  });

  test('of an event that is gone or foreign is done', () => {
    expect(play(erase, gone).result).toEqual(deletion('already-gone'));
    expect(play(erase, missing, answered(200, {})).result).toEqual(deletion('already-gone'));
    expect(play(erase, missing, missing).result).toMatchObject(CALENDAR_GONE);
    expect(play(erase, foreign).result).toEqual(deletion('already-gone'));
  });

  test('that can’t empty the event does not delete it: the data kept by Google would remain readable', () => {
    expect(play(erase, shown(), busy).result).toMatchObject(IN_TROUBLE);
    expect(play(erase, shown(), forbidden).result).toMatchObject({ code: 'calendar-forbidden' });
    expect(play(erase, shown(), conflict).result).toMatchObject(MEANWHILE);
    expect(play(erase, shown({ status: 'cancelled' }), busy).result).toMatchObject(IN_TROUBLE);
    expect(play(erase, shown({ status: 'cancelled' }), conflict).result).toMatchObject(MEANWHILE);
  });

  test('of a deleted event that Google no longer allows to change is done', () => {
    for (const answer of [forbidden, missing, gone]) {
      expect(play(erase, shown({ status: 'cancelled' }), answer).result).toEqual(deletion('already-gone'));
    }
  });

  test('is not done while its deletion is refused', () => {
    expect(play(erase, shown(), answered(200, empty), busy).result).toMatchObject(IN_TROUBLE);
    expect(play(erase, shown(), answered(200, empty), conflict).result).toMatchObject(MEANWHILE);
    expect(play(erase, shown(), answered(200, empty), gone).result).toEqual(deletion('already-gone'));
  });
});

describe('a check for one event', () => {
  const find = (...answers: WireResponse[]) => playFlow(findFlow(SCOPE, KEY), ...answers);

  test('returns an existing event of clinic-mirror', () => {
    const { log, result } = find(shown());
    expect(log).toEqual([get()]);
    expect(result).toEqual({
      key: KEY,
      remoteId: KEY,
      sealedRecordId: sealedRecordIdOf('a'),
      versionTag: '"7"',
      item: normaliseItem(WANTED),
      revision: 1,
    });
  });

  test('returns nothing for a deleted or foreign event', () => {
    expect([find(shown({ status: 'cancelled' })).result, find(foreign).result]).toEqual([null, null]);
  });

  test('checks whether events can be queried if no event exists', () => {
    for (const answer of [missing, gone]) {
      const { log, result } = find(answer, answered(200, {}));
      expect([log, result]).toEqual([[get(), getCalendar], null]);
      expect(find(answer, missing).result).toMatchObject(CALENDAR_GONE);
      expect(find(answer, busy).result).toMatchObject(IN_TROUBLE);
    }
  });

  test('reports the failure', () => {
    expect(find(busy).result).toMatchObject(IN_TROUBLE);
    expect(find(answered(302)).result).toMatchObject({ code: 'unexpected-status' });
  });
});

test('calls are charged to the quota user if one is set', () => {
  const charged = { ...SCOPE, quotaUser: 'studio rossi' };
  const { log } = playFlow(operationFlow(charged, remove('"1"')), missing, answered(200, {}));
  expect(log).toEqual([
    `DELETE ${CALENDAR}/events/${KEY}?${QUIET}&quotaUser=studio+rossi if "1"`,
    `${getCalendar}&quotaUser=studio+rossi`,
  ]);
});
