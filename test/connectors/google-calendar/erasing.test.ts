import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ContractKit,
  createKit,
  createOperation,
  deleteOperation,
  describeOutcome,
  failure,
  itemWith,
  keyOf,
} from '../../contract/contract-kit.ts';
import { openGoogleTarget } from '../../contract/google-calendar-target.ts';
import { paced } from '../../support/pace.ts';

let target: Awaited<ReturnType<typeof openGoogleTarget>>;
let kit: ContractKit;

beforeEach(async () => {
  target = await openGoogleTarget();
  kit = createKit(target);
});

afterEach(() => target.close());

const TELLING = { title: 'TitleCanary', description: 'DescriptionCanary', location: 'LocationCanary' };
const telling = (recordId: string) => createOperation(recordId, itemWith(TELLING));
const erasure = (recordId: string, versionTag: string | null = null) => ({
  ...deleteOperation(recordId, versionTag),
  erase: true,
});

/** Returns the data of a deleted event that a writer of the calendar can still read. */
async function remains(
  recordId: string,
): Promise<{ status: string; text: string; sealedRecordId: string | undefined }> {
  const { sandbox, container } = target;
  const path = `/calendar/v3/calendars/${encodeURIComponent(container)}/events/${keyOf(recordId)}`;
  const authorization = await target.authorizer.header(AbortSignal.timeout(paced(60_000)));
  const answer = await fetch(`${sandbox.calendarApiUrl}${path}`, { headers: { authorization } });
  const event = (await answer.json()) as {
    status: string;
    extendedProperties?: { private?: Record<string, string> };
  };
  return {
    status: event.status,
    text: JSON.stringify(event),
    sealedRecordId: event.extendedProperties?.private?.clinicMirrorLocator,
  };
}

describe('an erased event', () => {
  test('keeps no text, time or encrypted record id that Google still shows; a deleted event keeps them', async () => {
    const [a, b] = await kit.attempt([telling('a'), telling('b')]);
    expect([a, b].map(describeOutcome)).toEqual(['written created', 'written created']);
    const before = await remains('a');
    const outcomes = await kit.attempt([erasure('a'), deleteOperation('b', null)]);
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted', 'deleted deleted']);
    const [erased, deleted] = [await remains('a'), await remains('b')];
    expect(deleted).toMatchObject({ status: 'cancelled', text: expect.stringContaining('TitleCanary') });
    expect(erased.status).toBe('cancelled');
    for (const text of Object.values(TELLING)) expect(erased.text).not.toContain(text);
    expect(before.sealedRecordId).toBeDefined();
    expect(erased.sealedRecordId).toBeUndefined();
    expect(erased.text).toContain('2000-01-01');
    expect(target.sandbox.counts.mails).toBe(0);
  });

  test('was deleted before: it is emptied all the same, once', async () => {
    await kit.attempt([telling('a')]);
    await kit.attempt([deleteOperation('a', null)]);
    expect(describeOutcome((await kit.attempt([erasure('a')]))[0])).toBe('deleted deleted');
    expect((await remains('a')).text).not.toContain('Canary');
    target.sandbox.counts.reset();
    expect(describeOutcome((await kit.attempt([erasure('a')]))[0])).toBe('deleted already-gone');
    expect(target.sandbox.counts.quotaUnits).toBe(1);
  });

  test('that never existed is already gone', async () => {
    expect(describeOutcome((await kit.attempt([erasure('a')]))[0])).toBe('deleted already-gone');
  });

  test('still belongs to clinic-mirror if the deletion after the emptying fails, and is deleted by the next attempt', async () => {
    await kit.attempt([telling('a')]);
    const fault = { kind: 'status', status: 503, body: { error: { code: 503, message: 'busy', errors: [] } } } as const;
    target.sandbox.faults.add({ match: { method: 'DELETE', path: '/calendar/v3/' }, times: 1, fault });
    expect(failure((await kit.attempt([erasure('a')]))[0])).toMatchObject({ status: 503 });
    expect((await kit.objects()).map(({ title }) => title)).toEqual(['']);
    expect(describeOutcome((await kit.attempt([erasure('a')]))[0])).toBe('deleted deleted');
    expect(await kit.objects()).toEqual([]);
  });

  test('without marks is erased by its id, which only clinic-mirror can choose', async () => {
    await target.server.putForeign('Without marks', keyOf('a'));
    expect(describeOutcome((await kit.attempt([erasure('a')]))[0])).toBe('deleted deleted');
    expect(await kit.objects()).toEqual([]);
  });

  test('can be written again', async () => {
    await kit.attempt([telling('a')]);
    await kit.attempt([erasure('a')]);
    expect(describeOutcome((await kit.attempt([createOperation('a')]))[0])).toBe('written revived');
    expect((await kit.object('a')).title).toBe('Appointment');
  });
});
