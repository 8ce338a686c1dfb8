import { expect } from 'vitest';
import type { ProxiedAnswer } from '../../../sandbox/kit/fault-proxy.ts';
import { group } from '../contract-case.ts';
import {
  type CalendarKit,
  deleteOperation,
  describeOutcome,
  keyOf,
  signal,
  updateOperation,
  written,
} from '../contract-kit.ts';

/** A repeated operation has the same result as a single one. */
export const repetition = group('repetition', {
  'the same delete twice ends well both times': async (kit) => {
    const [created] = await kit.create('a');
    const operation = deleteOperation('a', created!.versionTag);
    expect(describeOutcome((await kit.attempt([operation]))[0])).toBe('deleted deleted');
    expect(describeOutcome((await kit.attempt([operation]))[0])).toBe('deleted already-gone');
    expect(await kit.objects()).toEqual([]);
  },
  'the next update succeeds at once with a returned version tag': async (kit) => {
    const [created] = await kit.create('a');
    const [first] = await kit.attempt([updateOperation('a', kit.item('One'), created!.versionTag)]);
    const [second] = await kit.attempt([updateOperation('a', kit.item('Two'), written(first).versionTag)]);
    expect(describeOutcome(second)).toBe('written updated');
    expect((await kit.object('a')).title).toBe('Two');
  },
  'an update and a delete without a version tag work on managed objects': async (kit) => {
    await kit.create('a', 'b');
    const outcomes = await kit.attempt([updateOperation('a', kit.item('New'), null), deleteOperation('b', null)]);
    expect(outcomes.map(describeOutcome)).toEqual(['written updated', 'deleted deleted']);
    expect((await kit.objects()).map((object) => object.title)).toEqual(['New']);
  },
  'a version tag that is too long to be stored counts as none and is never sent': async (kit) => {
    const { proxy } = kit.target;
    proxy.add({ times: Number.POSITIVE_INFINITY, fault: { kind: 'rewrite', answer: withLongTags } });
    const [created, other] = await kit.create('a', 'b');
    const found = await kit.connector.find(kit.target.container, [keyOf('a')], signal());
    for (const { versionTag } of [created!, other!, ...found])
      expect((versionTag ?? '').length).toBeLessThanOrEqual(256);
    const outcomes = await kit.attempt([
      updateOperation('a', kit.item('New'), created!.versionTag, created!.remoteId),
      deleteOperation('b', other!.versionTag, other!.remoteId),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual(['written updated', 'deleted deleted']);
    for (const { headers, body } of proxy.requests) expect(JSON.stringify(headers) + body).not.toContain(LONG_TAG);
    proxy.clear();
    expect((await kit.objects()).map((object) => object.title)).toEqual(['New']);
  },
});

const LONG_TAG = 'long'.repeat(2_500);

/** Every ETag of an answer, in a header, in JSON and in XML, begins with ten thousand more characters. */
function withLongTags({ status, headers, body }: ProxiedAnswer): ProxiedAnswer {
  const text = String(body)
    .replaceAll(/("(?:@odata\.)?etag"\s*:\s*"(?:W\/)?\\")/gi, `$1${LONG_TAG}`)
    .replaceAll(/(getetag[^>]*>(?:W\/)?(?:&quot;|"))/gi, `$1${LONG_TAG}`);
  const etag = headers.etag?.replace('"', `"${LONG_TAG}`);
  return { status, headers: { ...headers, ...(etag === undefined ? {} : { etag }) }, body: text };
}

/** What a calendar shows of it; a write that would change nothing isn't made. */
export const calendarRepetition = group<CalendarKit>('repetition', {
  'a create makes one managed object with its owner tag and locator': async (kit) => {
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(describeOutcome(outcome)).toBe('written created');
    const object = await kit.object('a');
    expect(object).toMatchObject({ title: 'Appointment', isPrivate: true, busy: true, attendees: 0, alarms: 0 });
  },
  'the same create twice leaves one object and writes nothing the second time': async (kit) => {
    await kit.create('a');
    const before = await kit.object('a');
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(describeOutcome(outcome)).toBe('written adopted');
    expect((await kit.object('a')).version).toBe(before.version);
    expect(await kit.objects()).toHaveLength(1);
  },
  'the same update twice leaves the same content': async (kit) => {
    const [created] = await kit.create('a');
    const update = updateOperation('a', kit.item('Moved'), created!.versionTag);
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written updated');
    const first = await kit.object('a');
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written updated');
    expect(await kit.object('a')).toEqual(first);
    expect(first.title).toBe('Moved');
  },
});
