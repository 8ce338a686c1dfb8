import { describe, expect, test } from 'vitest';
import { type FlowScope, findFlow, operationFlow } from '../../../src/connectors/outlook-calendar/flows.ts';
import {
  normaliseItem,
  toBlankPatch,
  toEvent,
  toPatch,
  UNTOUCHED,
} from '../../../src/connectors/outlook-calendar/from-model.ts';
import { PROPERTIES } from '../../../src/connectors/outlook-calendar/limits.ts';
import { eventsQuery, withQuery } from '../../../src/connectors/outlook-calendar/paths.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
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

const SCOPE: FlowScope = {
  mailboxPath: '/users/dr%40x.org',
  calendarId: 'cal/1',
  ownerTag: MARK,
  deleteMode: 'soft',
  wholeDayZone: 'UTC',
  // As Graph answers: in UTC.
  refusedZones: new Set(['Europe/Rome']),
};
const KEY = keyOf('a');
const EVENTS = '/users/dr%40x.org/calendars/cal%2F1/events';
const insert = `POST ${EVENTS}`;
const look = `GET ${withQuery(EVENTS, eventsQuery(PROPERTIES.key, KEY))}`;
const patch = (etag: string | null, id = 'e1') => `PATCH /users/dr%40x.org/events/${id} if ${etag}`;
const del = (etag: string | null, id = 'e1') => `DELETE /users/dr%40x.org/events/${id} if ${etag}`;
const delForGood = (etag: string | null) => `POST /users/dr%40x.org/events/e1/permanentDelete if ${etag}`;

const WANTED = itemWith({ title: 'New' });
const OLD = itemWith({ title: 'Old' });
const STAMP = { ownerTag: MARK, key: KEY, sealedRecordId: sealedRecordIdOf('a'), revision: 1 };
const CONTENT = toEvent(WANTED, STAMP, SCOPE);
const CHANGE = toPatch(WANTED, STAMP, SCOPE, UNTOUCHED);
const create = createOperation('a', WANTED);
const update = (versionTag: string | null, remoteId: string | null = 'e1') =>
  updateOperation('a', WANTED, versionTag, remoteId);
const remove = (versionTag: string | null, remoteId: string | null = 'e1') =>
  deleteOperation('a', versionTag, remoteId);

interface EventChanges {
  id?: string;
  etag?: string;
  item?: typeof WANTED;
  ownerTag?: string;
  revision?: number;
  transactionId?: string | null;
  attendees?: object[];
}

/** A managed event in Graph's form, with the content of the operations. */
function event({
  id = 'e1',
  etag = 'W/"7"',
  item = WANTED,
  ownerTag = MARK,
  revision = 1,
  ...rest
}: EventChanges = {}) {
  const content = toEvent(item, { ...STAMP, ownerTag, revision }, SCOPE);
  return { ...content, id, '@odata.etag': etag, transactionId: KEY, attendees: [], ...rest };
}

/** An event as the answer to a write shows it: without our properties. */
function written(changes?: EventChanges): WireResponse {
  const { singleValueExtendedProperties: _, ...rest } = event(changes);
  return answered(201, rest);
}

const listed = (...events: object[]) => answered(200, { value: events });
const found = (changes?: EventChanges) => listed(event(changes));

function refused(status: number, code: string): WireResponse {
  return answered(status, { error: { code } });
}

const [done, busy, changed] = [answered(204), answered(503), answered(412)];
const missing = refused(404, 'ErrorItemNotFound');
const duplicate = refused(409, 'ErrorDuplicateTransactionId');

const play = (operation: Operation, ...answers: WireResponse[]) =>
  playFlow(operationFlow(SCOPE, operation), ...answers);
const wrote = (effect: string, changes: object = {}) => ({
  recordId: 'a',
  result: 'written',
  effect,
  versionTag: 'W/"7"',
  remoteId: 'e1',
  stored: normaliseItem(WANTED),
  ...changes,
});
const deletion = (effect: 'deleted' | 'already-gone') => ({ recordId: 'a', result: 'deleted', effect });
const BURNT = { recordId: 'a', result: 'key-burnt' };
const MEANWHILE = { code: 'changed-meanwhile', actor: 'conflict', retry: 'now' };
const CALENDAR_GONE = { code: 'calendar-gone' };
const IN_TROUBLE = { code: 'server-error', status: 503, ambiguous: true };
const GUESTS = { code: 'event-has-guests', retry: 'never' };

describe('a create', () => {
  test('is one insert under our key, with our stamp', () => {
    const { calls, log, result } = play(create, written());
    expect(log).toEqual([insert]);
    expect(calls[0]?.body).toEqual({ transactionId: KEY, ...CONTENT });
    expect(result).toEqual(wrote('created'));
  });

  test('in a calendar that is gone reports the missing calendar; other refusals report their reason', () => {
    expect(play(create, missing).result).toMatchObject(CALENDAR_GONE);
    expect(play(create, busy).result).toMatchObject(IN_TROUBLE);
    expect(play(create, refused(400, 'ErrorInvalidRequest')).result).toMatchObject({ code: 'refused' });
  });

  test('whose answer names no id looks for the event by its key', () => {
    const { log, result } = play(create, answered(201, { subject: 'New' }), found());
    expect(log).toEqual([insert, look]);
    expect(result).toEqual(wrote('created'));
    expect(play(create, answered(201), listed()).result).toMatchObject({ code: 'unexpected-answer', ambiguous: true });
  });

  test('whose answer shows no tag, or is unreadable, leaves the tag unknown', () => {
    const { result } = play(create, answered(201, { id: 'e1' }));
    expect(result).toEqual({ recordId: 'a', result: 'written', effect: 'created', versionTag: null, remoteId: 'e1' });
  });

  test('that was made before adopts its event', () => {
    const { log, result } = play(create, duplicate, found());
    expect(log).toEqual([insert, look]);
    expect(result).toEqual(wrote('adopted'));
  });

  test.each([
    ['of other content', { item: OLD }],
    ['of an earlier write', { revision: 0 }],
  ])('that was made before, and is %s, is changed to the wanted content', (_, changes) => {
    const { calls, log, result } = play(create, duplicate, found(changes), written({ etag: 'W/"8"' }));
    expect(log).toEqual([insert, look, patch('W/"7"')]);
    expect(calls[2]?.body).toEqual(CHANGE);
    expect(result).toEqual(wrote('adopted', { versionTag: 'W/"8"' }));
  });

  test('whose key Outlook will not take again gives the key up', () => {
    expect(play(create, duplicate, listed(), listed()).result).toEqual(BURNT);
    expect(play(create, duplicate, found({ ownerTag: 'othertargetmark0' })).result).toEqual(BURNT);
  });

  describe('that is answered with an event of an earlier, equal request', () => {
    const at = Date.parse('2027-01-10T12:00:00Z');
    const answeredAt = (createdDateTime: string | null, sentAt: number | undefined = at): WireResponse => {
      const { body, ...answer } = written();
      return { ...answer, body: { ...(body as object), createdDateTime }, ...(sentAt === undefined ? {} : { sentAt }) };
    };

    test('checks whether the event still exists', () => {
      const { log, result } = play(create, answeredAt('2027-01-10T11:59:00.1234567Z'), found());
      expect(log).toEqual([insert, look]);
      expect(result).toEqual(wrote('adopted'));
      expect(play(create, answeredAt('2026-01-10T12:00:00Z'), listed(), missing).result).toEqual(BURNT);
    });

    test.each([
      ['made by this request', '2027-01-10T12:00:00.4Z'],
      ['made by a server whose clock is a little behind', '2027-01-10T11:59:55Z'],
      ['that does not say when it was made', null],
    ])('makes no check for an event %s', (_, createdDateTime) => {
      expect(play(create, answeredAt(createdDateTime)).result).toEqual(wrote('created'));
    });

    test('makes no check if the time of the request is unknown', () => {
      const { body, ...answer } = written();
      const old = { ...answer, body: { ...(body as object), createdDateTime: '2020-01-01T00:00:00Z' } };
      expect(play(create, old).result).toEqual(wrote('created'));
    });
  });

  test('yields to a later write by clinic-mirror', () => {
    const { result } = play(create, duplicate, found({ revision: 2, item: OLD }));
    expect(result).toMatchObject({ result: 'superseded', revision: 2, remote: { remoteId: 'e1' } });
  });
});

describe('an update', () => {
  test('is one write under its version tag', () => {
    const { calls, log, result } = play(update('W/"1"'), written());
    expect(log).toEqual([patch('W/"1"')]);
    expect(calls[0]?.body).toEqual(CHANGE);
    for (const theirs of ['isReminderOn', 'categories', 'attendees']) expect(calls[0]?.body).not.toHaveProperty(theirs);
    expect(result).toEqual(wrote('updated'));
    expect(play(update('W/"1"', 'a/b'), done).log).toEqual([patch('W/"1"', 'a%2Fb')]);
  });

  test('that is answered with nothing keeps the id that it knew', () => {
    for (const answer of [done, answered(200, null), answered(200, 'x')]) {
      expect(play(update('W/"1"'), answer).result).toEqual({
        recordId: 'a',
        result: 'written',
        effect: 'updated',
        versionTag: null,
        remoteId: 'e1',
      });
    }
  });

  test.each([
    ['a version tag', null, 'e1'],
    ['an id', 'W/"1"', null],
  ])('without %s looks first', (_, versionTag, remoteId) => {
    const { log, result } = play(update(versionTag, remoteId), found({ item: OLD }), written({ etag: 'W/"8"' }));
    expect(log).toEqual([look, patch('W/"7"')]);
    expect(result).toEqual(wrote('updated', { versionTag: 'W/"8"' }));
  });

  test.each([
    ['gone', missing],
    ['changed', changed],
    ['changed, in Exchange’s words', refused(409, 'ErrorIrresolvableConflict')],
  ])('of an event that is %s checks the event, and recreates an absent event', (_, answer) => {
    const { log, result } = play(update('W/"1"'), answer, found());
    expect(log).toEqual([patch('W/"1"'), look]);
    expect(result).toEqual(wrote('updated'));
    // The event may have lost its marks.
    const byId = answer === missing ? [] : [missing];
    const again = play(update('W/"1"'), answer, listed(), ...byId, written({ id: 'e2' }));
    expect([again.log.slice(0, 2), again.log.at(-1)]).toEqual([[patch('W/"1"'), look], insert]);
    expect(again.result).toEqual(wrote('recreated', { remoteId: 'e2' }));
  });

  test('that is refused for another reason reports the failure unchanged', () => {
    expect(play(update('W/"1"'), busy).result).toMatchObject(IN_TROUBLE);
    expect(play(update(null), found({ item: OLD }), busy).result).toMatchObject(IN_TROUBLE);
    for (const answer of [changed, missing])
      expect(play(update(null), found({ item: OLD }), answer).result).toMatchObject(MEANWHILE);
  });

  test('of an event with guests is not made: Outlook would mail the guests', () => {
    const { log, result } = play(update(null), found({ attendees: [{}], item: OLD }));
    expect(log).toEqual([look]);
    expect(result).toMatchObject(GUESTS);
    // As it should be it needs no write, and the next one looks first too.
    expect(play(update(null), found({ attendees: [{}] })).result).toEqual(wrote('updated', { versionTag: null }));
  });

  test('that finds a note of a user keeps the note, and makes the next update check first too', () => {
    const body = { contentType: 'html', content: '<p>Ring twice</p>' };
    const theirs = { ...event({ item: OLD }), body };
    const answer = written({ etag: 'W/"8"' });
    const kept = { ...answer, body: { ...(answer.body as object), body } };
    const { calls, result } = play(update(null), listed(theirs), kept);
    expect(calls[1]?.body).not.toHaveProperty('body');
    expect(result).toEqual(wrote('updated', { versionTag: null }));
    const withNotes = { ...update(null), item: itemWith({ title: 'New', description: 'Ours' }) };
    expect(play(withNotes, listed(theirs), written()).calls[1]?.body).toMatchObject({
      body: { content: 'Ours\n--------\nRing twice' },
    });
  });

  test('whose key is on a foreign event gives up the key, and creates no second event', () => {
    const { log, result } = play(update(null), found({ ownerTag: 'othertargetmark0' }));
    expect([log, result]).toEqual([[look], BURNT]);
  });

  test('of an event that a user made unreadable writes the event again', () => {
    const odd = { ...event(), sensitivity: 'normal' };
    expect(play(update(null), listed(odd), written()).log).toEqual([look, patch('W/"7"')]);
  });

  test('of one of several events with the key changes the known event; if none is known, the event created by clinic-mirror', () => {
    const copies = [
      event({ id: 'copy', transactionId: null }),
      event({ id: 'other-copy', transactionId: null }),
      event({ id: 'e1' }),
    ];
    const chosen = (remoteId: string | null) => play(update(null, remoteId), listed(...copies)).result;
    expect(chosen('other-copy')).toMatchObject({ remoteId: 'other-copy' });
    expect(chosen(null)).toMatchObject({ remoteId: 'e1' });
    expect(chosen('gone')).toMatchObject({ remoteId: 'e1' });
    const onlyCopies = play(
      update(null, null),
      listed(event({ ownerTag: 'othertargetmark0', id: 'x' }), ...copies.slice(0, 2)),
    );
    expect(onlyCopies.result).toMatchObject({ remoteId: 'copy' });
  });
});

describe('a lookup by key', () => {
  const find = (...answers: WireResponse[]) => playFlow(findFlow(SCOPE, KEY, null), ...answers);
  const nextLink = 'https://graph.microsoft.com/v1.0/me/next?$skip=1';

  test('finds an event of clinic-mirror', () => {
    const { log, result } = find(found());
    expect(log).toEqual([look]);
    const content = {
      sealedRecordId: sealedRecordIdOf('a'),
      versionTag: 'W/"7"',
      item: normaliseItem(WANTED),
      revision: 1,
    };
    expect(result).toEqual({ key: KEY, remoteId: 'e1', ...content });
  });

  test('finds nothing in an empty list or among foreign events', () => {
    expect(find(listed()).result).toBeNull();
    expect(find(found({ ownerTag: 'othertargetmark0' })).result).toBeNull();
    expect(find(listed({})).result).toBeNull();
  });

  test('goes through all pages', () => {
    const first = answered(200, { value: [], '@odata.nextLink': nextLink });
    const { log, result } = find(first, found());
    expect(log).toEqual([look, 'GET /me/next?$skip=1']);
    expect(result).toMatchObject({ remoteId: 'e1' });
    const both = find(
      answered(200, { value: [event({ id: 'e0', transactionId: null })], '@odata.nextLink': nextLink }),
      found(),
    );
    expect(both.result).toMatchObject({ remoteId: 'e1' });
  });

  test('reports the failure', () => {
    expect(find(missing).result).toMatchObject(CALENDAR_GONE);
    expect(find(busy).result).toMatchObject(IN_TROUBLE);
    expect(find(answered(200, {})).result).toMatchObject({ code: 'unexpected-answer' });
  });
});

describe('a deletion', () => {
  test('is one call under its version tag', () => {
    const { log, result } = play(remove('W/"1"'), done);
    expect(log).toEqual([del('W/"1"')]);
    expect(result).toEqual(deletion('deleted'));
  });

  test('removes permanently if configured, or if the patient is to be forgotten', () => {
    const forGood = { ...SCOPE, deleteMode: 'permanent' as const };
    expect(playFlow(operationFlow(forGood, remove('W/"1"')), done).log).toEqual([delForGood('W/"1"')]);
    expect(play({ ...remove('W/"1"'), erase: true }, done).log).toEqual([delForGood('W/"1"')]);
    expect(play({ ...remove(null), erase: true }, found({ revision: 9 }), done).log).toEqual([
      look,
      delForGood('W/"7"'),
    ]);
  });

  describe('in a cloud without permanent deletion', () => {
    const erase = { ...remove('W/"1"'), erase: true };
    const unknown = refused(400, 'BadRequest');
    const blank = toBlankPatch({ ownerTag: MARK, key: KEY }, SCOPE, UNTOUCHED);

    test.each([
      ['400', unknown],
      ['405', answered(405)],
      ['501', refused(501, 'NotImplemented')],
    ])('empties the event before it goes into Deleted Items (%s)', (_, answer) => {
      const { calls, log, result } = play(erase, answer, found(), written({ etag: 'W/"8"' }), done);
      expect(log).toEqual([delForGood('W/"1"'), look, patch('W/"7"'), del('W/"8"')]);
      expect(calls[2]?.body).toEqual(blank);
      expect(JSON.stringify(blank)).not.toContain(STAMP.sealedRecordId);
      expect(result).toEqual(deletion('deleted'));
    });

    test('asks once more where it may have been the event that was not found', () => {
      const { log, result } = play(erase, answered(404), found(), answered(404), written({ etag: 'W/"8"' }), done);
      expect(log).toEqual([delForGood('W/"1"'), look, delForGood('W/"7"'), patch('W/"7"'), del('W/"8"')]);
      expect(result).toEqual(deletion('deleted'));
    });

    test('is not emptied if it is refused for another reason', () => {
      for (const answer of [busy, refused(403, 'ErrorAccessDenied')]) {
        const { log, result } = play({ ...remove(null), erase: true }, found(), answer);
        expect(log).toEqual([look, delForGood('W/"7"')]);
        expect(result).toMatchObject({ status: answer.status });
      }
    });

    test('is not done before the emptied event is gone', () => {
      expect(play(erase, unknown, found(), busy).result).toMatchObject(IN_TROUBLE);
      expect(play(erase, unknown, found(), changed).result).toMatchObject(MEANWHILE);
      expect(play(erase, unknown, found(), written(), busy).result).toMatchObject(IN_TROUBLE);
      expect(play(erase, unknown, found({ attendees: [{}] })).result).toMatchObject(GUESTS);
      expect(play(remove('W/"1"'), unknown).result).toMatchObject({ code: 'refused' });
    });
  });

  test('that is refused has not happened', () => {
    expect(play(remove('W/"1"'), busy).result).toMatchObject(IN_TROUBLE);
    expect(play(remove(null), found(), busy).result).toMatchObject(IN_TROUBLE);
    for (const answer of [changed, missing])
      expect(play(remove(null), found(), answer).result).toMatchObject(MEANWHILE);
  });

  test.each([
    ['a version tag', null, 'e1'],
    ['an id', 'W/"1"', null],
  ])('without %s looks first', (_, versionTag, remoteId) => {
    const { log, result } = play(remove(versionTag, remoteId), found(), done);
    expect(log).toEqual([look, del('W/"7"')]);
    expect(result).toEqual(deletion('deleted'));
  });

  test.each([
    ['gone', missing],
    ['changed', changed],
  ])('of an event that is %s checks the event, and deletes an event of clinic-mirror', (_, answer) => {
    const { log, result } = play(remove('W/"1"'), answer, found(), done);
    expect(log).toEqual([del('W/"1"'), look, del('W/"7"')]);
    expect(result).toEqual(deletion('deleted'));
    const byId = answer === missing ? [] : [missing];
    expect(play(remove('W/"1"'), answer, listed(), ...byId).result).toEqual(deletion('already-gone'));
    expect(play(remove('W/"1"'), answer, found({ ownerTag: 'othertargetmark0' })).result).toEqual(
      deletion('already-gone'),
    );
  });

  test('of one of several events goes for the known one', () => {
    const both = listed(event({ id: 'e1' }), event({ id: 'e2', transactionId: null }));
    expect(play(remove(null, 'e2'), both, done).log).toEqual([look, del('W/"7"', 'e2')]);
  });

  test('yields to a later write by clinic-mirror, and to guests', () => {
    expect(play(remove(null), found({ revision: 2 })).result).toMatchObject({ result: 'superseded', revision: 2 });
    expect(play(remove(null), found({ attendees: [{}] })).result).toMatchObject(GUESTS);
  });
});

describe('a zone that Outlook does not know', () => {
  const open = (): FlowScope => ({ ...SCOPE, refusedZones: new Set() });
  const unknown = refused(400, 'TimeZoneNotSupportedException');
  const zonesOf = (calls: { body?: object }[]) => calls.map(({ body }) => (body as typeof CONTENT).start.timeZone);

  test('has the write sent once more in UTC, and all that follow', () => {
    const scope = open();
    const first = playFlow(operationFlow(scope, create), unknown, written());
    expect(zonesOf(first.calls)).toEqual(['Europe/Rome', 'UTC']);
    expect(first.result).toMatchObject({ result: 'written', effect: 'created' });
    const next = playFlow(operationFlow(scope, update('W/"7"')), written());
    expect(zonesOf(next.calls)).toEqual(['UTC']);
  });

  test.each([
    ['a code for zones', unknown],
    ['any other', refused(400, 'ErrorPropertyValidationFailure')],
  ])('is treated as known if UTC is refused too, by %s: the zone was not the cause', (_, answer) => {
    const scope = open();
    const { calls, result } = playFlow(operationFlow(scope, create), answer, answer);
    expect(calls).toHaveLength(2);
    expect(result).toBeInstanceOf(MirrorError);
    expect(scope.refusedZones.size).toBe(0);
  });

  test('is not thought of where the answer says something else', () => {
    for (const answer of [refused(400, 'ErrorDuplicateTransactionId'), refused(403, 'ErrorAccessDenied')]) {
      const flow = operationFlow(open(), create);
      flow.next();
      const step = flow.next.bind(flow, answer);
      if (answer.status === 403) expect(step).toThrow(MirrorError);
      else expect(step().value).toMatchObject({ method: 'GET' });
    }
  });
});

describe('an update of an event that comes with something', () => {
  const presets = { category: 'Surgery' };

  test('checks first, whatever version is known, and contains only the changed fields', () => {
    const wanted = itemWith({ title: 'New', presets });
    const { calls, log } = play(updateOperation('a', wanted, 'W/"1"', 'e1'), found(), written());
    expect(log).toEqual([look, patch('W/"7"')]);
    expect(calls[1]?.body).toMatchObject({ categories: ['Surgery'] });
  });
});
