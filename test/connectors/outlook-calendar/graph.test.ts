import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import {
  allDay,
  createOperation,
  deleteOperation,
  describeOutcome,
  failure,
  itemWith,
  keyOf,
  MARK,
  sealedRecordIdOf,
  signal,
  timed,
  updateOperation,
  written,
} from '../../contract/contract-kit.ts';
import { ACCOUNT, property } from '../../contract/outlook-calendar-target.ts';
import { containerOf } from '../../support/container-of.ts';
import { inner, openWorld, WRITES } from './support.ts';

const CHANGED = itemWith({ title: 'Changed' });

describe('a key that was used before', () => {
  test.each([
    [400, false],
    [400, true],
    [409, false],
    [409, true],
  ] as const)('leads to the event that carries it (%d, the event named: %s)', async (status, named) => {
    const { kit, sandbox, proxy } = await openWorld();
    sandbox.configure({ duplicateTransactionStatus: status, duplicateNamesEvent: named });
    proxy.add({ ...WRITES, fault: { kind: 'lost-answer' } });
    expect(failure((await kit.attempt([createOperation('a')]))[0])).toMatchObject({ ambiguous: true, retry: 'later' });
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(written(outcome)).toMatchObject({ effect: 'adopted', remoteId: (await kit.object('a')).remoteId });
    expect(await kit.objects()).toHaveLength(1);
  });

  test('is burnt when its event was deleted, and the next epoch is taken', async () => {
    const { kit, target } = await openWorld();
    const [created] = await kit.create('a');
    await target.server.deleteByHand(created!.remoteId ?? '');
    const update = updateOperation('a', CHANGED, created!.versionTag, created!.remoteId);
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('key-burnt');
    const [again] = await kit.attempt([createOperation('a', CHANGED, 1)]);
    expect(describeOutcome(again)).toBe('written created');
    expect((await kit.objects()).map(({ title }) => title)).toEqual(['Changed']);
  });

  test.each([
    ['a create', () => createOperation('a')],
    ['an update', (remoteId: string) => updateOperation('a', itemWith(), 'W/"stale"', remoteId)],
  ])('is also unusable if Outlook answers an equal request with the earlier event, by %s', async (_, operationOf) => {
    const { kit, sandbox, target, proxy } = await openWorld();
    sandbox.configure({ repeatedTransaction: 'answered' });
    const [created] = await kit.create('a');
    await target.server.deleteByHand(created!.remoteId ?? '');
    // The events were made a day before, by the clocks that answers tell.
    const later = new Date(Date.now() + DAY_MS).toUTCString();
    proxy.add({
      ...WRITES,
      times: Number.POSITIVE_INFINITY,
      fault: { kind: 'rewrite', answer: (answer) => ({ ...answer, headers: { ...answer.headers, date: later } }) },
    });
    expect(describeOutcome((await kit.attempt([operationOf(created!.remoteId ?? '')]))[0])).toBe('key-burnt');
    proxy.clear();
    const [again] = await kit.attempt([createOperation('a', itemWith(), 1)]);
    expect(describeOutcome(again)).toBe('written created');
    expect(await kit.objects()).toHaveLength(1);
  });

  test('is adopted with its existing event if Outlook answers an equal request with the event', async () => {
    const { kit, sandbox, proxy } = await openWorld();
    sandbox.configure({ repeatedTransaction: 'answered' });
    proxy.add({ ...WRITES, fault: { kind: 'lost-answer' } });
    failure((await kit.attempt([createOperation('a')]))[0]);
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(written(outcome).remoteId).toBe((await kit.object('a')).remoteId);
    expect(await kit.objects()).toHaveLength(1);
  });

  test('is taken again when Outlook forgot it', async () => {
    const { kit, sandbox, target } = await openWorld();
    sandbox.configure({ rememberTransactionIds: false });
    const [created] = await kit.create('a');
    await target.server.deleteByHand(created!.remoteId ?? '');
    const update = updateOperation('a', CHANGED, created!.versionTag, created!.remoteId);
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written recreated');
    expect((await kit.object('a')).title).toBe('Changed');
  });

  test("of two events with the key, a user's copy remains", async () => {
    const { kit, sandbox, container } = await openWorld();
    const time = { dateTime: '2027-03-11T09:00:00', timeZone: 'UTC' };
    const stamps = { MirrorMark: MARK, MirrorKey: keyOf('a'), MirrorLocator: sealedRecordIdOf('a') };
    const copy = {
      subject: 'Copy',
      start: time,
      end: time,
      singleValueExtendedProperties: Object.entries(stamps).map(([name, value]) => ({ id: property(name), value })),
    };
    sandbox.addByHand(ACCOUNT, container, copy);
    const [created] = await kit.attempt([createOperation('a')]);
    expect(describeOutcome(created)).toBe('written created');
    expect(describeOutcome((await kit.attempt([updateOperation('a', CHANGED, null)]))[0])).toBe('written updated');
    expect((await kit.objects()).map(({ title }) => title).sort()).toEqual(['Changed', 'Copy']);
  });
});

describe('changes by others', () => {
  test.each([
    ['with a stale condition', true],
    ['out of the blue', false],
  ])('a conflict %s is resolved by one check', async (_when, isStale) => {
    const { kit, sandbox, target } = await openWorld();
    const [created] = await kit.create('a', 'b');
    const [a, b] = [await kit.object('a'), await kit.object('b')];
    if (isStale) await target.server.editByHand(a.remoteId, { title: 'By hand' });
    else sandbox.faults.add({ match: { method: 'PATCH' }, times: 1, fault: { kind: 'conflict' } });
    if (isStale) await target.server.editByHand(b.remoteId, { title: 'By hand' });
    else sandbox.faults.add({ match: { method: 'DELETE' }, times: 1, fault: { kind: 'conflict' } });
    const outcomes = await kit.attempt([
      updateOperation('a', CHANGED, created!.versionTag, a.remoteId),
      deleteOperation('b', b.version, b.remoteId),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual(['written updated', 'deleted deleted']);
    expect((await kit.objects()).map(({ title }) => title)).toEqual(['Changed']);
  });

  test('a conflict that stays is for the caller to read again, and nothing is insisted on', async () => {
    const { kit, sandbox } = await openWorld();
    const [created] = await kit.create('a');
    sandbox.faults.add({ match: { method: 'PATCH' }, fault: { kind: 'conflict' } });
    sandbox.counts.reset();
    const update = updateOperation('a', CHANGED, created!.versionTag, created!.remoteId);
    expect(failure((await kit.attempt([update]))[0])).toMatchObject({
      actor: 'conflict',
      code: 'changed-meanwhile',
      retry: 'now',
    });
    expect(sandbox.counts.innerCalls).toBe(3);
  });

  test('an event that is gone is made again by an update and gone for a delete', async () => {
    const { kit, sandbox, target } = await openWorld();
    sandbox.configure({ rememberTransactionIds: false });
    const [a, b] = await kit.create('a', 'b');
    for (const { remoteId } of await kit.objects()) await target.server.deleteByHand(remoteId);
    const outcomes = await kit.attempt([
      updateOperation('a', CHANGED, a!.versionTag, a!.remoteId),
      deleteOperation('b', b!.versionTag, b!.remoteId),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual(['written recreated', 'deleted already-gone']);
  });

  test('an id that Outlook does not know, or cannot read, leads to the event by its key', async () => {
    const { kit } = await openWorld();
    const [a, b] = await kit.create('a', 'b');
    const outcomes = await kit.attempt([
      updateOperation('a', CHANGED, a!.versionTag, 'not/an=id'),
      deleteOperation('b', b!.versionTag, a!.remoteId?.replace(/.{4}$/, 'zzzz')),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual(['written updated', 'deleted deleted']);
  });

  test('a moved event keeps its id, and is changed and deleted in its new calendar', async () => {
    const { kit, sandbox, container } = await openWorld();
    const [created] = await kit.create('a', 'b');
    const remoteId = created!.remoteId ?? '';
    const moved = sandbox.moveByHand(ACCOUNT, remoteId, 'default');
    expect(moved.id).toBe(remoteId);
    const [outcome] = await kit.attempt([updateOperation('a', CHANGED, moved['@odata.etag'], remoteId)]);
    expect(written(outcome)).toMatchObject({ effect: 'updated', remoteId });
    const [gone] = await kit.attempt([deleteOperation('a', written(outcome).versionTag, remoteId)]);
    expect(describeOutcome(gone)).toBe('deleted deleted');
    expect(sandbox.events(ACCOUNT, 'default')).toEqual([]);
    expect(sandbox.events(ACCOUNT, container)).toHaveLength(1);
  });

  test('every request requires immutable ids, inner requests too', async () => {
    const { kit, proxy } = await openWorld();
    await containerOf(kit.worker({ createCalendar: 'Ours' }), null, signal());
    const [created] = await kit.create('a');
    await kit.attempt([updateOperation('a', CHANGED, null), deleteOperation('a', null, created!.remoteId)]);
    await kit.readAll();
    await kit.connector.find(kit.target.container, [keyOf('a')], signal());
    expect(proxy.requests.length).toBeGreaterThan(6);
    for (const { headers, url, body } of proxy.requests) {
      expect(headers.prefer).toContain('IdType="ImmutableId"');
      if (!url.endsWith('$batch')) continue;
      const { requests } = JSON.parse(body) as { requests: { headers: { Prefer: string } }[] };
      for (const part of requests) expect(part.headers.Prefer).toContain('IdType="ImmutableId"');
    }
  });

  test('an event with guests remains unchanged, so that no guest receives a mail', async () => {
    const { kit, sandbox } = await openWorld();
    const [a, b] = await kit.create('a', 'b');
    const attendees = [{ emailAddress: { address: 'guest@example.org' }, type: 'required' }];
    for (const { remoteId } of await kit.objects()) sandbox.editByHand(ACCOUNT, remoteId, { attendees });
    const before = { mails: sandbox.counts.mails, objects: await kit.objects() };
    const outcomes = await kit.attempt([
      updateOperation('a', CHANGED, a!.versionTag, a!.remoteId),
      deleteOperation('b', b!.versionTag, b!.remoteId),
    ]);
    for (const outcome of outcomes) {
      expect(failure(outcome)).toMatchObject({ actor: 'settings', code: 'event-has-guests', retry: 'never' });
    }
    expect({ mails: sandbox.counts.mails, objects: await kit.objects() }).toEqual(before);
    const read = await kit.readAll();
    expect(read.map(({ item }) => item)).toEqual([itemWith(), itemWith()]);
    // After an audit an update uses the version of the last fetch, which must not skip the check for guests.
    const after = await kit.attempt(
      ['a', 'b'].map((recordId) => {
        const { versionTag, remoteId } = read.find(({ key }) => key === keyOf(recordId))!;
        return updateOperation(recordId, CHANGED, versionTag, remoteId);
      }),
    );
    for (const outcome of after) expect(failure(outcome).code).toBe('event-has-guests');
    expect(sandbox.counts.mails).toBe(before.mails);
  });

  test('a life without guests sends no mail, deletions included', async () => {
    const { kit, sandbox } = await openWorld();
    const [created] = await kit.create('a');
    await kit.attempt([updateOperation('a', CHANGED, created!.versionTag, created!.remoteId)]);
    await kit.attempt([deleteOperation('a', null)]);
    expect(await kit.objects()).toEqual([]);
    expect(sandbox.counts.mails).toBe(0);
  });
});

describe('times', () => {
  const zonesOf = async ({ kit, sandbox }: Awaited<ReturnType<typeof openWorld>>, recordId: string) => {
    const event = sandbox.event(ACCOUNT, (await kit.object(recordId)).remoteId);
    return event?.originalStartTimeZone;
  };

  test('are in the zone of the clinic, for all-day events too, and not in UTC', async () => {
    const world = await openWorld();
    await world.kit.attempt([
      createOperation('a'),
      createOperation('b', itemWith({ time: allDay('2027-05-01', '2027-05-02') })),
    ]);
    for (const id of ['a', 'b']) expect(await zonesOf(world, id)).toBe('W. Europe Standard Time');
  });

  test('are in UTC where Outlook does not know the zone, and nothing else changes', async () => {
    const world = await openWorld();
    world.sandbox.configure({ refusedZones: ['Europe/Rome'] });
    const items = [itemWith(), itemWith({ time: allDay('2027-05-01', '2027-05-02') })];
    const outcomes = await world.kit.attempt(items.map((item, index) => createOperation(`${index}`, item)));
    expect(outcomes.map(describeOutcome)).toEqual(['written created', 'written created']);
    expect((await world.kit.readAll()).map(({ item }) => item)).toEqual(items);
    world.proxy.forget();
    await world.kit.attempt([{ ...createOperation('2'), revision: 2 }]);
    expect(world.proxy.requests.filter(({ url }) => url.endsWith('$batch'))).toHaveLength(1);
    expect(await zonesOf(world, '2')).toBe('UTC');
  });

  test("a user's change in a Windows zone is read as the correct instant, in the zone of the clinic", async () => {
    const { kit, sandbox } = await openWorld();
    sandbox.configure({ customTimeZones: true });
    await kit.create('a');
    expect((await kit.readAll())[0]?.item).toEqual(itemWith());
    sandbox.editByHand(ACCOUNT, (await kit.object('a')).remoteId, {
      start: { dateTime: '2027-03-10T11:00:00.0000000', timeZone: 'W. Europe Standard Time' },
      end: { dateTime: '2027-03-10T06:00:00', timeZone: 'America/New_York' },
    });
    const time = timed('2027-03-10T11:00:00+01:00', '2027-03-10T12:00:00+01:00', 'Europe/Rome');
    expect((await kit.readAll())[0]?.item).toEqual(itemWith({ time }));
  });

  test.each(['midnight', 'shifted'] as const)('whole days in a zone come back (told as %s)', async (allDayReads) => {
    const { kit, sandbox, container, open } = await openWorld();
    sandbox.configure({ allDayReads });
    const worker = open({ wholeDayZone: 'Europe/Rome' });
    const item = itemWith({ time: allDay('2027-10-31', '2027-11-01') });
    await worker.apply(container, [createOperation('a', item)], signal());
    expect((await kit.readAll(worker))[0]?.item).toEqual(item);
    expect(describeOutcome((await kit.attempt([createOperation('a', item)], worker))[0])).toBe('written adopted');
    expect(sandbox.events(ACCOUNT, container)[0]).toMatchObject({
      isAllDay: true,
      originalStartTimeZone: 'W. Europe Standard Time',
    });
  });

  test('a body in HTML although text was requested makes no difference', async () => {
    const { kit, proxy } = await openWorld();
    const item = itemWith({ description: 'Bring <b> & "card"\n\nRoom 2\u00A0b' });
    await kit.attempt([createOperation('a', item)]);
    const { version } = await kit.object('a');
    proxy.add({
      times: Number.POSITIVE_INFINITY,
      fault: {
        kind: 'rewrite',
        request: (request) => ({
          ...request,
          headers: { ...request.headers, prefer: 'IdType="ImmutableId"' },
          body: request.body.replaceAll(', outlook.body-content-type=\\"text\\"', ''),
        }),
      },
    });
    expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written adopted');
    expect((await kit.object('a')).version).toBe(version);
    expect((await kit.readAll())[0]?.item?.description).toBe('Bring <b> & "card"\n\nRoom 2 b');
  });
});

describe('mailboxes and connections', () => {
  test('a claims challenge requires a new connection', async () => {
    const { kit, sandbox } = await openWorld();
    await kit.create('a');
    sandbox.challengeClaims(ACCOUNT, true);
    const challenge = { actor: 'authorization', code: 'claims-challenge', retry: 'never' };
    expect(failure((await kit.attempt([createOperation('b')]))[0])).toMatchObject(challenge);
    await expect(kit.readAll()).rejects.toMatchObject(challenge);
    await expect(containerOf(kit.connector, null, signal())).rejects.toMatchObject(challenge);
  });

  test('parts of a batch may be challenged too', async () => {
    const { kit, proxy } = await openWorld();
    const challenged = {
      status: 401,
      headers: { 'WWW-Authenticate': 'Bearer realm="", error="insufficient_claims", claims="eyJ9"' },
      body: { error: { code: 'InvalidAuthenticationToken', message: '' } },
    };
    const answer = inner('PATCH', [challenged, challenged]);
    proxy.add({ ...WRITES, after: 1, times: 2, fault: { kind: 'rewrite', answer } });
    const [created] = await kit.create('a');
    const [outcome, other] = await kit.attempt([
      updateOperation('a', CHANGED, created!.versionTag, created!.remoteId),
      createOperation('b'),
    ]);
    expect(describeOutcome(outcome)).toBe('failed authorization/claims-challenge');
    expect(describeOutcome(other)).toBe('written created');
  });

  test('a mailbox without a licence is a configuration error, and no event is treated as deleted', async () => {
    const { kit, sandbox } = await openWorld();
    const [created] = await kit.create('a');
    sandbox.addMailbox(ACCOUNT, { licensed: false });
    const unlicensed = { actor: 'settings', code: 'mailbox-unlicensed', retry: 'never' };
    await expect(containerOf(kit.connector, null, signal())).rejects.toMatchObject(unlicensed);
    await expect(kit.readAll()).rejects.toMatchObject(unlicensed);
    const work = [createOperation('b'), deleteOperation('a', created!.versionTag, created!.remoteId)];
    await expect(kit.connector.apply(kit.target.container, work, signal())).rejects.toMatchObject(unlicensed);
  });

  test('a mailbox that does not exist or is not accessible is a configuration error', async () => {
    const { sandbox, open } = await openWorld();
    const ours = { calendar: { create: 'Ours' } };
    await expect(
      containerOf(open({ ...ours, mailbox: 'nobody@clinic.example' }), null, signal()),
    ).rejects.toMatchObject({
      actor: 'settings',
      code: 'mailbox-gone',
    });
    sandbox.addMailbox('other@clinic.example');
    await expect(containerOf(open({ ...ours, mailbox: 'other@clinic.example' }), null, signal())).rejects.toMatchObject(
      {
        actor: 'settings',
        code: 'calendar-forbidden',
      },
    );
  });

  test("me is the mailbox of the connected user, and primary its default calendar; an application's connection has neither", async () => {
    const { sandbox, open } = await openWorld();
    const mine = { mailbox: 'me', calendar: { id: 'primary' } };
    const own = sandbox.defaultCalendar(ACCOUNT);
    expect(await containerOf(open(mine), null, signal())).toBe(own);
    const [outcome] = await open(mine).apply(own, [createOperation('a')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
    const header = async () => `Bearer ${sandbox.issueAppToken()}`;
    const application = { header, renew: header, quotaUser: null };
    await expect(containerOf(open(mine, MARK, application), null, signal())).rejects.toMatchObject({
      code: 'mailbox-needed',
    });
    const named = open({ calendar: { id: 'primary' } }, MARK, application);
    expect(await containerOf(named, null, signal())).toBe(own);
  });

  test('a name of a foreign calendar is left to that calendar', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.createCalendar(ACCOUNT, 'Visits');
    const ours = { calendar: { create: 'Visits' } };
    const id = await containerOf(open(ours), null, signal());
    expect(sandbox.calendars(ACCOUNT).find((calendar) => calendar.id === id)?.name).toBe('Visits (2)');
    expect(await containerOf(open(ours), null, signal())).toBe(id);
    for (let count = 3; count <= 9; count += 1) sandbox.createCalendar(ACCOUNT, `Visits (${count})`);
    await expect(containerOf(open(ours, 'othertargetmark0'), null, signal())).rejects.toMatchObject({
      actor: 'settings',
      code: 'calendar-name-taken',
    });
  });

  test('deleted events go into Deleted Items, or are removed permanently if configured', async () => {
    const { sandbox, container, open } = await openWorld();
    const left = () => sandbox.events(ACCOUNT, container, { includeDeleted: true }).map(({ subject }) => subject);
    for (const [deleteMode, record] of [
      ['permanent', 'a'],
      ['soft', 'b'],
    ] as const) {
      const worker = open({ deleteMode });
      const item = itemWith({ title: deleteMode });
      const [created] = await worker.apply(container, [createOperation(record, item)], signal());
      const { versionTag, remoteId } = written(created);
      const [outcome] = await worker.apply(container, [deleteOperation(record, versionTag, remoteId)], signal());
      expect(describeOutcome(outcome)).toBe('deleted deleted');
      expect(sandbox.events(ACCOUNT, container)).toEqual([]);
    }
    expect(left()).toEqual(['soft']);
  });

  test('if the cloud cannot delete permanently, the event in Deleted Items has no content', async () => {
    const { sandbox, container, open } = await openWorld();
    sandbox.configure({ permanentDelete: false });
    const worker = open({ deleteMode: 'soft' });
    const telling = itemWith({ title: 'TitleCanary', description: 'DescriptionCanary', location: 'LocationCanary' });
    const [created] = await worker.apply(container, [createOperation('a', telling)], signal());
    const { versionTag, remoteId } = written(created);
    sandbox.editByHand(ACCOUNT, remoteId ?? '', { categories: ['CategoryCanary'] });
    const erasure = { ...deleteOperation('a', versionTag, remoteId), erase: true };
    // The deletion after the emptying fails once: the event is found again by its key.
    sandbox.faults.add({ match: { method: 'DELETE' }, times: 1, fault: { kind: 'status', status: 503 } });
    const [first] = await worker.apply(container, [erasure, createOperation('b')], signal());
    expect(failure(first).status).toBe(503);
    expect(describeOutcome((await worker.apply(container, [erasure], signal()))[0])).toBe('deleted deleted');
    const left = sandbox.events(ACCOUNT, container, { includeDeleted: true }).filter(({ isDeleted }) => isDeleted);
    expect(left).toHaveLength(1);
    expect(JSON.stringify(left)).not.toMatch(/Canary/);
    expect(JSON.stringify(left)).not.toContain(sealedRecordIdOf('a'));
    expect(left[0]?.start.dateTime).toMatch(/^2000-01-01/);
  });

  test.each([
    ['with its remote id', true],
    ['only by its key', false],
  ])('an erased event is removed permanently, %s, although deleted ones go into Deleted Items', async (_, isKnown) => {
    const { sandbox, container, open } = await openWorld();
    const worker = open({ deleteMode: 'soft' });
    const [created] = await worker.apply(container, [createOperation('a')], signal());
    const { versionTag, remoteId } = written(created);
    const deletion = isKnown ? deleteOperation('a', versionTag, remoteId) : deleteOperation('a', null);
    const [outcome] = await worker.apply(container, [{ ...deletion, erase: true }], signal());
    expect(describeOutcome(outcome)).toBe('deleted deleted');
    expect(sandbox.events(ACCOUNT, container, { includeDeleted: true })).toEqual([]);
  });
});
